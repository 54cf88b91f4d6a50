"""The page type of every list."""

from typing import Generic, TypeVar

import strawberry

from resolvers.request.arguments import MAX_PER_PAGE

__all__ = ["MAX_PER_PAGE", "Page", "Paging"]

T = TypeVar("T")


@strawberry.type(description="Which page of a list this is.")
class Paging:
    per_page: int = strawberry.field(description=f"The page size used; at most {MAX_PER_PAGE}.")
    current_page: int = strawberry.field(description="The page's number, from 1.")
    has_next: bool = strawberry.field(description="Whether another page follows.")
    next: str | None = strawberry.field(
        description="Cursor of the next page. Pass it as `after`, with `page` set to the next "
        "page's number; then deep pages are as fast as the first. Null on the last page."
    )


@strawberry.type(description="One page of a list, ordered by id.")
class Page(Generic[T]):
    paging: Paging
    data: list[T]
