"""MongoDB's change stream, read by a thread that may block.

The event loop does not take part, so a busy one neither delays what the stream reports nor makes a
healthy stream look silent (docs/decisions/server/response-cache.md).
"""

import logging
import math
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import pymongo
from bson import Timestamp
from pymongo.client_session import ClientSession
from pymongo.errors import OperationFailure, PyMongoError

from storage.errors import ChangesExpiredError, StorageError, UnavailableCause, UnavailableError
from storage.mongo import topology
from storage.mongo.driver import (
    BlockingClient,
    Client,
    Database,
    connect_blocking,
    open_plain_session,
)
from storage.mongo.protocols import Pipeline
from storage.mongo.shared_memory import ClusterClock, to_integer
from storage.mongo.spans import describe_error
from storage.mongo.unavailable import find_cause, shorten
from storage.records.kinds import Document

OPEN_SECONDS = 3.0
"""The time limit of each command that opens the stream."""
_START_POLL_SECONDS = 0.02
_KILL_SECONDS = 1.0
"""The longest that the end of a stream waits for MongoDB to close its cursor."""
REPLY_SLACK_SECONDS = 5.0
"""MongoDB may report this much later than announced before the stream counts as lost."""
_MAJORITY_READ: dict[str, Any] = {"readConcern": {"level": "majority"}}
MAX_BATCH_EVENTS = 1_000
MAX_READ_SECONDS = 120.0
"""The longest that `read_changes` may search the oplog, where MongoDB tells of no progress: in
writes to other databases."""
_EXPIRED_CODES = (
    136,  # CappedPositionLost: while they were being read
    280,  # ChangeStreamFatalError
    286,  # ChangeStreamHistoryLost
)
_TIMESTAMP_TYPE = 0x82
"""First byte of a resume token, which is a key string: the type of what comes first."""


class ChangeStreamBatch(NamedTuple):
    """Events of a change stream, in the order of their cluster times."""

    events: list[Document]
    reached: Timestamp
    """All events before this cluster time have been reported, and perhaps some of it."""

    is_full: bool = False
    """True if there may be more events already."""
    is_split: bool = False
    """True if more events of that time may follow."""

    @property
    def complete_to(self) -> int:
        """The last cluster time of which all events have been reported, as a sortable integer."""
        return to_integer(self.reached) - self.is_split


def open_client(client: Client, wait_ms: int) -> BlockingClient:
    """Connect to the MongoDB of `client` once more, for `tail_changes` with this wait."""
    return connect_blocking(client, OPEN_SECONDS, wait_ms / 1000 + REPLY_SLACK_SECONDS)


@contextmanager
def tail_changes(
    client: BlockingClient,
    clock: ClusterClock,
    database: str,
    pipeline: Pipeline,
    wait_ms: int,
    start: Timestamp | None = None,
    **options: str,
) -> Iterator[Iterator[ChangeStreamBatch]]:
    """Open a change stream on a database and yield an iterator over its batches of events.

    A batch is empty if nothing changed for `wait_ms`; the first one comes at once. Errors end the
    stream and are raised, not resumed from, so that the caller knows that events may have been
    missed. `options` are those of MongoDB's `$changeStream`. The `pipeline` must keep the field
    `clusterTime` of events. Raises ChangesExpiredError.

    Every read that begins after the stream has opened sees all writes before the stream's start
    time, and one that begins after a batch sees what that reports: `clock` is advanced to these
    times. The stream reports all writes from `start` on, or all after a time that is chosen here.
    MongoDB's default is the time of the primary's newest write, which majority reads do not see
    until it has been replicated. After a failover that can take long, and such a write would
    neither be seen by a read nor be reported.
    """
    # Causal consistency would make the driver add the session's cluster time to each command.
    with client.start_session(causal_consistency=False) as session:
        try:
            now = read_committed_time(client, database, session)
            with explain_expiry():
                opened = client[database].command(
                    "aggregate",
                    1,
                    pipeline=[
                        {"$changeStream": {"startAtOperationTime": start or now, **options}},
                        *pipeline,
                    ],
                    cursor={"batchSize": 0},
                    # Makes the server reply only once its majority reads include the time, even if
                    # that time came from another member.
                    readConcern={"level": "majority", "afterClusterTime": now},
                    session=session,
                )
            clock.advance(now)
            yield _iter_batches(client, clock, database, session, opened["cursor"], wait_ms)
        finally:
            # MongoDB would keep the cursor for minutes, also one whose id was in a lost reply.
            with suppress(PyMongoError), pymongo.timeout(_KILL_SECONDS):
                client.admin.command("killSessions", [session.session_id])


