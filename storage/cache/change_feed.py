"""What has changed in the database, as it reports it, for the caches.

MongoDB's change stream reports what any client wrote. A cache takes a `ChangeSnapshot` before it
reads, and may use what it read while no change after that snapshot concerns it. If the stream
fails, or has not confirmed recently that nothing was missed, there is no snapshot and everything is
read again.

The invariant: a read that begins after a snapshot sees every write that the stream does not report
after that snapshot. It sees the writes before the stream's start and those reported before the
snapshot, because `change_stream.tail_changes` advances the clock that all reads follow
(`storage.mongo.consistency.cluster_clock`) to the stream's start and to each change, before it is
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
import logging
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from storage.cache.change_events import FOLLOWED_COLLECTIONS, PIPELINE, read_changes
from storage.cache.change_table import ChangeTable
from storage.cache.read_set import ReadSet
from storage.cache.write_counter import WriteCounter
from storage.errors import ChangesExpiredError
from storage.mongo import change_stream, driver
from storage.mongo.driver import PyMongoError
from storage.mongo.unavailable import find_cause

POLL_MS = 200
CONFIRMATION_TTL_SECONDS = 0.6
RETRY_SECONDS = 0.2
STOP_SECONDS = 2.0
REPORT_SECONDS = 0.3
"""How long a write waits until all workers have counted it. A batch of the stream comes each
POLL_MS, also where nothing has changed that it reports."""
REPORT_POLL_SECONDS = 0.001
NEVER = float("-inf")

logger = logging.getLogger("floorgate.changes")


class ChangeSnapshot(NamedTuple):
    """The newest changes and write counts at one moment, and since unchanged."""

    number: int
    """Of the newest changes in the table."""
    write_counts: bytes
    observed_at: float
    """By `time.monotonic`."""
    table: ChangeTable


class ChangeFeed:
    """Follow the changes of one database, in a thread of its own."""

    def __init__(self, database: driver.Database, counter: WriteCounter | None = None) -> None:
        self._database = database
        self._write_counter = counter or WriteCounter.for_single_process()
        self._table = ChangeTable(FOLLOWED_COLLECTIONS)
        self._confirmed_at = NEVER
        """The moment up to which the table has all changes."""
        self._snapshot = ChangeSnapshot(0, self._write_counter.read(), NEVER, self._table)

    def take_snapshot(self) -> ChangeSnapshot | None:
        """Return the newest changes, or None if the stream has not confirmed recently.

        While nothing changes, this is the same object, so that caches may compare identities.
        """
        if _read_clock() - self._confirmed_at >= CONFIRMATION_TTL_SECONDS:
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
            self._confirmed_at = NEVER

    def _follow(self, stopping: threading.Event) -> None:
        reported = self._write_counter.reported
        while not stopping.is_set():
            try:
                # Anew each time: looking up a mongodb+srv address may also fail.
                with change_stream.open_client(self._database.client, POLL_MS) as client:
                    self._follow_stream(client, stopping)
            except (PyMongoError, ChangesExpiredError) as error:
                if not stopping.is_set():
                    fields = {"cause": find_cause(error)}
                    name = type(error).__name__
                    logger.warning("the change stream ended: %s", name, extra={"fields": fields})
            except (
                Exception
            ):  # as for an event that cannot be decoded; a new stream begins after it
                logger.exception("the change stream ended")
            finally:
                self._confirmed_at = NEVER
                reported.clear()
            stopping.wait(RETRY_SECONDS)

    def _follow_stream(self, client: driver.BlockingClient, stopping: threading.Event) -> None:
        clock, name = driver.get_clock(self._database.client), self._database.name
        with change_stream.tail_changes(
            client, clock, name, PIPELINE, POLL_MS, fullDocumentBeforeChange="whenAvailable"
        ) as batches:
            # Anything may have changed before the stream began.
            self._table.record_everything()
            requested_at = began_at = _read_clock()
            for batch in batches:
                if stopping.is_set():
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
                    self._confirmed_at = requested_at
                elif requested_at - max(self._confirmed_at, began_at) >= CONFIRMATION_TTL_SECONDS:
                    return
                requested_at = _read_clock()


def _read_clock() -> float:
    """Return seconds of a clock that goes on while the machine sleeps, and within callbacks."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def is_unchanged_since(before: ChangeSnapshot, now: ChangeSnapshot, reads: ReadSet) -> bool:
    """Return whether no change after the first snapshot concerns what was read."""
    if before.write_counts != now.write_counts:
        return False
    return before.number == now.number or not now.table.has_changed(reads, before.number)
