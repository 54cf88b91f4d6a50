"""Build resolvers for child lists, such as the floors of an asset."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from resolvers.request.arguments import DEFAULT_PER_PAGE, AfterCursor, PageNumber, PageSize
from resolvers.request.batching import Resolver, batch_resolver
from resolvers.request.context import Info, ParentKey, Relation
from storage.records.paging import Page


def list_resolver(relation: Relation[Any], description: str, *fields: str) -> Resolver:
    """Return the resolver of a page of the parent's list.

    The values of the parent's `fields` (by default `id`) become the arguments of
    `relation.where`.
    """
    key_of = _build_key_getter(*(fields or ("id",)))

    async def list_records(
        parents: Sequence[Any],
        info: Info,
        page: PageNumber = 1,
        per_page: PageSize = DEFAULT_PER_PAGE,
        after: AfterCursor = None,
    ) -> list[Page[Any]]:
        keys = [*map(key_of, parents)]
        return await info.context.load_pages(relation, keys, page, per_page, after)

    list_records.__doc__ = description
    return batch_resolver(list_records)


def _build_key_getter(*fields: str) -> Callable[[Any], ParentKey]:
    getter = attrgetter(*fields)
    return getter if len(fields) > 1 else lambda parent: (getter(parent),)
