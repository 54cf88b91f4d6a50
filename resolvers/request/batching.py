"""Batch resolvers, which resolve a field of many parents at once, and their form for GraphQL."""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import strawberry

from resolvers.request.context import Info

BatchResolver: TypeAlias = Callable[..., Awaitable[list[Any]]]
"""From parents, info and the field's arguments to a value for each parent, in their order."""
Resolver: TypeAlias = Callable[..., Awaitable[Any]]

_BATCH_RESOLVER_ATTRIBUTE = "__batch_resolver__"


def batch_resolver(resolve_many: BatchResolver) -> Resolver:
    """Return the resolver of one parent, made from `resolve_many`, which takes `parents` first.

    Compiled execution finds `resolve_many` with `batch_resolver_of` and calls it once a level.
    """

    async def resolve(parent: strawberry.Parent[Any], info: Info, **arguments: Any) -> Any:
        [value] = await resolve_many([parent], info=info, **arguments)
        return value

    # strawberry reads a field's arguments from the signature. `**arguments` says nothing, so the
    # signature is that of `resolve_many` with one parent (PEP 362: `__signature__` goes first).
    signature = inspect.signature(resolve_many)
    _, *others = signature.parameters.values()
    parent = next(iter(inspect.signature(resolve).parameters.values()))
    resolve.__dict__["__signature__"] = signature.replace(parameters=[parent, *others])
    resolve.__dict__[_BATCH_RESOLVER_ATTRIBUTE] = resolve_many
    # strawberry resolves annotations in the namespace of this module.
    resolve.__module__, resolve.__name__ = resolve_many.__module__, resolve_many.__name__
    resolve.__doc__ = resolve_many.__doc__
    return resolve


def batch_resolver_of(resolver: object) -> BatchResolver | None:
    """Return the batch resolver that a resolver was made from, or None."""
    resolve_many: BatchResolver | None = vars(resolver).get(_BATCH_RESOLVER_ATTRIBUTE)
    return resolve_many
