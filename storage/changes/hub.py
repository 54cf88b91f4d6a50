"""Following changes: one change stream for any number of followers in this process.

A thread follows the stream while there are followers, and hands what it reports to the event loop,
which keeps the last changes in memory. A follower has a position, and no queue: it takes what
comes after its position when it is ready, so a slow one neither delays others nor takes memory. One
that is further behind than what is kept reads the change stream itself, a stretch at a time; few do
at the same time. See docs/decisions/server/subscriptions.md.
"""

import asyncio
import math
import threading
import time
from bisect import bisect_right
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import Context
from functools import partial
from operator import attrgetter
from typing import NamedTuple

from storage.catalog import ASSETS
from storage.changes.events import (
    EPOCH_BYTES,
    PIPELINE,
    ChangeCursor,
    ChangeEvent,
    ChangePosition,
    EventReader,
    Stretch,
)
from storage.errors import ChangesExpiredError, UnavailableCause, UnavailableError
from storage.mongo import change_stream, driver
from storage.records.kinds import Document

# Reading changes from MongoDB's change stream itself, a stretch at a time.


MAX_EVENTS_PER_READ = 200
"""Events of the stream in one read; some are no changes, or not visible to the follower, or a
sample of those that are not followed."""
LIST_ASSETS: Document = {"listCollections": 1, "filter": {"name": ASSETS.name}}


async def read_epoch(database: driver.Database) -> bytes:
    """Return what cursors of this database begin with; it changes when assets are restored.

    A new replica set cannot tell that a position was another's. Raises UnavailableError.
    """
    with driver.translate_errors():
        return to_epoch(await database.command({**LIST_ASSETS}))


def to_epoch(listed: Document) -> bytes:
    """Return the epoch from the reply to LIST_ASSETS: zeros where there is no collection."""
    found = listed["cursor"]["firstBatch"]
    return bytes(found[0]["info"]["uuid"] if found else EPOCH_BYTES)[:EPOCH_BYTES]


def check_epoch(cursor: ChangeCursor, epoch: bytes) -> ChangePosition:
    """Return the position of a cursor. Raises ChangesExpiredError if it is another database's."""
    if cursor.epoch != epoch:
        raise ChangesExpiredError("the changes are of what the database was before")
    return cursor.position


# The thread that follows the change stream for all followers of a process.
#
# Unlike `storage.cache.change_feed`, it resumes where a stream has ended: after a failover too,
# every change is reported once, in order.


WAIT_MS = 1_000
_CHECK_STOP_SECONDS = 0.2


class Tail(change_stream.StreamThread):
    """Follow the changes of a database from now on, until stopped.

    In the event loop, `begin` receives the epoch and position of each stream that is opened, and
    `publish` what it reports. The thread waits until that has been taken, so that nothing piles up.
    """

    def __init__(
        self,
        database: driver.Database,
        begin: Callable[[bytes, ChangePosition], None],
        publish: Callable[[Stretch], None],
    ) -> None:
        super().__init__(database.client, "change-tail", self._connect)
        self._database = database
        self._begin = begin
        self._publish = publish
        self._loop = asyncio.get_running_loop()
        self._position: ChangePosition | None = None

    def _connect(self) -> None:
        try:
            with change_stream.open_client(self._database.client, WAIT_MS) as client:
                self._read(client)
        except ChangesExpiredError:
            self._position = None
            raise

    def _read(self, client: driver.BlockingClient) -> None:
        """Follow a stream until it ends, or until something is replaced: then the epoch may be
        another."""
        clock, name = driver.get_clock(self._database.client), self._database.name
        epoch = to_epoch(client[name].command({**LIST_ASSETS}))
        if self._position is None:
            time = change_stream.read_committed_time(client, name)
            self._position = ChangePosition.after(time)
        reader = EventReader(self._position)
        with change_stream.tail_changes(
            client,
            clock,
            name,
            PIPELINE,
            WAIT_MS,
            reader.position.time,
            fullDocument="updateLookup",
        ) as batches:
            self.note_begin(client)
            self._hand_over(self._begin, epoch, reader.position)
            for batch in batches:
                progress = reader.read(batch)
                self._hand_over(self._publish, progress)
                if self.stopping.is_set():
                    return
                self._position = progress.position
                if any(event.operation == "reset" for event in progress.events):
                    return

    def _hand_over(self, take: Callable[..., None], *values: object) -> None:
        """Call a function in the event loop, and wait until it has been called."""
        taken = threading.Event()

        def call() -> None:
            try:
                if not self.stopping.is_set():
                    take(*values)
            finally:
                taken.set()

        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError:  # the event loop has ended
            self.stopping.set()
        while not taken.wait(_CHECK_STOP_SECONDS) and not self.stopping.is_set():
            pass


