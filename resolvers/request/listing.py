"""Build resolvers of lists: their arguments, and child lists, such as the floors of an asset."""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from functools import wraps
from inspect import Parameter
from operator import attrgetter
from typing import Any, TypeAlias

from resolvers.request.arguments import (
    DEFAULT_PER_PAGE,
    MAX_PER_PAGE,
    AfterCursor,
    FirstCount,
    PageArguments,
    PageNumber,
    PageSize,
)
from resolvers.request.batching import Resolver, batch_resolver, batch_resolver_of
from resolvers.request.context import FirstPage, Info, ParentKey, Relation
from resolvers.request.document_lists import listed_kind_of, lists
from resolvers.request.filters import (
    IdsFilter,
    NameSearch,
    UpdatedSince,
    build_filter,
    narrow,
)
from resolvers.request.orders import Orders
from storage.records.filters import NAME_WORDS_FIELD
from storage.records.kinds import UPDATED_AT, RecordType
from storage.records.paging import BY_KEY, MAX_TOTAL_COUNT, Page, PageRequest

PAGING_PARAMETERS = {
    "page": PageNumber,
    "per_page": PageSize,
    "after": AfterCursor,
    "first": FirstCount,
}
MAX_JOINED_RECORDS = 100
"""Records on a page that is read with the record that has the list: of more, MongoDB takes longer
to join them than to read them."""
FindFirstPage: TypeAlias = Callable[..., FirstPage | None]
"""From the arguments of a list to the first page, or None if they ask for something else."""
_FIRST_PAGE_ATTRIBUTE = "__first_page__"
NOT_FILTERS = frozenset({"info", "parent", "parents", "order_by"})


def paged(resolve: Callable[..., Awaitable[Any]], **annotations: Any) -> Resolver:
    """Return a resolver with the arguments of pages in place of its parameter `pages`.

    All other arguments are filters: a cursor is valid only for the same ones. `annotations`
    replace those of single arguments.
    """
    lists_documents = listed_kind_of(resolve) is not None
    signature = inspect.signature(resolve)

    @wraps(resolve)
    async def list_page(
        *positional: Any,
        page: int | None = None,
        per_page: int | None = None,
        after: str | None = None,
        first: int | None = None,
        **arguments: Any,
    ) -> Any:
        filters = tuple(
            sorted(
                (name, repr(value))
                for name, value in arguments.items()
                if value is not None and name not in NOT_FILTERS
            )
        )
        fields = (
            getattr(arguments.get("info"), "document_fields", None) if lists_documents else None
        )
        pages = PageArguments(page, per_page, after, first, filters, document_fields=fields)
        return await resolve(*positional, pages=pages, **arguments)

    parameters: list[Parameter] = []
    for parameter in signature.parameters.values():
        if parameter.name != "pages":
            parameters.append(parameter)
            continue
        parameters += [
            Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
            for name, annotation in {**PAGING_PARAMETERS, **annotations}.items()
        ]
    # strawberry and the checks of inputs read the arguments from here (PEP 362).
    list_page.__dict__["__signature__"] = inspect.Signature(
        [
            each if each.default is Parameter.empty else each.replace(kind=Parameter.KEYWORD_ONLY)
            for each in parameters
        ],
        return_annotation=signature.return_annotation,
    )
    return list_page


def list_resolver(
    relation: Relation[Any], description: str, *fields: str, orders: Orders | None = None
) -> Resolver:
    """Return the resolver of a page of the parent's list, with the filters that its kind allows.

    The values of the parent's `fields` (by default `id`) become the arguments of
    `relation.where`. With `orders`, clients may choose one; other lists are ordered by key.
    """
    key_of = _build_key_getter(*(fields or ("id",)))

    async def list_records(
        parents: Sequence[Any],
        info: Info,
        pages: PageArguments,
        ids: IdsFilter = None,
        search: NameSearch = None,
        updated_since: UpdatedSince = None,
        order_by: str | None = None,
    ) -> list[Page[Any]]:
        keys = [*map(key_of, parents)]
        if orders is not None:
            pages = pages.sort_by(orders.parse(order_by))
        filter = await build_filter(info.context, relation.kind, ids, search, updated_since)
        return await info.context.load_pages(narrow(relation, filter), keys, pages)

    def find_first_page(
        per_page: int | None = None,
        first: int | None = None,
        order_by: str | None = None,
        page: int | None = None,
        **others: Any,
    ) -> FirstPage | None:
        sizes = [each for each in (per_page, first) if each is not None]
        size = sizes[0] if sizes else DEFAULT_PER_PAGE
        is_first = page in (None, 1) and all(value is None for value in others.values())
        max_size = MAX_PER_PAGE if relation.is_short else MAX_JOINED_RECORDS
        if not is_first or not 1 <= size <= max_size:
            return None
        order = BY_KEY if orders is None else orders.parse(order_by)
        return FirstPage(relation, PageRequest(1, size, None, order))

    if not fields:
        list_records.__dict__[_FIRST_PAGE_ATTRIBUTE] = find_first_page
    lists(relation.kind)(list_records)
    list_records.__doc__ = description
    unfit = _find_unfit_filters(relation.kind)
    _drop_parameters(list_records, unfit if orders else unfit | {"order_by"})
    return batch_resolver(paged(ordered(orders)(list_records) if orders else list_records))


def first_page_of(resolver: object) -> FindFirstPage | None:
    """Return the function that finds what a list resolver reads of one parent, if there is one."""
    return vars(batch_resolver_of(resolver) or resolver).get(_FIRST_PAGE_ATTRIBUTE)


def ordered(orders: Orders) -> Callable[[Resolver], Resolver]:
    """Give the parameter `order_by` of a resolver its words, their description and the default."""

    def declare(resolve: Resolver) -> Resolver:
        signature = inspect.signature(resolve)
        parameters = dict(signature.parameters)
        parameters["order_by"] = parameters["order_by"].replace(
            annotation=orders.annotation, default=orders.default
        )
        resolve.__dict__["__signature__"] = signature.replace(parameters=[*parameters.values()])
        return resolve

    return declare


def _find_unfit_filters(kind: RecordType[Any]) -> set[str]:
    """Return the filters that records of a kind cannot have."""
    unfit = set()
    if NAME_WORDS_FIELD not in kind.derived_fields:
        unfit |= {"ids", "search"}
    if UPDATED_AT not in kind.stored_fields:
        unfit.add("updated_since")
    return unfit


def _drop_parameters(resolver: Resolver, names: set[str]) -> None:
    """Hide optional parameters from strawberry, which reads a field's arguments from them."""
    signature = inspect.signature(resolver)
    kept = [each for name, each in signature.parameters.items() if name not in names]
    resolver.__dict__["__signature__"] = signature.replace(parameters=kept)


def _build_key_getter(*fields: str) -> Callable[[Any], ParentKey]:
    getter = attrgetter(*fields)
    return getter if len(fields) > 1 else lambda parent: (getter(parent),)


@batch_resolver
async def count_total(parents: Sequence[Page[Any]], info: Info) -> list[int | None]:
    return await info.context.count_pages(parents)


count_total.__doc__ = f"""Get the number of records in the whole list, at most {MAX_TOTAL_COUNT}.

Longer lists count as {MAX_TOTAL_COUNT}. Records are counted only if this field is selected.
"""
