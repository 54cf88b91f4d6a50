"""Paging: page numbers for clients, positions and cursors for MongoDB.

See docs/decisions/storage/lists.md.
"""

import base64
import binascii
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from operator import itemgetter
from typing import Annotated, Any, Generic, NamedTuple, TypeAlias, TypeVar

import msgspec

from storage.errors import InvalidPageRequestError
from storage.records.kinds import MAX_INT32, Document, RecordType

T = TypeVar("T")

DEFAULT_PER_PAGE = 100
MAX_PER_PAGE = 10_000
MAX_TOTAL_COUNT = 100_000
"""Counting a list ends here."""

_DIGEST_BYTES = 8
_MAX_INT64 = 2**63 - 1
_Int64: TypeAlias = Annotated[int, msgspec.Meta(ge=-_MAX_INT64 - 1, le=_MAX_INT64)]
Position: TypeAlias = tuple[str | _Int64 | None, ...]
"""The place of a record in a list: the values that the list is sorted by, then the key.

None is the value of a damaged record, which MongoDB sorts before all others.
"""


@dataclass(frozen=True, slots=True)
class _KeyPositions(Sequence[Position]):
    """The positions in order of keys, made when they are asked for: most pages show one."""

    keys: Sequence[Any]

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, index: Any) -> Any:
        found = self.keys[index]
        return _KeyPositions(found) if isinstance(index, slice) else (found,)


class Order(NamedTuple):
    """The order of a list: by a stored field or by none, then by key.

    >>> Order("name", is_descending=True).sort
    {'name': -1, '_id': -1}
    """

    field: str | None = None
    is_descending: bool = False

    @property
    def fields(self) -> tuple[str, ...]:
        """All fields that the list is sorted by."""
        return ("_id",) if self.field is None else (self.field, "_id")

    @property
    def sort(self) -> dict[str, int]:
        """The MongoDB sort; an index on these fields serves both directions."""
        return dict.fromkeys(self.fields, -1 if self.is_descending else 1)

    def list_positions(self, documents: Sequence[Document]) -> Sequence[Position]:
        """Return the position of each document."""
        if self.field is None:
            return _KeyPositions([*map(itemgetter("_id"), documents)])
        values = [document.get(self.field) for document in documents]
        return [
            (value if isinstance(value, (str, int)) else None, document["_id"])
            for value, document in zip(values, documents, strict=True)
        ]

    def sort_documents(self, documents: Iterable[Document]) -> list[Document]:
        """Return documents in this order. Raises TypeError if one of them is damaged."""
        return sorted(documents, key=itemgetter(*self.fields), reverse=self.is_descending)

    def split_after(self, position: Position) -> list[Document]:
        """Return conditions on what follows a position; each is one range of the index.

        Together, in this order, they match what follows. One condition with `$or` would make
        MongoDB read all records with an equal field before the position.

        >>> Order("name").split_after(("101", "unit-7"))
        [{'name': {'$eq': '101'}, '_id': {'$gt': 'unit-7'}}, {'name': {'$gt': '101'}}]
        """
        comparison = "$lt" if self.is_descending else "$gt"
        *values, key = position
        same_values = {
            name: {"$eq": value} for name, value in zip(self.fields, values, strict=False)
        }
        ranges: list[Document] = [{**same_values, "_id": {comparison: key}}]
        if self.field is not None and values[0] is not None:
            ranges.append({self.field: {comparison: values[0]}})
            if self.is_descending:  # of no range, and last: documents without the field
                ranges.append({self.field: None})
        elif self.field is not None and not self.is_descending:
            ranges.append({self.field: {"$ne": None}})
        return ranges


BY_KEY = Order()


@dataclass(frozen=True, slots=True)
class Paging:
    """The number of a page; the cursor `next` continues right after its last record."""

    per_page: int
    current_page: int
    next: str | None

    @property
    def has_next(self) -> bool:
        """True if there is a next page."""
        return self.next is not None


class KeyRange(msgspec.Struct, frozen=True, gc=False):
    """The keys after one, up to and with another; None where there is no bound."""

    after: str | None
    to: str | None

    def contains(self, key: str) -> bool:
        """Return whether a key is in the range.

        >>> KeyRange("b", "d").contains("b"), KeyRange("b", None).contains("e")
        (False, True)
        """
        return (self.after is None or key > self.after) and (self.to is None or key <= self.to)


