"""Bookmarks that make jumps to far pages cheap.

MongoDB skips records one by one. The first jump to a far page skips in strides and bookmarks the
key at the end of each stride, so that the next jump starts at the last bookmark before its page.
Where records of other callers are read too, a stride has as many records, of which fewer are
visible. Any change to a list invalidates its bookmarks. See
docs/decisions/storage/lists.md.

Bookmarks are only set by reading from the start, never from a client's cursor, which could be
forged.
"""

import asyncio
from bisect import bisect_right
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from storage.cache.cache import Cache
from storage.cache.change_feed import ChangeFeed, ChangeSnapshot, is_unchanged_since
from storage.cache.read_set import ReadSet
from storage.records.visibility import AssetScope

STRIDE_RECORDS = 10_000
"""Records between two bookmarks: about the most that a jump between bookmarks reads."""
SCANNED_PER_RECORD = 10
"""Records that are read for each that a key with many assets is expected to see."""
MAX_BOOKMARKS = 1_000
"""Bookmarks of one list; a jump beyond the last one skips from there."""
MAX_LISTS = 100


class ListKey(NamedTuple):
    """A list as a caller with this scope sees it."""

    collection: str
    scope: AssetScope
    where: str


class PageStart(NamedTuple):
    """The start of a page: after `key`, or at the start of the list if it is None."""

    key: str | None
    skip: int
    """Records to skip from there."""


class Stride(NamedTuple):
    """Records of a list, one after another."""

    key: str
    """The key of the last one."""
    visible: int
    """The number of them that the caller sees."""


@dataclass(slots=True)
class _ListBookmarks:
    snapshot: ChangeSnapshot
    """Taken before the first bookmark was read."""
    keys: list[str] = field(default_factory=list)
    counts: list[int] = field(default_factory=lambda: [0])
    """The numbers of visible records in the first strides: in none of them, one, two and so on."""
    is_complete: bool = False
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def needs_stride(self, skip: int) -> bool:
        """Return whether another stride, of as many visible records, ends before a page."""
        if self.is_complete or len(self.keys) == MAX_BOOKMARKS:
            return False
        last = self.counts[-1] - self.counts[-2] if self.keys else 0
        return self.counts[-1] + last <= skip


class PageBookmarks:
    """Find where to start reading a page of a list."""

    def __init__(self, feed: ChangeFeed, stride: int = STRIDE_RECORDS) -> None:
        self.stride = stride
        self._feed = feed
        self._lists: Cache[ListKey, _ListBookmarks] = Cache(
            max_entries=MAX_LISTS, feed=feed, name="bookmarks"
        )

    async def find_start(
        self,
        list_key: ListKey,
        reads: ReadSet,
        skip: int,
        advance: Callable[[str | None], Awaitable[Stride | None]],
        *,
        max_scanned: int | None = None,
    ) -> PageStart:
        """Return where to read the records after the first `skip`.

        The list depends on `reads`.
        `advance` returns the stride after a key, or after the start of the list for None; it
        returns None past the end. With `max_scanned`, it may find few visible records in a stride:
        nearer pages too are worth bookmarks, and one call reads at most that many records. If they
        are not enough, the page starts at the last bookmark, where the next call goes on.
        """
        without_bookmarks = PageStart(None, skip)
        least, max_strides = self.stride, MAX_BOOKMARKS
        if max_scanned is not None:
            least, max_strides = least // SCANNED_PER_RECORD, max_scanned // self.stride
        bookmarks = self._get_or_create(list_key, reads) if skip >= least else None
        if bookmarks is None:
            return without_bookmarks
        if bookmarks.needs_stride(skip):
            await self._extend(bookmarks, reads, skip, advance, max_strides)
        before = bisect_right(bookmarks.counts, skip) - 1
        if not before or not self._is_valid(reads, bookmarks):
            return without_bookmarks
        return PageStart(bookmarks.keys[before - 1], skip - bookmarks.counts[before])

    async def _extend(
        self,
        bookmarks: _ListBookmarks,
        reads: ReadSet,
        skip: int,
        advance: Callable[[str | None], Awaitable[Stride | None]],
        max_strides: int,
    ) -> None:
        """Create bookmarks up to a page, while no other request creates some of the list."""
        async with bookmarks.lock:
            for _ in range(max_strides):
                if not bookmarks.needs_stride(skip):
                    return
                stride = await advance(bookmarks.keys[-1] if bookmarks.keys else None)
                if not self._is_valid(reads, bookmarks):
                    return
                if stride is None:
                    bookmarks.is_complete = True
                    return
                bookmarks.keys.append(stride.key)
                bookmarks.counts.append(bookmarks.counts[-1] + stride.visible)

    def _get_or_create(self, list_key: ListKey, reads: ReadSet) -> _ListBookmarks | None:
        """Return the valid bookmarks of a list; None while changes might go unnoticed."""
        bookmarks = self._lists.get(list_key)
        if bookmarks is None and (snapshot := self._feed.take_read_snapshot()) is not None:
            bookmarks = _ListBookmarks(snapshot)
            self._lists.put(list_key, bookmarks, snapshot, reads)
        return bookmarks

    def _is_valid(self, reads: ReadSet, bookmarks: _ListBookmarks) -> bool:
        now = self._feed.take_read_snapshot()
        return now is not None and is_unchanged_since(bookmarks.snapshot, now, reads)