def read_committed_time(
    client: BlockingClient, database: str, session: ClientSession | None = None
) -> Timestamp:
    """Return the newest majority-committed time: the operation time of a majority read.

    A member that has just started has none for a moment. Raises UnavailableError if that takes
    longer than OPEN_SECONDS.
    """
    end = time.monotonic() + OPEN_SECONDS
    while time.monotonic() < end:
        read = client[database].command("find", "any", limit=1, session=session, **_MAJORITY_READ)
        if isinstance(committed := read.get("operationTime"), Timestamp):
            return committed
        time.sleep(_START_POLL_SECONDS)
    raise UnavailableError("Nothing is committed by a majority yet", UnavailableCause.NO_MAJORITY)


def _iter_batches(
    client: BlockingClient,
    clock: ClusterClock,
    database: str,
    session: ClientSession,
    cursor: Document,
    wait_ms: int,
) -> Iterator[ChangeStreamBatch]:
    collection = cursor["ns"].partition(".")[2]
    is_sharded = client.topology_description.topology_type_name == "Sharded"
    next_wait_ms = 1  # nothing is known to be complete before the first batch
    while cursor["id"]:
        # Turns off the client's timeoutMS, which the driver would send as maxTimeMS.
        with pymongo.timeout(0), explain_expiry():
            reply = client[database].command(
                "getMore",
                cursor["id"],
                collection=collection,
                batchSize=MAX_BATCH_EVENTS,
                maxTimeMS=next_wait_ms,
                session=session,
            )
        next_wait_ms, cursor = wait_ms, reply["cursor"]
        if events := cursor["nextBatch"]:
            clock.advance(events[-1]["clusterTime"])
        is_full = len(events) >= MAX_BATCH_EVENTS
        reached = read_time(cursor["postBatchResumeToken"])
        # A replica set reports the events of a transaction together, if they fit. Shards do not.
        yield ChangeStreamBatch(events, reached, is_full, is_full or is_sharded)


async def read_changes(
    database: Database, clock: ClusterClock, pipeline: Pipeline, start: Timestamp, max_events: int
) -> ChangeStreamBatch:
    """Return the first events from a time on, all that there are now if they are fewer.

    It sees all writes up to the time of `clock`, which is advanced to that of the last event.
    Raises ChangesExpiredError.
    """
    async with open_plain_session(database.client) as session:
        with explain_expiry(), pymongo.timeout(MAX_READ_SECONDS):
            reply = await database.command(
                "aggregate",
                1,
                pipeline=[
                    {
                        "$changeStream": {
                            "startAtOperationTime": start,
                            "fullDocument": "updateLookup",
                        }
                    },
                    *pipeline,
                ],
                cursor={"batchSize": max_events},
                readConcern=_majority_read_of(clock),
                session=session,
            )
        cursor = reply["cursor"]
        if cursor["id"]:
            collection = cursor["ns"].partition(".")[2]
            await database.command(
                "killCursors", collection, cursors=[cursor["id"]], session=session
            )
        if events := cursor["firstBatch"]:
            clock.advance(events[-1]["clusterTime"])
        return ChangeStreamBatch(events, read_time(cursor["postBatchResumeToken"]))


async def read_newest_time(database: Database, clock: ClusterClock) -> Timestamp:
    """Return the cluster time up to which everything has a majority, and reads see it."""
    reply = await database.command("find", "any", limit=1, readConcern=_majority_read_of(clock))
    time: Timestamp = reply["operationTime"]
    clock.advance(time)
    return time


def _majority_read_of(clock: ClusterClock) -> Document:
    time = clock.now()
    return {"level": "majority"} | ({"afterClusterTime": time} if time else {})


