"""Follow the changes of the database, as it reports them, for the caches.

MongoDB's change stream reports what any client wrote. A cache takes a `ChangeSnapshot` before it
reads, and may use what it read while no change after that snapshot concerns it. If the stream
fails, or has not confirmed recently that nothing was missed, there is no snapshot and everything is
read again.

The invariant: a read that begins after a snapshot sees every write that the stream does not report
after that snapshot. It sees the writes before the stream's start and those reported before the
snapshot, because `change_stream.tail_changes` advances the clock that all reads follow
(`storage.mongo.shared_memory`) to the stream's start and to each change, before it is
counted here.

A thread follows the stream, not the event loop: a loop that is busy with requests would read the
stream's sign of life late, and a healthy stream would look silent just when the cache is needed
most. The invariant does not depend on the order in which the two run. The thread records changes,
and then publishes the moment they are complete up to. So a snapshot is as old as that moment at
most, and a read that begins after it sees at least what the stream had reported by then. A thread
that gets no CPU publishes nothing, and there is no snapshot.
See "No write is lost" in docs/decisions/server/response-cache.md.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple

from storage.administration.audit import AUDIT_COLLECTION
from storage.cache.read_set import PARTS, Read, ReadSet, Tags, list_tags
from storage.changes.events import EVENT_FIELDS
from storage.errors import UnavailableCause, UnavailableError
from storage.mongo import change_stream, driver
from storage.mongo.protocols import Pipeline
from storage.mongo.shared_memory import WriteCounter, read_clock
from storage.records.kinds import Document
from storage.records.paging import KeyRange

# When each part of each collection last changed, in bounded memory.


MAX_CHANGED_TAGS = 50_000
"""Tags in one generation of a collection; each takes some 100 bytes, and there are two."""
MAX_LATEST_CHANGES = 1_000
"""Changes of a collection that are looked at one by one, for pages of long lists."""


class RecordChange(NamedTuple):
    """A change of a record with the tags that it had before and has afterwards."""

    collection: str
    tags: Sequence[int] | None = None
    """None if any record may have changed."""
    key: str | None = None
    """The key of the record; None if there may be several."""


class _CollectionChanges:
    """The changes of one collection: the newest, and the newest with each tag."""

    __slots__ = ("forgotten", "last", "latest", "newer", "older")

    def __init__(self) -> None:
        self.last = 0
        self.forgotten = 0
        """The tags of changes up to this one are not known."""
        self.latest: deque[tuple[int, RecordChange]] = deque(maxlen=MAX_LATEST_CHANGES)
        self.newer: dict[int, int] = {}
        self.older: dict[int, int] = {}

    def record(self, change: RecordChange, number: int) -> None:
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
    >>> table.record([RecordChange("units", [7])])
    >>> [table.has_changed({"units": Read((tag,))}, before) for tag in (7, 8)]
    [True, False]
    """

    def __init__(self, collections: Collection[str]) -> None:
        self.number = 0
        """The number of the newest change; all changes up to it are in the table."""
        self._lock = threading.Lock()
        self._collections = {name: _CollectionChanges() for name in collections}

    def record(self, changes: Iterable[RecordChange]) -> None:
        """Record changes that are reported together."""
        with self._lock:
            number = self.number + 1
            for change in changes:
                self._collections[change.collection].record(change, number)
            self.number = number

    def record_everything(self) -> None:
        """Record that any record of any collection may have changed."""
        self.record([RecordChange(name) for name in self._collections])

    def has_changed(self, reads: ReadSet, since: int) -> bool:
        """Return whether a change after number `since` may concern what was read."""
        return any(self._collections[name].has_changed(read, since) for name, read in reads.items())


# The events of MongoDB's change stream, as changes of parts of collections.
#
# A part loses a record by its values before a change and gets it by those after it. MongoDB stores
# documents as they were before (pre-images) for the collections of the catalog, see
# `storage.setup.preparation`. Where one is missing, any part may have changed.


