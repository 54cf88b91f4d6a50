"""Versions of the collections, counted as the database reports changes.

MongoDB's change stream reports what any client wrote; the write counter reports what this gateway
wrote a moment ago. A cache takes a `VersionSnapshot` before it reads, and may use what it read
while the collections have the versions of that snapshot. If the stream fails, or has not confirmed
recently that nothing was missed, there is no snapshot and everything is read again.

The invariant: a read that begins after a snapshot sees every write that the stream does not report
after that snapshot. It sees the writes before the stream's start and those reported before the
snapshot, because `change_stream.tail_changes` advances the clock that all reads follow
(`storage.mongo.consistency.cluster_clock`) to the stream's start and to each change, before it is
counted here.

A thread follows the stream, not the event loop: a loop that is busy with requests would read the
stream's sign of life late, and a healthy stream would look silent just when the cache is needed
most. The invariant does not depend on the order in which the two run. The thread publishes versions
and the moment they are complete up to as one object, which a snapshot reads once. So a snapshot is
as old as that object at most, and a read that begins after it sees at least what the stream had
reported by then. A thread that gets no CPU publishes nothing, and there is no snapshot.
See "No write is lost" in docs/decisions/server/response-cache.md.
"""

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from storage.administration import api_keys
from storage.administration.trusted_documents import DOCUMENTS_COLLECTION
from storage.cache.write_counter import WriteCounter
from storage.catalog import RECORD_TYPES
from storage.mongo import change_stream, driver
from storage.mongo.driver import PyMongoError
from storage.tombstones import TOMBSTONES

POLL_MS = 200
CONFIRMATION_TTL_SECONDS = 0.6
RETRY_SECONDS = 0.2
STOP_SECONDS = 2.0
NEVER = float("-inf")
FOLLOWED_COLLECTIONS = (
    *(kind.name for kind in RECORD_TYPES),
    TOMBSTONES.name,
    api_keys.KEYS_COLLECTION,
    DOCUMENTS_COLLECTION,
)

logger = logging.getLogger("floorgate.changes")

_IN_FOLLOWED_COLLECTIONS = {"$in": list(FOLLOWED_COLLECTIONS)}
_PIPELINE: list[dict[str, Any]] = [
    {
        "$match": {
            "$or": [
                {"ns.coll": _IN_FOLLOWED_COLLECTIONS},
                {"to.coll": _IN_FOLLOWED_COLLECTIONS},
                {"ns.coll": {"$exists": False}},
            ]
        }
    },
    {"$project": {"ns.coll": 1, "to.coll": 1, "clusterTime": 1}},
]
"""A rename replaces the collection it is renamed `to`. Events of a whole database, such as
dropDatabase, name no collection."""


class VersionSnapshot(NamedTuple):
    """Collection versions and write counts, observed at one moment and since unchanged."""

    versions: dict[str, int]
    write_counts: bytes
    observed_at: float
    """By `time.monotonic`."""


class _Observation(NamedTuple):
    """What the thread has learned, published as one object: versions never lag their moment."""

    versions: dict[str, int]
    confirmed_at: float
    """The moment up to which `versions` counts all changes."""


class ChangeFeed:
    """Follow the changes of one database, in a thread of its own."""

    def __init__(self, database: driver.Database, counter: WriteCounter | None = None) -> None:
        self._database = database
        self._write_counter = counter or WriteCounter.for_single_process()
        self._versions = dict.fromkeys(FOLLOWED_COLLECTIONS, 0)
        """Only the thread reads and replaces this."""
        self._observation = _Observation(self._versions, NEVER)
        self._snapshot = VersionSnapshot(self._versions, self._write_counter.read(), NEVER)

    def take_snapshot(self) -> VersionSnapshot | None:
        """Return the current versions, or None if the stream has not confirmed recently.

        While nothing changes, this is the same object, so that caches may compare identities.
        """
        versions, confirmed_at = self._observation
        # Not loop.time(): uvloop's clock stands still while a callback runs.
        now = time.monotonic()
        if now - confirmed_at >= CONFIRMATION_TTL_SECONDS:
            return None
        snapshot, write_counts = self._snapshot, self._write_counter.read()
        if snapshot.versions is not versions or snapshot.write_counts != write_counts:
            snapshot = self._snapshot = VersionSnapshot(versions, write_counts, now)
        return snapshot

    def take_read_snapshot(self) -> VersionSnapshot | None:
        """Return the versions to store with what the current operation reads next, or None.

        The operation may read from a snapshot of the database that is older than the versions:
        then a change in between would be missing from the read and never be reported again.
        """
        snapshot = self.take_snapshot()
        if snapshot is None or snapshot.observed_at > driver.snapshot_taken():
            return None
        return snapshot

    def count_write(self) -> None:
        """Count a write by this gateway, which may have changed any collection."""
        self._write_counter.increment()

    @asynccontextmanager
    async def run(self) -> AsyncIterator["ChangeFeed"]:
        """Follow the database inside the `async with` block."""
        stopping = threading.Event()
        # A daemon: while MongoDB hangs, the thread may take longer to end than the process.
        thread = threading.Thread(
            target=self._follow, args=(stopping,), name="change-feed", daemon=True
        )
        thread.start()
        try:
            yield self
        finally:
            stopping.set()
            await asyncio.to_thread(thread.join, STOP_SECONDS)
            self._observation = _Observation(self._versions, NEVER)

    def _follow(self, stopping: threading.Event) -> None:
        while not stopping.is_set():
            try:
                # Anew each time: looking up a mongodb+srv address may also fail.
                with change_stream.open_client(self._database.client, POLL_MS) as client:
                    self._follow_stream(client, stopping)
            except PyMongoError as error:
                if not stopping.is_set():
                    logger.warning("the change stream ended: %s", type(error).__name__)
            self._observation = _Observation(self._versions, NEVER)
            stopping.wait(RETRY_SECONDS)

    def _follow_stream(self, client: driver.BlockingClient, stopping: threading.Event) -> None:
        clock, name = driver.get_clock(self._database.client), self._database.name
        with change_stream.tail_changes(client, clock, name, _PIPELINE, POLL_MS) as batches:
            # Anything may have changed before the stream began.
            self._bump_versions(FOLLOWED_COLLECTIONS)
            requested_at = time.monotonic()
            for batch in batches:
                if stopping.is_set():
                    return
                if batch.events:
                    self._bump_versions(_changed_collections(batch.events))
                # A batch reports all changes up to its request, not up to its arrival.
                self._observation = _Observation(self._versions, requested_at)
                requested_at = time.monotonic()

    def _bump_versions(self, collections: Iterable[str]) -> None:
        # A new mapping each time: snapshots hold the old ones.
        self._versions = self._versions | {name: self._versions[name] + 1 for name in collections}


def is_unchanged_since(
    before: VersionSnapshot, now: VersionSnapshot, collections: Collection[str]
) -> bool:
    """Return whether no write has changed these collections between two snapshots."""
    if before.write_counts != now.write_counts:
        return False
    if before.versions is now.versions:
        return True
    return all(before.versions[name] == now.versions[name] for name in collections)


def _changed_collections(batch: list[dict[str, Any]]) -> set[str]:
    names = {event.get("ns", {}).get("coll") for event in batch}
    names |= {event["to"]["coll"] for event in batch if "to" in event}
    return set(FOLLOWED_COLLECTIONS) if None in names else names.intersection(FOLLOWED_COLLECTIONS)
