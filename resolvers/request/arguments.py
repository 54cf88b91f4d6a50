"""Arguments that many fields share."""

from typing import Annotated, TypeAlias

import strawberry

from resolvers.request.errors import InvalidInputError
from resolvers.request.input_rules import ID, Length, Range, Syntax, argument
from storage.errors import InvalidPageRequestError
from storage.records.fields import MAX_ID_CHARACTERS, MAX_INT32
from storage.records.paging import DEFAULT_PER_PAGE, MAX_PER_PAGE, PageRequest

__all__ = [
    "DEFAULT_PER_PAGE",
    "MAX_ID_CHARACTERS",
    "MAX_INT32",
    "MAX_PER_PAGE",
    "AfterCursor",
    "AssetFilter",
    "PageNumber",
    "PageSize",
    "parse_page_request",
]

MAX_CURSOR_CHARACTERS = 4096


def parse_page_request(page: int | None, per_page: int | None, after: str | None) -> PageRequest:
    """Return the slice of a list. Raises InvalidInputError."""
    try:
        return PageRequest.from_arguments(page, per_page, after)
    except InvalidPageRequestError as error:
        raise InvalidInputError(**{error.argument: str(error)}) from error


def _parse_cursor(text: str) -> None:
    try:
        PageRequest.from_arguments(None, None, text)
    except InvalidPageRequestError as error:
        raise ValueError(str(error)) from error


PageNumber: TypeAlias = Annotated[
    int | None, argument("The page to return, from 1.", Range(1, MAX_INT32), example=1)
]
PageSize: TypeAlias = Annotated[
    int | None,
    argument(
        f"How many resources a page holds. More than {MAX_PER_PAGE} is served as {MAX_PER_PAGE}.",
        Range(1, MAX_INT32),
        example=20,
    ),
]
AfterCursor: TypeAlias = Annotated[
    str | None,
    argument(
        "Opaque, from `paging.next` or `next_url`: with it, following pages cost the same however "
        "far they are.",
        Length(0, MAX_CURSOR_CHARACTERS),
        Syntax(_parse_cursor),
    ),
]
AssetFilter: TypeAlias = Annotated[
    strawberry.ID | None,
    argument("Only what belongs to the asset with this id.", ID, example="alder-court"),
]
