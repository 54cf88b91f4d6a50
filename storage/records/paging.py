"""Paging: page numbers for clients, keys and cursors for MongoDB.

See docs/decisions/storage/page-numbers-and-cursors.md.
"""

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from storage.errors import InvalidPageRequestError
from storage.records.fields import MAX_INT32

T = TypeVar("T")

DEFAULT_PER_PAGE = 100
MAX_PER_PAGE = 10_000


@dataclass(frozen=True, slots=True)
class Paging:
    """The position of a page; the cursor `next` continues right after its last record."""

    per_page: int
    current_page: int
    next: str | None

    @property
    def has_next(self) -> bool:
        """Whether there is a next page."""
        return self.next is not None


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a list, sorted by key."""

    paging: Paging
    data: list[T]


class PageCursor(msgspec.Struct, frozen=True, array_like=True):
    """The end of a page; valid only for the page number and size that it was created for."""

    page: int
    per_page: int
    last_key: str

    def encode(self) -> str:
        """Return an opaque token that is safe in URLs.

        >>> _decode_cursor(PageCursor(2, 100, "unit-7").encode())
        PageCursor(page=2, per_page=100, last_key='unit-7')
        """
        token = base64.urlsafe_b64encode(msgspec.msgpack.encode(self))
        return token.rstrip(b"=").decode("ascii")


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A request for a page: its number and size, or the key to continue after."""

    page: int
    per_page: int
    after_key: str | None = None

    @classmethod
    def from_arguments(
        cls, page: int | None, per_page: int | None, after: str | None = None
    ) -> "PageRequest":
        """Validate arguments from a client. `per_page` is capped at MAX_PER_PAGE.

        Raises InvalidPageRequestError.
        """
        page = _parse_positive("page", page, 1)
        per_page = min(_parse_positive("perPage", per_page, DEFAULT_PER_PAGE), MAX_PER_PAGE)
        cursor = _decode_cursor(after) if after else None
        if cursor is None or (cursor.page, cursor.per_page) != (page, per_page):
            return cls(page, per_page)
        return cls(page, per_page, cursor.last_key)

    @property
    def skip(self) -> int:
        """How many records to skip; 0 if the page continues after a key."""
        return 0 if self.after_key is not None else (self.page - 1) * self.per_page

    @property
    def limit(self) -> int:
        """How many records to read: one more than the page, to see whether another follows."""
        return self.per_page + 1

    def build_paging(self, records: Sequence[T], key_of: Callable[[T], str]) -> Paging:
        """Return the paging of a page, given the records read for it, up to `limit`."""
        if len(records) <= self.per_page or self.page == MAX_INT32:
            return Paging(self.per_page, self.page, None)
        after = PageCursor(self.page + 1, self.per_page, key_of(records[self.per_page - 1]))
        return Paging(self.per_page, self.page, after.encode())


def _parse_positive(argument: str, number: int | None, default: int) -> int:
    if number is None:
        return default
    if not 1 <= number <= MAX_INT32:
        raise InvalidPageRequestError(argument, f"must be from 1 to {MAX_INT32}, not {number}")
    return number


def _decode_cursor(token: str) -> PageCursor:
    try:
        padded = token.encode("ascii") + b"=" * (-len(token) % 4)
        raw = base64.b64decode(padded, altchars=b"-_", validate=True)
        cursor = msgspec.msgpack.decode(raw, type=PageCursor)
        cursor.last_key.encode()
    except (UnicodeError, binascii.Error, msgspec.DecodeError) as error:
        raise InvalidPageRequestError(
            "after", "must be `next` of a page of this service, or absent"
        ) from error
    return cursor
