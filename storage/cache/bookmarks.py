"""Where far pages of a list begin: keys at regular distances in it, while nothing changes.

MongoDB passes over records one by one. The first jump to a far page does so in strides and keeps
the key at which each ends, so that the next one begins at the last landmark before its page.
A change in the collection, and not knowing whether there was one, ends the landmarks of its lists.

Landmarks are laid by walking from the start, never taken from a client's cursor, which could lie.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from storage.cache.change_feed import ChangeFeed, VersionSnapshot, is_unchanged_since
from storage.records.visibility import Scope

STRIDE_RECORDS = 10_000
"""Records between two landmarks, and so the most that a later jump passes over."""
MAX_BOOKMARKS = 1_000
"""Of one list; what lies behind the last one is passed over."""
MAX_LISTS = 100


class ListKey(NamedTuple):
    """Which list, as its reader sees it."""

    collection: str
    scope: Scope
    where: str


class PageStart(NamedTuple):
    """Where a page is: behind a key, or from the first record on, with so many passed over."""

    key: str | None
    skip: int


@dataclass(slots=True)
class _ListBookmarks:
    snapshot: VersionSnapshot
    """Noted before the first of them was read."""
    keys: list[str] = field(default_factory=list)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class PageBookmarks:
    """The landmarks of many lists; the least recently used lists give way."""

    def __init__(self, feed: ChangeFeed, stride: int = STRIDE_RECORDS) -> None:
        self.stride = stride
        self._feed = feed
        self._lists: OrderedDict[ListKey, _ListBookmarks] = OrderedDict()

    async def find_start(
        self, list_key: ListKey, skip: int, advance: Callable[[str | None], Awaitable[str | None]]
    ) -> PageStart:
        """From where to read the list's records behind the first `skip`.

        `advance` finds the key that is one stride behind another one, or behind the start
        of the list; None past the end.
        """
        plain = PageStart(None, skip)
        found = self._get_or_create(list_key) if skip >= self.stride else None
        if found is None:
            return plain
        wanted, keys = min(skip // self.stride, MAX_BOOKMARKS), found.keys
        async with found.lock:
            while len(keys) < wanted:
                key = await advance(keys[-1] if keys else None)
                if key is None or not self._is_valid(list_key, found):
                    break
                keys.append(key)
        passed = min(wanted, len(keys))
        if not passed or not self._is_valid(list_key, found):
            return plain
        return PageStart(keys[passed - 1], skip - passed * self.stride)

    def _get_or_create(self, name: ListKey) -> _ListBookmarks | None:
        """The landmarks of a list so far; None while none can be trusted."""
        found = self._lists.get(name)
        if found is None or not self._is_valid(name, found):
            if (mark := self._feed.take_snapshot()) is None:
                return None
            found = self._lists[name] = _ListBookmarks(mark)
        self._lists.move_to_end(name)
        if len(self._lists) > MAX_LISTS:
            self._lists.popitem(last=False)
        return found

    def _is_valid(self, name: ListKey, found: _ListBookmarks) -> bool:
        now = self._feed.take_snapshot()
        return now is not None and is_unchanged_since(found.snapshot, now, (name.collection,))