class PageInfo(NamedTuple):
    """A page as Relay's connections describe it."""

    has_next_page: bool
    has_previous_page: bool
    start_cursor: str | None
    end_cursor: str | None


class Edge(NamedTuple, Generic[T]):
    """A record of a page; a page can continue after any of them."""

    cursor: str
    node: T


class ListSource(NamedTuple):
    """The conditions that a list consists of, to count it."""

    kind: RecordType[Any]
    where: Document


class PageCursor(msgspec.Struct, frozen=True, array_like=True):
    """The place after a record of one list, and the page that follows there."""

    list_digest: Annotated[bytes, msgspec.Meta(min_length=_DIGEST_BYTES, max_length=_DIGEST_BYTES)]
    page: Annotated[int, msgspec.Meta(ge=2, le=MAX_INT32)]
    per_page: Annotated[int, msgspec.Meta(ge=1, le=MAX_PER_PAGE)]
    position: Position

    def encode(self) -> str:
        """Return an opaque token that is safe in URLs.

        >>> PageCursor.decode(PageCursor(b"12345678", 2, 100, ("unit-7",)).encode())
        PageCursor(list_digest=b'12345678', page=2, per_page=100, position=('unit-7',))
        """
        token = base64.urlsafe_b64encode(msgspec.msgpack.encode(self))
        return token.rstrip(b"=").decode("ascii")

    @classmethod
    def decode(cls, token: str) -> "PageCursor":
        """Return the cursor in a token. Raises InvalidPageRequestError."""
        try:
            padded = token.encode("ascii") + b"=" * (-len(token) % 4)
            raw = base64.b64decode(padded, altchars=b"-_", validate=True)
            cursor = msgspec.msgpack.decode(raw, type=cls)
            for value in cursor.position:
                str(value).encode()
        except (UnicodeError, binascii.Error, msgspec.DecodeError) as error:
            raise InvalidPageRequestError(
                "after",
                "must be a cursor of a page of this service, or absent; those of an earlier"
                " release are no longer valid",
            ) from error
        return cursor


