"""The thread that follows the change stream for all followers of a process.

Unlike `storage.cache.change_feed`, it resumes where a stream has ended: after a failover too, every
change is reported once, in order.
"""

import asyncio
import logging
import threading
from collections.abc import Callable

from storage.assets import ASSETS
from storage.changes.events import PIPELINE, EventReader, Progress
from storage.changes.positions import Position
from storage.changes.reading import to_epoch
from storage.errors import ChangesExpiredError
from storage.mongo import change_stream, driver
from storage.mongo.driver import PyMongoError
from storage.mongo.unavailable import find_cause

WAIT_MS = 1_000
RETRY_SECONDS = 0.2
POLL_SECONDS = 0.2
STOP_SECONDS = 2.0

logger = logging.getLogger("floorgate.changes")


class Tail:
    """Follow the changes of a database from now on, until stopped.

    In the event loop, `begin` receives the epoch and position of each stream that is opened, and
    `publish` what it reports. The thread waits until that has been taken, so that nothing piles up.
    """

    def __init__(
        self,
        database: driver.Database,
        begin: Callable[[bytes, Position], None],
        publish: Callable[[Progress], None],
    ) -> None:
        self._database = database
        self._begin = begin
        self._publish = publish
        self._loop = asyncio.get_running_loop()
        self._position: Position | None = None
        self._stopping = threading.Event()
        # A daemon: while MongoDB hangs, the thread may take longer to end than the process.
        self._thread = threading.Thread(target=self._run, name="change-tail", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Let the thread end soon; nothing more is published."""
        self._stopping.set()

    def join(self) -> None:
        """Wait for the end of the thread, for a while."""
        self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                with change_stream.open_client(self._database.client, WAIT_MS) as client:
                    self._follow(client)
            except ChangesExpiredError:
                logger.warning("changes were lost: MongoDB no longer has them")
                self._position = None
            except PyMongoError as error:
                if not self._stopping.is_set():
                    fields = {"cause": find_cause(error)}
                    name = type(error).__name__
                    logger.warning("the change stream ended: %s", name, extra={"fields": fields})
            self._stopping.wait(RETRY_SECONDS)

    def _follow(self, client: driver.BlockingClient) -> None:
        """Follow a stream until it ends, or until something is replaced: then the epoch may be
        another."""
        clock, name = driver.get_clock(self._database.client), self._database.name
        epoch = to_epoch(change_stream.read_uuid_blocking(client, name, ASSETS.name))
        if self._position is None:
            time = change_stream.read_committed_time(client, name)
            assert time is not None, "a standalone has no change streams"
            self._position = Position.after(time)
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
            self._hand_over(self._begin, epoch, reader.position)
            for batch in batches:
                progress = reader.read(batch)
                self._hand_over(self._publish, progress)
                if self._stopping.is_set():
                    return
                self._position = progress.position
                if any(event.operation == "reset" for event in progress.events):
                    return

    def _hand_over(self, take: Callable[..., None], *values: object) -> None:
        """Call a function in the event loop, and wait until it has been called."""
        taken = threading.Event()

        def call() -> None:
            try:
                if not self._stopping.is_set():
                    take(*values)
            finally:
                taken.set()

        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError:  # the event loop has ended
            self._stopping.set()
        while not taken.wait(POLL_SECONDS) and not self._stopping.is_set():
            pass