MAX_KEPT_EVENTS = 10_000
"""Changes that are kept for followers, of some 500 bytes each."""
MAX_READS_AT_ONCE = 4
"""Reads of the change stream by followers that are behind, and by requests."""
POLL_SECONDS = 1.0
"""One request begins to read further stretches for so long, for changes that its key sees."""
READ_SECONDS = 1.0
"""A request waits this long for such a read. The read goes on for the next request from there."""
KEEP_SECONDS = 30.0
"""The result of a read is kept this long for the next request."""
MAX_EVENTS_IN_PART = 100
"""Changes that a follower takes from memory before others have their turn."""
START_SECONDS = 5.0
RETRY_SECONDS = 1.0
LINGER_SECONDS = 30.0
"""The stream is followed this long after the last follower has gone: it may only reconnect."""

_get_position = attrgetter("position")


class ChangePage(NamedTuple):
    """Changes, in order."""

    events: list[ChangeEvent]
    cursor: ChangeCursor
    """The cursor after them."""


class ChangeHub:
    """The changes of one database, and those who follow them."""

    def __init__(self, database: driver.Database) -> None:
        self._database = database
        self._reads_at_once = asyncio.Semaphore(MAX_READS_AT_ONCE)
        self._reads: dict[ChangePosition, asyncio.Task[Stretch]] = {}
        """The stretches by the position that they begin at."""
        self._kept = _KeptEvents(ChangePosition(0, 0))
        self._epoch = b""
        self._tail: Tail | None = None
        self._stopping: asyncio.TimerHandle | None = None
        self._began = asyncio.Event()
        self._news = asyncio.Event()
        """Set when there are events, or another stream has begun, and replaced by another."""
        self.follower_count = 0

    @asynccontextmanager
    async def run(self) -> AsyncIterator["ChangeHub"]:
        """Let changes be followed inside the `async with` block."""
        try:
            yield self
        finally:
            for read in self._reads.values():
                read.cancel()
            if (tail := self._stop()) is not None:
                await asyncio.to_thread(tail.join, change_stream.STOP_SECONDS)

    async def get_cursor(self) -> ChangeCursor:
        """Return the cursor after all that has been written. Raises UnavailableError."""
        epoch, clock = await read_epoch(self._database), driver.get_clock(self._database.client)
        with driver.translate_errors():
            time = await change_stream.read_newest_time(self._database, clock)
        return ChangeCursor(epoch, ChangePosition.after(time))

    async def read(
        self, cursor: ChangeCursor, limit: int, shows: Callable[[ChangeEvent], bool]
    ) -> tuple[Stretch, ChangeCursor]:
        """Return the shown changes that follow a cursor, and the cursor after them.

        They include all that was written before the call, unless `has_more`. Raises
        ChangesExpiredError and UnavailableError.
        """
        seconds = min(READ_SECONDS, (driver.remaining_seconds() or math.inf) / 3)
        end = time.monotonic() + min(POLL_SECONDS, seconds)
        epoch, found = await read_epoch(self._database), list[ChangeEvent]()
        position = check_epoch(cursor, epoch)
        while True:
            events, position, has_more = await self._read_on(position, seconds)
            found += filter(shows, events)
            if len(found) > limit:
                del found[limit:]
                position, has_more = found[-1].position, True
            if len(found) == limit or not has_more or time.monotonic() >= end:
                return Stretch(found, position, has_more), ChangeCursor(epoch, position)

    async def _read_on(self, position: ChangePosition, seconds: float) -> Stretch:
        """Read a stretch, or wait on for one that is being read."""
        begun = self._reads.get(position)
        # Outside of the context of the request, with its deadline.
        read = begun or asyncio.create_task(self._read_in_turn(position), context=Context())
        self._reads[position] = read
        try:
            if not (await asyncio.wait([read], timeout=seconds))[0]:
                return Stretch([], position, has_more=True)
        finally:
            if read.done():
                self._reads.pop(position, None)
                if not read.cancelled():
                    read.exception()  # so that none is reported if this is cancelled, too
            else:
                read.add_done_callback(partial(self._keep, position))
        # What was begun before may lack what has been written since.
        return read.result()._replace(has_more=True) if begun else read.result()

    async def _read_in_turn(self, position: ChangePosition) -> Stretch:
        """Return what follows a position. Raises ChangesExpiredError, UnavailableError."""
        clock = driver.get_clock(self._database.client)
        # What comes before the offset is read again each time.
        limit = MAX_EVENTS_PER_READ + position.offset * 3 // 2
        async with self._reads_at_once:
            while True:
                with driver.translate_errors():
                    batch = await change_stream.read_changes(
                        self._database, clock, PIPELINE, position.time, limit
                    )
                read, has_more = EventReader(position).read(batch), len(batch.events) >= limit
                if read.position > position or not has_more:
                    return read._replace(has_more=has_more)
                limit *= 4  # all of one transaction: its events have the same time

    def _keep(self, position: ChangePosition, read: asyncio.Task[Stretch]) -> None:
        """Keep what a read has found for a while, but no error."""
        has_failed = read.cancelled() or read.exception() is not None
        seconds = 0.0 if has_failed else KEEP_SECONDS
        read.get_loop().call_later(seconds, self._reads.pop, position, None)

    async def follow(
        self, cursor: ChangeCursor | None, wake_seconds: float | None = None
    ) -> AsyncGenerator[ChangePage]:
        """Yield the changes that follow a cursor, or from about now on.

        A part is empty if there has been no change for `wake_seconds`, or none yet while catching
        up. Raises ChangesExpiredError, and UnavailableError if it cannot begin; when MongoDB goes
        away later, it waits.
        """
        with self._attend():
            await self._wait_for_start()
            position = self._kept.last if cursor is None else check_epoch(cursor, self._epoch)
            while True:
                news = self._news
                if position < self._kept.first:
                    events, position = await self._catch_up(position)
                else:
                    events, position = self._kept.take_after(position)
                if not events and position >= self._kept.last:
                    with suppress(TimeoutError):
                        async with asyncio.timeout(wake_seconds):
                            await news.wait()
                    if news.is_set():  # perhaps in the moment of the timeout
                        continue
                    position = max(position, self._kept.last)
                yield ChangePage(events, ChangeCursor(self._epoch, position))

    @contextmanager
    def _attend(self) -> Iterator[None]:
        """Follow the stream for one follower more."""
        self.follower_count += 1
        if self._stopping is not None:
            self._stopping.cancel()
            self._stopping = None
        if self._tail is None:
            self._tail = Tail(self._database, self._begin, self._publish)
            self._tail.start()
        try:
            yield
        finally:
            self.follower_count -= 1
            if not self.follower_count:
                loop = asyncio.get_running_loop()
                self._stopping = loop.call_later(LINGER_SECONDS, self._stop)

    def _stop(self) -> Tail | None:
        tail, self._tail = self._tail, None
        if self._stopping is not None:
            self._stopping.cancel()
            self._stopping = None
        if tail is not None:
            tail.stopping.set()
        self._began.clear()
        return tail

    async def _wait_for_start(self) -> None:
        try:
            async with asyncio.timeout(START_SECONDS):
                await self._began.wait()
        except TimeoutError as error:
            message = "The changes cannot be followed now"
            cause = self._tail and self._tail.cause
            raise UnavailableError(message, cause or UnavailableCause.DEADLINE_EXCEEDED) from error

    async def _catch_up(self, position: ChangePosition) -> tuple[list[ChangeEvent], ChangePosition]:
        """Return changes before those that are kept, and the position that they lead to."""
        while True:
            first = self._kept.first
            with suppress(UnavailableError):
                stretch = await self._read_on(position, READ_SECONDS)
                # The read saw all before the kept events, whatever the time of the last one.
                end = stretch.position if stretch.has_more else max(stretch.position, first)
                return stretch.events, end
            await asyncio.sleep(RETRY_SECONDS)

    def _begin(self, epoch: bytes, position: ChangePosition) -> None:
        if position != self._kept.last:
            self._kept = _KeptEvents(position)
            self._wake()  # else they would go on here, and miss what was before
        self._epoch = epoch
        self._began.set()

    def _publish(self, progress: Stretch) -> None:
        self._kept.add(progress)
        if progress.events:
            self._wake()

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


class _KeptEvents:
    """The last events of a stream, in order."""

    def __init__(self, position: ChangePosition) -> None:
        self.first = position
        """The position before all of them."""
        self.last = position
        """The position up to which there are all."""
        self._events: list[ChangeEvent] = []

    def add(self, progress: Stretch) -> None:
        """Add what has been reported, and forget the oldest beyond MAX_KEPT_EVENTS."""
        self._events += progress.events
        self.last = progress.position
        if len(self._events) > 2 * MAX_KEPT_EVENTS:  # not each time: it moves all others
            forgotten = len(self._events) - MAX_KEPT_EVENTS
            self.first = self._events[forgotten - 1].position
            del self._events[:forgotten]

    def take_after(self, position: ChangePosition) -> tuple[list[ChangeEvent], ChangePosition]:
        """Return the next events after a position, and the position that they lead to."""
        start = bisect_right(self._events, position, key=_get_position)
        events = self._events[start : start + MAX_EVENTS_IN_PART]
        if start + len(events) == len(self._events):
            return events, max(position, self.last)
        return events, events[-1].position