class PageRequest(NamedTuple):
    """A request for a page: its number and size, the list's order, the position it follows."""

    page: int
    per_page: int
    after: Position | None = None
    order: Order = BY_KEY
    cursor_digest: bytes | None = None
    """The list that `after` is of."""
    document_fields: frozenset[str] | None = None
    """The documents to read, if the page has them, as MongoDB has sent them, and no records."""

    @classmethod
    def from_arguments(
        cls,
        page: int | None = None,
        per_page: int | None = None,
        after: str | None = None,
        first: int | None = None,
        order: Order = BY_KEY,
        max_per_page: int = MAX_PER_PAGE,
        *,
        document_fields: frozenset[str] | None = None,
    ) -> "PageRequest":
        """Validate arguments from a client. `per_page` and `first` are capped.

        `after` alone continues with the page number and size of its cursor. Raises
        InvalidPageRequestError.
        """
        if first is not None and not (page is None and per_page is None):
            raise InvalidPageRequestError("first", "must not be given with page or perPage")
        _check_positive(page=page, perPage=per_page, first=first)
        size = per_page if first is None else first
        size = None if size is None else min(size, max_per_page)
        if not after:
            size = size or min(DEFAULT_PER_PAGE, max_per_page)
            return cls(page or 1, size, None, order, None, document_fields)
        cursor = PageCursor.decode(after)
        if page not in (None, cursor.page):
            raise InvalidPageRequestError(
                "after", f"continues with page {cursor.page}, not {page}: leave out the page"
            )
        if first is None and size not in (None, cursor.per_page):
            raise InvalidPageRequestError(
                "after",
                f"continues with pages of {cursor.per_page}, not {size}: leave out the page size",
            )
        return cls(
            cursor.page,
            size or min(cursor.per_page, max_per_page),
            cursor.position,
            order,
            cursor.list_digest,
            document_fields,
        )

    def check_list(self, list_id: Hashable) -> None:
        """Raise InvalidPageRequestError if the cursor is of another list."""
        if self.after is None:
            return
        is_position = len(self.after) == len(self.order.fields) and isinstance(self.after[-1], str)
        if not is_position or self.cursor_digest != digest_list(list_id, self.order):
            raise InvalidPageRequestError(
                "after",
                "is of another list: a cursor continues only the list that it comes from, with the"
                " same filters and order",
            )

    @property
    def skip(self) -> int:
        """The number of records to skip; 0 if the page continues after a position."""
        return 0 if self.after is not None else (self.page - 1) * self.per_page

    @property
    def limit(self) -> int:
        """The number of records to read: one more than the page, to see whether another follows."""
        return self.per_page + 1

    def project(self, fields: Mapping[str, int]) -> Mapping[str, int]:
        """Return the projection of a list, given that of its records."""
        if self.document_fields is None:
            return fields
        return dict.fromkeys((*self.document_fields, *self.order.fields), 1)

    @property
    def part(self) -> Hashable:
        """The page that a request asks for, however the records are returned."""
        return self.page, self.per_page, self.after, self.order

    def build_page(self, records: Sequence[T], positions: Sequence[Position]) -> "Page[T]":
        """Return the page of the records read for it, given the positions of up to `limit`."""
        has_next = len(positions) > self.per_page and self.page < MAX_INT32
        keys = self._find_keys(positions)
        return Page([*records[: self.per_page]], positions[: self.per_page], self, has_next, keys)

    def _find_keys(self, positions: Sequence[Position]) -> KeyRange | None:
        """Return the keys of the records that a page depends on, given those read for it."""
        if self.order != BY_KEY:
            return None
        next = positions[self.per_page] if len(positions) > self.per_page else None
        ends = [None if position is None else position[0] for position in (self.after, next)]
        # A key of another type, which only other tools write, is no bound.
        return KeyRange(*(end if isinstance(end, str) else None for end in ends))

    def cut_page(self, records: Sequence[T], key_of: Callable[[T], str]) -> "Page[T]":
        """Return the page of a list that is in memory, sorted by key."""
        positions: list[Position] = [(key_of(record),) for record in records]
        start = self.skip
        if self.after is not None:
            start = sum(position <= self.after for position in positions)
        part = slice(start, start + self.limit)
        return self.build_page(records[part], positions[part])


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a list."""

    data: list[T]
    positions: Sequence[Position]
    """The position of each record of the data."""
    request: PageRequest
    has_next: bool
    keys: KeyRange | None = None
    """The ranges of all records that the page depends on; None if it may depend on any."""
    list_id: Hashable = ()
    """Tells the list from all others, for its cursors."""
    source: ListSource | int | None = None
    """What to count for the total, or the total."""

    def of_list(self, list_id: Hashable, source: ListSource | int | None) -> "Page[T]":
        """Return the page as one of a list."""
        # `dataclasses.replace` takes ten times as long, and each parent has a page.
        return Page(
            self.data, self.positions, self.request, self.has_next, self.keys, list_id, source
        )

    @property
    def paging(self) -> Paging:
        """The number of the page, and the cursor of the next one."""
        request = self.request
        next_cursor = next(self._iter_cursors(self.positions[-1:])) if self.has_next else None
        return Paging(request.per_page, request.page, next_cursor)

    @property
    def edges(self) -> list[Edge[T]]:
        """The records, each with a cursor."""
        return [*map(Edge, self._iter_cursors(self.positions), self.data)]

    @property
    def page_info(self) -> PageInfo:
        """The page as Relay describes it."""
        ends = [*self._iter_cursors([*self.positions[:1], *self.positions[-1:]])]
        start, end = ends or (None, None)
        return PageInfo(self.has_next, self.request.page > 1, start, end)

    def _iter_cursors(self, positions: Sequence[Position]) -> Iterator[str]:
        request = self.request
        page = min(request.page + 1, MAX_INT32)
        digest = digest_list(self.list_id, request.order)
        for position in positions:
            yield PageCursor(digest, page, request.per_page, position).encode()


def digest_list(list_id: Hashable, order: Order) -> bytes:
    """Return what tells a list in one order from all others in its cursors."""
    text = repr((list_id, order.fields, order.is_descending))
    return blake2b(text.encode(errors="backslashreplace"), digest_size=_DIGEST_BYTES).digest()


def _check_positive(**numbers: int | None) -> None:
    for argument, number in numbers.items():
        if number is not None and not 1 <= number <= MAX_INT32:
            raise InvalidPageRequestError(argument, f"must be from 1 to {MAX_INT32}, not {number}")