def read_time(token: Document) -> Timestamp:
    """Return the cluster time of a resume token.

    >>> read_time({"_data": "826AB1"  "3B8000000003" "2B0429296E1404"})
    Timestamp(1790000000, 3)
    """
    data = bytes.fromhex(token["_data"])
    kind, seconds, increment = struct.unpack_from(">BII", data)
    if kind != _TIMESTAMP_TYPE:
        raise NotImplementedError(f"a resume token begins with {kind}, not with its cluster time")
    return Timestamp(seconds, increment)


@contextmanager
def explain_expiry() -> Iterator[None]:
    """Raise ChangesExpiredError where MongoDB says that its oplog begins later."""
    try:
        yield
    except OperationFailure as error:
        if error.code in _EXPIRED_CODES:
            raise ChangesExpiredError("MongoDB no longer has these changes") from error
        raise


# The threads that follow a stream, and begin anew when it ends.


RETRY_SECONDS = 0.2
MAX_RETRY_SECONDS = 3.2
STOP_SECONDS = 2.0
"""The longest to wait for the end of a thread that is stopping."""

_logger = logging.getLogger("floorgate.changes")


class StreamThread(threading.Thread):
    """A thread that follows a change stream, again and again, until it is stopped.

    It logs when the stream ends and when it goes on, not each try in between. Each try waits twice
    as long as the one before, but not when there is another primary.
    """

    def __init__(self, client: Client, name: str, follow: Callable[[], None]) -> None:
        """`follow` calls `note_begin`, and returns or raises when the stream has ended."""
        # A daemon: while MongoDB hangs, the thread may take longer to end than the process.
        super().__init__(name=name, daemon=True)
        self._listener = topology.of(client).listener
        self._follow = follow
        self.stopping = threading.Event()
        self.interruptions = Counter[str]()
        """Counts how often the stream has ended, by cause or name of the error."""
        self.cause: UnavailableCause | None = None
        """Why there is no stream now."""
        self._member = ""
        self._began_at = math.inf
        """When the stream began that is followed now; never if it has not."""
        self._ended_at: float | None = None

    def note_begin(self, client: BlockingClient) -> None:
        """Note that the stream has begun, on a member that this client is connected to."""
        self._began_at, self.cause = time.monotonic(), None
        self._member = ":".join(map(str, client.primary or ()))
        if self._ended_at is not None:
            self._log(
                logging.INFO,
                "the change stream goes on",
                seconds=round(self._began_at - self._ended_at, 1),
            )
            self._ended_at = None

    def run(self) -> None:
        """Follow the stream until `stopping` is set."""
        pause = RETRY_SECONDS / 2
        while not self.stopping.is_set():
            self._began_at = math.inf
            try:
                self._follow()
            except Exception as error:  # also of an event that cannot be decoded
                self._note_end(error)
            is_first = time.monotonic() - self._began_at > MAX_RETRY_SECONDS
            pause = RETRY_SECONDS if is_first else min(2 * pause, MAX_RETRY_SECONDS)
            self._wait(pause)

    def _note_end(self, error: Exception) -> None:
        if self.stopping.is_set():
            return
        self.cause = find_cause(error)
        if self._ended_at is None:
            self._ended_at = time.monotonic()
            code = describe_error(error)
            self.interruptions[code] += 1
            is_expected = isinstance(error, (PyMongoError, StorageError))
            self._log(
                logging.WARNING,
                "the change stream has ended",
                None if is_expected else error,
                errors=[code],
                reason=shorten(error),
            )

    def _log(self, level: int, message: str, error: Exception | None = None, **fields: Any) -> None:
        fields = {"thread": self.name, "member": self._member or None, **fields}
        _logger.log(level, message, exc_info=error, extra={"fields": fields})

    def _wait(self, seconds: float) -> None:
        """Wait, but no longer than until the primary is lost or found."""
        end, before = time.monotonic() + seconds, self._describe_primary()
        while time.monotonic() < end and self._describe_primary() == before:
            if self.stopping.wait(min(seconds, RETRY_SECONDS)):
                return

    def _describe_primary(self) -> tuple[Any, bool]:
        return self._listener.primary, self._listener.lost_at is None
