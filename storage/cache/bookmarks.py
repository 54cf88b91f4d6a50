"""Bookmarks that make jumps to far pages cheap.

MongoDB skips records one by one. The first jump to a far page skips in strides and bookmarks the
key at the end of each stride, so that the next jump starts at the last bookmark before its page.
Any change to a list invalidates its bookmarks. See
docs/decisions/storage/page-numbers-and-cursors.md.

Bookmarks are only set by reading from the start, never from a client's cursor, which could be
forged.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from storage.cache.cache import Cache
from storage.cache.change_feed import ChangeFeed, ChangeSnapshot, is_unchanged_since
from storage.cache.read_set import ReadSet
from storage.records.visibility import AssetScope

STRIDE_RECORDS = 10_000
"""Records between two bookmarks: the most that a jump between bookmarks skips."""
MAX_BOOKMARKS = 1_000
"""Bookmarks of one list; a jump beyond the last one skips from there."""
MAX_LISTS = 100


class ListKey(NamedTuple):
    """A list as a caller with this scope sees it."""

    collection: str
    scope: AssetScope
    where: str


class PageStart(NamedTuple):
    """Where to start reading a page: after `key`, or at the start of the list if it is None."""

    key: str | None
    skip: int
    """Records to skip from there."""


@dataclass(slots=True)
class _ListBookmarks:
    snapshot: ChangeSnapshot
    """Taken before the first bookmark was read."""
    keys: list[str] = field(default_factory=list)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class PageBookmarks:
    """Find where to start reading a page of a list."""

    def __init__(self, feed: ChangeFeed, stride: int = STRIDE_RECORDS) -> None:
        self.stride = stride
        self._feed = feed
        self._lists: Cache[ListKey, _ListBookmarks] = Cache(max_entries=MAX_LISTS, feed=feed)

    async def find_start(
        self,
        list_key: ListKey,
        reads: ReadSet,
        skip: int,
        advance: Callable[[str | None], Awaitable[str | None]],
    ) -> PageStart:
        """Return where to read the records after the first `skip`.

        The list depends on `reads`.
        `advance` returns the key one stride after another key, or after the start of the list for
        None; it returns None past the end.
        """
        without_bookmarks = PageStart(None, skip)
        bookmarks = self._get_or_create(list_key, reads) if skip >= self.stride else None
        if bookmarks is None:
            return without_bookmarks
        wanted, keys = min(skip // self.stride, MAX_BOOKMARKS), bookmarks.keys
        async with bookmarks.lock:
            while len(keys) < wanted:
                key = await advance(keys[-1] if keys else None)
                if key is None or not self._is_valid(reads, bookmarks):
                    break
                keys.append(key)
        strides = min(wanted, len(keys))
        if not strides or not self._is_valid(reads, bookmarks):
            return without_bookmarks
        return PageStart(keys[strides - 1], skip - strides * self.stride)

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
