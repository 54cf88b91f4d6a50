"""Page numbers outside, keys inside: a slice of a list and the page that answers it."""

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from storage.errors import InvalidPageRequestError

T = TypeVar("T")

DEFAULT_PER_PAGE = 100
MAX_PER_PAGE = 10_000
INT32_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Paging:
    """Which page this is; `next` continues exactly behind its last record."""

    per_page: int
    current_page: int
    next: str | None

    @property
    def has_next(self) -> bool:
        """Whether a page follows."""
        return self.next is not None


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a list, in the order of the records' keys."""

    paging: Paging
    data: list[T]


class Cursor(msgspec.Struct, frozen=True, array_like=True):
    """Where a page ended; it counts only for the page and size that it was made for."""

    page: int
    per_page: int
    last_key: str

    def encode(self) -> str:
        """An opaque, address-safe token."""
        token = base64.urlsafe_b64encode(msgspec.msgpack.encode(self))
        return token.rstrip(b"=").decode("ascii")


@dataclass(frozen=True, slots=True)
class PageRequest:
    """The part of a list that is asked for."""

    page: int
    per_page: int
    after_key: str | None = None

    @classmethod
    def from_arguments(
        cls, page: int | None, per_page: int | None, after: str | None = None
    ) -> "PageRequest":
        """Checked; a larger page than the largest is served as the largest.

        Raises InvalidSlice.
        """
        page = _parse_positive("page", page, 1)
        per_page = min(_parse_positive("perPage", per_page, DEFAULT_PER_PAGE), MAX_PER_PAGE)
        cursor = _decode_cursor(after) if after else None
        if cursor is None or (cursor.page, cursor.per_page) != (page, per_page):
            return cls(page, per_page)
        return cls(page, per_page, cursor.last_key)

    @property
    def skip(self) -> int:
        """How many records to pass over, where no key says where to begin."""
        return 0 if self.after_key is not None else (self.page - 1) * self.per_page

    @property
    def limit(self) -> int:
        """One more than the page holds: whether there is one tells if a page follows."""
        return self.per_page + 1

    def build_paging(self, found: Sequence[T], key_of: Callable[[T], str]) -> Paging:
        """The paging of a page, from the up to `limit` members that were found."""
        if len(found) <= self.per_page or self.page == INT32_MAX:
            return Paging(self.per_page, self.page, None)
        after = Cursor(self.page + 1, self.per_page, key_of(found[self.per_page - 1]))
        return Paging(self.per_page, self.page, after.encode())


def _parse_positive(argument: str, number: int | None, default: int) -> int:
    if number is None:
        return default
    if not 1 <= number <= INT32_MAX:
        raise InvalidPageRequestError(argument, f"must be from 1 to {INT32_MAX}, not {number}")
    return number


def _decode_cursor(token: str) -> Cursor:
    try:
        padded = token.encode("ascii") + b"=" * (-len(token) % 4)
        raw = base64.b64decode(padded, altchars=b"-_", validate=True)
        cursor = msgspec.msgpack.decode(raw, type=Cursor)
        cursor.last_key.encode()
    except (UnicodeError, binascii.Error, msgspec.DecodeError) as error:
        raise InvalidPageRequestError(
            "after", "is not a cursor of this service; leave it out or take it from a page"
        ) from error
    return cursor
