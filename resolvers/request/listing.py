"""The resolver of a list that each record of one kind has of another."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from resolvers.request.batching import Resolver, batch_resolver
from resolvers.request.context import Info, ParentKey, Relation
from storage.records.paging import Page


def list_resolver(relation: Relation[Any], description: str, *fields: str) -> Resolver:
    """A page of the parent's list; `fields` of the parent (`id` unless given) pick it out."""
    pick = _key_getter(*(fields or ("id",)))

    async def each(
        parents: Sequence[Any],
        info: Info,
        page: int | None = 1,
        per_page: int | None = 100,
        after: str | None = None,
    ) -> list[Page[Any]]:
        return await info.context.load_pages(relation, [*map(pick, parents)], page, per_page, after)

    each.__doc__ = description
    return batch_resolver(each)


def _key_getter(*fields: str) -> Callable[[Any], ParentKey]:
    if len(fields) > 1:
        return attrgetter(*fields)
    pick = attrgetter(*fields)
    return lambda parent: (pick(parent),)
