"""When each part of each collection last changed, in bounded memory."""

import threading
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from storage.cache.read_set import ReadSet

MAX_CHANGED_TAGS = 100_000
"""Tags in one generation of a collection; each takes some 100 bytes, and there are two."""


class Change(NamedTuple):
    """A change of a record with the tags that it had before and has afterwards."""

    collection: str
    tags: Sequence[int] | None
    """None if any record may have changed."""


class _Collection:
    """The changes of one collection: the newest, and the newest with each tag."""

    __slots__ = ("forgotten", "last", "newer", "older")

    def __init__(self) -> None:
        self.last = 0
        self.forgotten = 0
        """Of changes up to this one, the tags are not known."""
        self.newer: dict[int, int] = {}
        self.older: dict[int, int] = {}

    def record(self, tags: Sequence[int] | None, number: int) -> None:
        # Readers take no lock. They look for tags first and at what is forgotten last.
        self.last = number
        if tags is None:
            self.forgotten = number
            return
        self.newer.update(dict.fromkeys(tags, number))
        if len(self.newer) > MAX_CHANGED_TAGS:
            self.forgotten = max(self.forgotten, *self.older.values(), 0)
            self.older = self.newer
            self.newer = {}

    def has_changed(self, tags: Iterable[int] | None, since: int) -> bool:
        if self.last <= since:
            return False
        if tags is None:
            return True
        newer, older = self.newer.get, self.older.get
        for tag in tags:
            if newer(tag, 0) > since or older(tag, 0) > since:
                return True
        return self.forgotten > since


class ChangeTable:
    """Number the changes of a database, and tell whether one concerns a read set.

    One lock is for those who record changes; those who ask need none.

    >>> from array import array
    >>> table = ChangeTable(["units"])
    >>> before = table.number
    >>> table.record([Change("units", [7])])
    >>> table.has_changed({"units": array("q", [8])}, before)
    False
    >>> table.has_changed({"units": array("q", [7])}, before)
    True
    """

    def __init__(self, collections: Collection[str]) -> None:
        self.number = 0
        """Of the newest changes; all of them and those before are in the table."""
        self._lock = threading.Lock()
        self._collections = {name: _Collection() for name in collections}

    def record(self, changes: Iterable[Change]) -> None:
        """Record changes that are reported together."""
        with self._lock:
            number = self.number + 1
            for collection, tags in changes:
                self._collections[collection].record(tags, number)
            self.number = number

    def record_everything(self) -> None:
        """Record that any record of any collection may have changed."""
        self.record([Change(name, None) for name in self._collections])

    def has_changed(self, reads: ReadSet, since: int) -> bool:
        """Return whether a change after number `since` may concern what was read."""
        return any(self._collections[name].has_changed(tags, since) for name, tags in reads.items())
