"""Checks of arguments that many fields share."""

import re

from resolvers.request.errors import InvalidInputError
from storage.errors import InvalidPageRequestError
from storage.records.fields import TEXT_PATTERN
from storage.records.paging import DEFAULT_PER_PAGE, MAX_PER_PAGE, PageRequest

__all__ = [
    "DEFAULT_PER_PAGE",
    "MAX_PER_PAGE",
    "describe_id_error",
    "parse_page_request",
    "validate_id",
]

MAX_ID_CHARACTERS = 255
_TEXT_REGEX = re.compile(TEXT_PATTERN)


def validate_id(argument: str, value: str) -> str:
    """An id as the specification allows it. Raises InvalidInput."""
    if fault := describe_id_error(value):
        raise InvalidInputError(**{argument: fault})
    return value


def describe_id_error(value: str) -> str:
    """What is wrong with an id; empty: nothing."""
    if not 1 <= len(value) <= MAX_ID_CHARACTERS:
        return f"must have 1 to {MAX_ID_CHARACTERS} characters, not {len(value)}"
    if not value.isprintable() and not _TEXT_REGEX.match(value):
        return "must not hold NUL or half a surrogate pair"
    return ""


def parse_page_request(page: int | None, per_page: int | None, after: str | None) -> PageRequest:
    """The slice of a list. Raises InvalidInput."""
    try:
        return PageRequest.from_arguments(page, per_page, after)
    except InvalidPageRequestError as error:
        raise InvalidInputError(**{error.argument: str(error)}) from error
