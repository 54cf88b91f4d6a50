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

from storage.changes import Changes, Mark, is_same
from storage.visibility import Scope

STRIDE = 10_000
"""Records between two landmarks, and so the most that a later jump passes over."""
MOST_LANDMARKS = 1_000
"""Of one list; what lies behind the last one is passed over."""
MOST_LISTS = 100


class ListName(NamedTuple):
    """Which list, as its reader sees it."""

    collection: str
    scope: Scope
    where: str


class Start(NamedTuple):
    """Where a page is: behind a key, or from the first record on, with so many passed over."""

    key: str | None
    skip: int


@dataclass(slots=True)
class _Landmarks:
    mark: Mark
    """Noted before the first of them was read."""
    keys: list[str] = field(default_factory=list)
    laying: asyncio.Lock = field(default_factory=asyncio.Lock)


class Landmarks:
    """The landmarks of many lists; the least recently used lists give way."""

    def __init__(self, changes: Changes, stride: int = STRIDE) -> None:
        self.stride = stride
        self._changes = changes
        self._lists: OrderedDict[ListName, _Landmarks] = OrderedDict()

    async def start(
        self, name: ListName, skip: int, advance: Callable[[str | None], Awaitable[str | None]]
    ) -> Start:
        """From where to read the list's records behind the first `skip`.

        `advance` finds the key that is one stride behind another one, or behind the start
        of the list; None past the end.
        """
        plain = Start(None, skip)
        found = self._of(name) if skip >= self.stride else None
        if found is None:
            return plain
        wanted, keys = min(skip // self.stride, MOST_LANDMARKS), found.keys
        async with found.laying:
            while len(keys) < wanted:
                key = await advance(keys[-1] if keys else None)
                if key is None or not self._is_true(name, found):
                    break
                keys.append(key)
        passed = min(wanted, len(keys))
        if not passed or not self._is_true(name, found):
            return plain
        return Start(keys[passed - 1], skip - passed * self.stride)

    def _of(self, name: ListName) -> _Landmarks | None:
        """The landmarks of a list so far; None while none can be trusted."""
        found = self._lists.get(name)
        if found is None or not self._is_true(name, found):
            if (mark := self._changes.mark()) is None:
                return None
            found = self._lists[name] = _Landmarks(mark)
        self._lists.move_to_end(name)
        if len(self._lists) > MOST_LISTS:
            self._lists.popitem(last=False)
        return found

    def _is_true(self, name: ListName, found: _Landmarks) -> bool:
        now = self._changes.mark()
        return now is not None and is_same(found.mark, now, (name.collection,))