FOLLOWED_COLLECTIONS: Final = tuple(PARTS)
_KEY_FIELDS: Final = {
    name: {field for fields in parts for field in fields} - {"_id"} for name, parts in PARTS.items()
}
_FIELDS: Final = sorted(set[str]().union(*_KEY_FIELDS.values()))
_FOLLOWED: Final = {"$in": [*FOLLOWED_COLLECTIONS]}
PIPELINE: Final[Pipeline] = [
    {
        "$match": {
            "$or": [
                {"ns.coll": _FOLLOWED},
                {"to.coll": _FOLLOWED},
                {"ns.coll": {"$exists": False}},
                # Most writes have an audit record. So one that changes nothing else is reported
                # too, and who waits for it need not wait for the next batch.
                {"ns.coll": AUDIT_COLLECTION, "operationType": "insert"},
            ]
        }
    },
    {
        "$project": {
            **EVENT_FIELDS,
            **{f"fullDocument.{field}": 1 for field in _FIELDS},
            **{f"fullDocumentBeforeChange.{field}": 1 for field in _FIELDS},
            "values": {
                "$filter": {
                    "input": {
                        "$objectToArray": {"$ifNull": ["$updateDescription.updatedFields", {}]}
                    },
                    "cond": {"$in": ["$$this.k", _FIELDS]},
                }
            },
        }
    },
]
"""Selects of documents only the fields that tell parts apart: a report on a floor plan has a
megabyte. A rename replaces the collection it is renamed `to`; events of a whole database, such as
`dropDatabase`, name no collection."""


def read_changes(event: Document) -> Iterator[RecordChange]:
    """Yield the changes that an event reports."""
    names = {event.get(member, {}).get("coll") for member in ("ns", "to") if member in event}
    if not names - {None}:
        yield from (RecordChange(name) for name in FOLLOWED_COLLECTIONS)
    for name in names.intersection(FOLLOWED_COLLECTIONS):
        key = event.get("documentKey", {}).get("_id")
        yield RecordChange(name, _find_tags(name, event), key if isinstance(key, str) else None)


def _find_tags(collection: str, event: Document) -> list[int] | None:
    """Return the tags of a changed record before and after; None if they are not known."""
    if "documentKey" not in event:
        return None  # the collection itself was dropped or replaced
    states = _find_states(collection, event)
    if states is None:
        return None
    key = event["documentKey"]["_id"]
    try:
        return [*{tag for state in states for tag in list_tags(collection, {**state, "_id": key})}]
    except TypeError:  # somebody has written a value of another type
        return None


def _find_states(collection: str, event: Document) -> list[Document] | None:
    """Return the fields of a record before and after its change, as far as it was there."""
    operation = event["operationType"]
    if operation == "insert":
        return [event["fullDocument"]]
    if not _KEY_FIELDS[collection]:
        return [{}]
    before: Document | None = event.get("fullDocumentBeforeChange")
    if before is None:
        return None
    if operation == "delete":
        return [before]
    if operation == "replace":
        return [before, event["fullDocument"]]
    names = _KEY_FIELDS[collection]
    changed = {field for field in event["fields"] if field.partition(".")[0] in names}
    values: dict[str, Any] = {each["k"]: each["v"] for each in event["values"]}
    return [before, before | values] if changed <= values.keys() else None


POLL_MS = 200
CONFIRMATION_TTL_SECONDS = 0.6
REPORT_SECONDS = 0.3
"""The longest that a write waits until all workers have counted it. A batch of the stream comes
each POLL_MS, also where nothing has changed that it reports."""
REPORT_POLL_SECONDS = 0.001
NEVER = float("-inf")


class ChangeSnapshot(NamedTuple):
    """The newest changes and write counts at one moment, and since unchanged."""

    number: int
    """The number of the newest change in the table."""
    write_counts: bytes
    observed_at: float
    """The time by `time.monotonic`."""
    table: ChangeTable


