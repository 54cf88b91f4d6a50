"""The page type of every list, which is a Relay connection too."""

from typing import Generic, TypeVar

import strawberry

from resolvers.request.arguments import DEFAULT_PER_PAGE, MAX_INT32, MAX_PER_PAGE, MAX_TOTAL_COUNT
from resolvers.request.input_rules import Range
from resolvers.request.listing import count_total
from schema.definitions import COUNT_COST
from schema.fields import bounded_field, resolver_field

__all__ = ["DEFAULT_PER_PAGE", "MAX_PER_PAGE", "MAX_TOTAL_COUNT", "Page", "Paging"]

T = TypeVar("T")


@strawberry.type(description="Which page of a list this is.")
class Paging:
    per_page: int = bounded_field(
        f"The page size used; at most {MAX_PER_PAGE}.", Range(1, MAX_PER_PAGE)
    )
    current_page: int = bounded_field(
        "The page's number, from 1. After a cursor, one more than that of the page with the "
        "cursor.",
        Range(1, MAX_INT32),
    )
    has_next: bool = strawberry.field(description="Whether another page follows.")
    next: str | None = strawberry.field(
        description="Cursor of the next page: pass it as `after`, which is enough. Then deep pages "
        "are as fast as the first. Null on the last page."
    )


@strawberry.type(description="Which page of a list this is, as Relay pages.")
class PageInfo:
    has_next_page: bool = strawberry.field(description="Whether another page follows.")
    has_previous_page: bool = strawberry.field(
        description="Whether there is a page before: not so for the first page only."
    )
    start_cursor: str | None = strawberry.field(
        description="Cursor of the first record; null on an empty page."
    )
    end_cursor: str | None = strawberry.field(
        description="Cursor of the last record: pass it as `after` for the next page. Null on an "
        "empty page."
    )


@strawberry.type(description="A record of a page, and its cursor.")
class Edge(Generic[T]):
    cursor: str = strawberry.field(description="Pass it as `after` to continue after this record.")
    node: T | None = strawberry.field(
        description="The record; null, with an error, only if it is damaged."
    )


@strawberry.type(
    description="One page of a list: `data` and `paging`, and the same as `edges` and `pageInfo`, "
    "as Relay has it."
)
class Page(Generic[T]):
    paging: Paging = strawberry.field(description="Which page this is.")
    data: list[T] = strawberry.field(description="The records of this page.")
    edges: list[Edge[T]] = strawberry.field(
        description="The records of this page, each with a cursor."
    )
    page_info: PageInfo = strawberry.field(description="Which page this is, as Relay pages.")
    total_count = resolver_field(count_total, int | None, cost=COUNT_COST)
