"""The resolver of a list that each record of one kind has of another."""

from collections.abc import Awaitable, Callable
from operator import attrgetter
from typing import Any, TypeAlias

import strawberry

from resolvers.context import Info, Relation
from storage.paging import Page

Resolver: TypeAlias = Callable[..., Awaitable[Page[Any]]]


def listing(relation: Relation[Any], description: str, *fields: str) -> Resolver:
    """A page of the parent's list; `fields` of the parent (`id` unless given) pick it out."""
    pick = attrgetter(*(fields or ("id",)))

    async def resolve(
        parent: strawberry.Parent[Any],
        info: Info,
        page: int | None = 1,
        per_page: int | None = 100,
        after: str | None = None,
    ) -> Page[Any]:
        picked = pick(parent)
        key = picked if len(fields) > 1 else (picked,)
        return await info.context.listed(relation, key, page, per_page, after)

    resolve.__doc__ = description
    return resolve
