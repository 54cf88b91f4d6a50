"""Resolvers that answer for many parents at once, and the single form that GraphQL calls."""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import strawberry

from resolvers.request.context import Info

BatchResolver: TypeAlias = Callable[..., Awaitable[list[Any]]]
"""From parents, info and the field's arguments to a value for each parent, in their order."""
Resolver: TypeAlias = Callable[..., Awaitable[Any]]

_BATCH_RESOLVER_ATTRIBUTE = "__each__"


def batch_resolver(resolve_many: BatchResolver) -> Resolver:
    """The resolver of one parent's field, from `each`, whose first parameter is the parents."""

    async def resolve(parent: strawberry.Parent[Any], info: Info, **arguments: Any) -> Any:
        [value] = await resolve_many([parent], info, **arguments)
        return value

    signature = inspect.signature(resolve_many)
    _, *others = signature.parameters.values()
    parent = next(iter(inspect.signature(resolve).parameters.values()))
    resolve.__dict__["__signature__"] = signature.replace(parameters=[parent, *others])
    resolve.__dict__[_BATCH_RESOLVER_ATTRIBUTE] = resolve_many
    resolve.__module__, resolve.__name__ = resolve_many.__module__, resolve_many.__name__
    resolve.__doc__ = resolve_many.__doc__
    return resolve


def batch_resolver_of(resolver: object) -> BatchResolver | None:
    """The form of a resolver that answers for many parents; None where it has none."""
    each: BatchResolver | None = vars(resolver).get(_BATCH_RESOLVER_ATTRIBUTE)
    return each
