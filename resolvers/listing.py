"""The resolver of a list that each record of one kind has of another."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from resolvers.batching import Resolver, batched
from resolvers.context import Info, Parent, Relation
from storage.paging import Page


def listing(relation: Relation[Any], description: str, *fields: str) -> Resolver:
    """A page of the parent's list; `fields` of the parent (`id` unless given) pick it out."""
    pick = _picker(*(fields or ("id",)))

    async def each(
        parents: Sequence[Any],
        info: Info,
        page: int | None = 1,
        per_page: int | None = 100,
        after: str | None = None,
    ) -> list[Page[Any]]:
        return await info.context.lists(relation, [*map(pick, parents)], page, per_page, after)

    each.__doc__ = description
    return batched(each)


def _picker(*fields: str) -> Callable[[Any], Parent]:
    if len(fields) > 1:
        return attrgetter(*fields)
    pick = attrgetter(*fields)
    return lambda parent: (pick(parent),)
