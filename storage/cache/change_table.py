"""When each part of each collection last changed, in bounded memory."""

import threading
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from storage.cache.read_set import Read, ReadSet, Tags
from storage.records.paging import KeyRange

MAX_CHANGED_TAGS = 50_000
"""Tags in one generation of a collection; each takes some 100 bytes, and there are two."""
MAX_LATEST_CHANGES = 1_000
"""Changes of a collection that are looked at one by one, for pages of long lists."""


class Change(NamedTuple):
    """A change of a record with the tags that it had before and has afterwards."""

    collection: str
    tags: Sequence[int] | None = None
    """None if any record may have changed."""
    key: str | None = None
    """Of the record; None if there may be several."""


class _Collection:
    """The changes of one collection: the newest, and the newest with each tag."""

    __slots__ = ("forgotten", "last", "latest", "newer", "older")

    def __init__(self) -> None:
        self.last = 0
        self.forgotten = 0
        """Of changes up to this one, the tags are not known."""
        self.latest: deque[tuple[int, Change]] = deque(maxlen=MAX_LATEST_CHANGES)
        self.newer: dict[int, int] = {}
        self.older: dict[int, int] = {}

    def record(self, change: Change, number: int) -> None:
        # Readers take no lock. They look for tags first and at what is forgotten last.
        self.latest.append((number, change))
        self.last = number
        if change.tags is None:
            self.forgotten = number
            return
        self.newer.update(dict.fromkeys(change.tags, number))
        if len(self.newer) > MAX_CHANGED_TAGS:
            self.forgotten = max(self.forgotten, *self.older.values(), 0)
            self.older = self.newer
            self.newer = {}

    def has_changed(self, read: Read, since: int) -> bool:
        if self.last <= since or not self._has_changed_in(read.tags, since):
            return False
        return read.keys is None or self._has_changed_within(read.keys, read.tags, since)

    def _has_changed_in(self, tags: Iterable[int] | None, since: int) -> bool:
        if tags is None:
            return True
        newer, older = self.newer.get, self.older.get
        for tag in tags:
            if newer(tag, 0) > since or older(tag, 0) > since:
                return True
        return self.forgotten > since

    def _has_changed_within(self, keys: KeyRange, tags: Tags | None, since: int) -> bool:
        """Look at the latest changes one by one, the newest first."""
        latest, parts = [*self.latest], None if tags is None else {*tags}
        for number, change in reversed(latest):
            if number <= since:
                return False
            is_elsewhere = parts and change.tags and parts.isdisjoint(change.tags)
            if not is_elsewhere and (change.key is None or keys.contains(change.key)):
                return True
        return len(latest) == MAX_LATEST_CHANGES


class ChangeTable:
    """Number the changes of a database, and tell whether one concerns a read set.

    One lock is for those who record changes; those who ask need none.

    >>> table = ChangeTable(["units"])
    >>> before = table.number
    >>> table.record([Change("units", [7])])
    >>> [table.has_changed({"units": Read((tag,))}, before) for tag in (7, 8)]
    [True, False]
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
            for change in changes:
                self._collections[change.collection].record(change, number)
            self.number = number

    def record_everything(self) -> None:
        """Record that any record of any collection may have changed."""
        self.record([Change(name) for name in self._collections])

    def has_changed(self, reads: ReadSet, since: int) -> bool:
        """Return whether a change after number `since` may concern what was read."""
        return any(self._collections[name].has_changed(read, since) for name, read in reads.items())
