"""Arguments that many fields share."""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Annotated, NamedTuple, TypeAlias

import strawberry

from resolvers.request.errors import InvalidInputError
from resolvers.request.input_rules import ID, Length, Range, Syntax, argument
from storage.errors import InvalidPageRequestError
from storage.records.kinds import MAX_ID_CHARACTERS, MAX_INT32, TEXT_JSON_PATTERN
from storage.records.paging import (
    BY_KEY,
    DEFAULT_PER_PAGE,
    MAX_PER_PAGE,
    MAX_TOTAL_COUNT,
    Order,
    PageCursor,
    PageRequest,
)

__all__ = [
    "DEFAULT_PER_PAGE",
    "MAX_ID_CHARACTERS",
    "MAX_INT32",
    "MAX_PER_PAGE",
    "MAX_TOTAL_COUNT",
    "TEXT_JSON_PATTERN",
    "AfterCursor",
    "AssetFilter",
    "FirstCount",
    "PageArguments",
    "PageNumber",
    "PageSize",
    "check_list",
    "find_cursor_page_size",
]

MAX_CURSOR_CHARACTERS = 16_384
"""A cursor holds the name that a list is sorted by, of up to 2,048 characters, and the key."""


def _parse_cursor(text: str) -> None:
    if not text:
        return
    try:
        PageCursor.decode(text)
    except InvalidPageRequestError as error:
        raise ValueError(str(error)) from error


def find_cursor_page_size(text: str) -> int | None:
    """Return the page size that a cursor continues with; None for what is no cursor."""
    try:
        return PageCursor.decode(text[:MAX_CURSOR_CHARACTERS]).per_page
    except InvalidPageRequestError:
        return None


PageNumber: TypeAlias = Annotated[
    int | None,
    argument(
        "The page to return. Without it, the first page, or the one that `after` continues with.",
        Range(1, MAX_INT32),
        example=1,
    ),
]
PageSize: TypeAlias = Annotated[
    int | None,
    argument(
        f"How many resources a page holds. More than {MAX_PER_PAGE} is served as {MAX_PER_PAGE}. "
        f"Without it {DEFAULT_PER_PAGE}, or as many as the page had that `after` is of.",
        Range(1, MAX_INT32),
        example=20,
    ),
]
AfterCursor: TypeAlias = Annotated[
    str | None,
    argument(
        "Continue after this cursor: `paging.next`, `pageInfo.endCursor` or the `cursor` of an "
        "edge in GraphQL, part of `next_url` in REST. It is enough by itself; with it, following "
        "pages cost the same however far they are.",
        Length(0, MAX_CURSOR_CHARACTERS),
        Syntax(_parse_cursor, "^[A-Za-z0-9_-]*$"),
    ),
]
FirstCount: TypeAlias = Annotated[
    int | None,
    argument(
        "How many resources to return, as Relay pages: in place of `page` and `perPage`, and "
        f"free to differ from page to page. More than {MAX_PER_PAGE} is served as {MAX_PER_PAGE}.",
        Range(1, MAX_INT32),
        example=20,
    ),
]


class PageArguments(NamedTuple):
    """The arguments of a list: which part of it, and which list it is."""

    page: int | None = None
    per_page: int | None = None
    after: str | None = None
    first: int | None = None
    filters: tuple[tuple[str, str], ...] = ()
    """The other arguments that were given, by name, as text."""
    order: Order = BY_KEY
    max_per_page: int = MAX_PER_PAGE
    document_fields: frozenset[str] | None = None
    """What to read of documents, if they are to be in the place of records."""

    def parse(self) -> PageRequest:
        """Return the slice of a list. Raises InvalidInputError."""
        with _input_errors():
            return PageRequest.from_arguments(
                self.page,
                self.per_page,
                self.after,
                self.first,
                self.order,
                self.max_per_page,
                document_fields=self.document_fields,
            )

    def parse_for_list(self, list_id: Hashable) -> PageRequest:
        """Return the slice of this list. Raises InvalidInputError, also for another's cursor."""
        request = self.parse()
        check_list(request, list_id)
        return request

    def sort_by(self, order: Order) -> "PageArguments":
        """Return the arguments of the list in another order."""
        return self._replace(order=order)

    def limit_to(self, max_per_page: int) -> "PageArguments":
        """Return the arguments with another maximum size of pages."""
        return self._replace(max_per_page=max_per_page)


def check_list(request: PageRequest, list_id: Hashable) -> None:
    """Raise InvalidInputError if a page request continues another list."""
    with _input_errors():
        request.check_list(list_id)


@contextmanager
def _input_errors() -> Iterator[None]:
    try:
        yield
    except InvalidPageRequestError as error:
        raise InvalidInputError(**{error.argument: str(error)}) from error


AssetFilter: TypeAlias = Annotated[
    strawberry.ID | None,
    argument("Only what belongs to the asset with this id.", ID, example="alder-court"),
]
