"""Checks of arguments that many fields share."""

import re

from resolvers.errors import InvalidInput
from storage.errors import InvalidSlice
from storage.fields import TEXT
from storage.paging import DEFAULT_PER_PAGE, MOST_PER_PAGE, Slice

__all__ = ["DEFAULT_PER_PAGE", "MOST_PER_PAGE", "checked_id", "checked_slice", "fault_of_id"]

MOST_ID_CHARACTERS = 255
_TEXT = re.compile(TEXT)


def checked_id(argument: str, value: str) -> str:
    """An id as the specification allows it. Raises InvalidInput."""
    if fault := fault_of_id(value):
        raise InvalidInput(**{argument: fault})
    return value


def fault_of_id(value: str) -> str:
    """What is wrong with an id; empty: nothing."""
    if not 1 <= len(value) <= MOST_ID_CHARACTERS:
        return f"must have 1 to {MOST_ID_CHARACTERS} characters, not {len(value)}"
    if not value.isprintable() and not _TEXT.match(value):
        return "must not hold NUL or half a surrogate pair"
    return ""


def checked_slice(page: int | None, per_page: int | None, after: str | None) -> Slice:
    """The slice of a list. Raises InvalidInput."""
    try:
        return Slice.of(page, per_page, after)
    except InvalidSlice as error:
        raise InvalidInput(**{error.argument: str(error)}) from error
