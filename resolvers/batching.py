"""Resolvers that answer for many parents at once, and the single form that GraphQL calls."""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import strawberry

from resolvers.context import Info

Each: TypeAlias = Callable[..., Awaitable[list[Any]]]
"""From parents, info and the field's arguments to a value for each parent, in their order."""
Resolver: TypeAlias = Callable[..., Awaitable[Any]]

_EACH = "__each__"


def batched(each: Each) -> Resolver:
    """The resolver of one parent's field, from `each`, whose first parameter is the parents."""

    async def resolve(parent: strawberry.Parent[Any], info: Info, **arguments: Any) -> Any:
        [value] = await each([parent], info, **arguments)
        return value

    signature = inspect.signature(each)
    _, *others = signature.parameters.values()
    parent = next(iter(inspect.signature(resolve).parameters.values()))
    resolve.__dict__["__signature__"] = signature.replace(parameters=[parent, *others])
    resolve.__dict__[_EACH] = each
    resolve.__module__, resolve.__name__ = each.__module__, each.__name__
    resolve.__doc__ = each.__doc__
    return resolve


def each_of(resolver: object) -> Each | None:
    """The form of a resolver that answers for many parents; None where it has none."""
    each: Each | None = vars(resolver).get(_EACH)
    return each