class ChangeFeed:
    """Follow the changes of one database, in a thread of its own."""

    def __init__(self, database: driver.Database, counter: WriteCounter | None = None) -> None:
        self._database = database
        self._write_counter = counter or WriteCounter.for_single_process()
        self._table = ChangeTable(FOLLOWED_COLLECTIONS)
        self._confirmed_at = NEVER
        """The moment up to which the table has all changes."""
        self._last_confirmed_at = NEVER
        self._snapshot = ChangeSnapshot(0, self._write_counter.read(), NEVER, self._table)
        self.thread: change_stream.StreamThread | None = None

    def get_lag_seconds(self) -> float | None:
        """Return how old the newest moment is of which all changes are known; None before one."""
        last = self._last_confirmed_at
        return None if last == NEVER else max(read_clock() - last, 0.0)

    def take_snapshot(self) -> ChangeSnapshot | None:
        """Return the newest changes, or None if the stream has not confirmed recently.

        While nothing changes, this is the same object, so that caches may compare identities.
        """
        if read_clock() - self._confirmed_at >= CONFIRMATION_TTL_SECONDS:
            return None
        # After the confirmation: the table never lags it.
        number, snapshot = self._table.number, self._snapshot
        write_counts = self._write_counter.read()
        if snapshot.number != number or snapshot.write_counts != write_counts:
            snapshot = ChangeSnapshot(number, write_counts, time.monotonic(), self._table)
            self._snapshot = snapshot
        return snapshot

    def take_read_snapshot(self) -> ChangeSnapshot | None:
        """Return the changes to store with what the current operation reads next, or None.

        The operation may read from a snapshot of the database that is older than the changes:
        then a change in between would be missing from the read and never be reported again.
        """
        snapshot = self.take_snapshot()
        if snapshot is None or snapshot.observed_at > driver.snapshot_taken():
            return None
        return snapshot

    def count_write(self) -> None:
        """Count a write by this gateway that may have changed anything."""
        self._write_counter.increment()

    async def count_own_writes(self) -> None:
        """Wait until all workers of this gateway have counted what this one has written.

        So the client that wrote sees its write, through any of them, and caches lose only what it
        concerns. If that takes too long, or if it is not known whether the write was made, it
        counts as one that may have changed anything.
        """
        clock = driver.get_clock(self._database.client)
        written = clock.get_last_write()
        if clock.has_unknown_write:
            clock.has_unknown_write = False
            self.count_write()
            return
        deadline = time.monotonic() + REPORT_SECONDS
        while not self._write_counter.reported.have_reached(written):
            if time.monotonic() >= deadline:
                self.count_write()
                return
            await asyncio.sleep(REPORT_POLL_SECONDS)

    @asynccontextmanager
    async def run(self) -> AsyncIterator["ChangeFeed"]:
        """Follow the database inside the `async with` block."""
        self.thread = thread = change_stream.StreamThread(
            self._database.client, "change-feed", self._follow
        )
        thread.start()
        try:
            yield self
        finally:
            thread.stopping.set()
            await asyncio.to_thread(thread.join, change_stream.STOP_SECONDS)
            self._confirmed_at = NEVER

    def _follow(self) -> None:
        try:
            # Anew each time: looking up a mongodb+srv address may also fail.
            with change_stream.open_client(self._database.client, POLL_MS) as client:
                self._follow_stream(client)
        finally:
            self._confirmed_at = NEVER
            self._write_counter.reported.clear()

    def _follow_stream(self, client: driver.BlockingClient) -> None:
        clock, name = driver.get_clock(self._database.client), self._database.name
        thread = self.thread
        assert thread is not None
        with change_stream.tail_changes(
            client, clock, name, PIPELINE, POLL_MS, fullDocumentBeforeChange="whenAvailable"
        ) as batches:
            # Anything may have changed before the stream began.
            self._table.record_everything()
            requested_at = began_at = read_clock()
            thread.note_begin(client)
            for batch in batches:
                if thread.stopping.is_set():
                    return
                if batch.events:
                    self._table.record(
                        change for event in batch.events for change in read_changes(event)
                    )
                # Others wait for this worker from before it uses its caches.
                self._write_counter.reported.publish(batch.complete_to)
                # A batch reports all changes up to its request, not up to its arrival, unless there
                # were more than it can have. A new stream begins behind so many.
                if not batch.is_full:
                    self._confirmed_at = self._last_confirmed_at = requested_at
                elif requested_at - max(self._confirmed_at, began_at) >= CONFIRMATION_TTL_SECONDS:
                    message = "there are more changes than can be read in time"
                    raise UnavailableError(message, UnavailableCause.REPLICATION_LAG)
                requested_at = read_clock()


def is_unchanged_since(before: ChangeSnapshot, now: ChangeSnapshot, reads: ReadSet) -> bool:
    """Return whether no change after the first snapshot concerns what was read."""
    if before.write_counts != now.write_counts:
        return False
    return before.number == now.number or not now.table.has_changed(reads, before.number)
