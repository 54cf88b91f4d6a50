"""Reads outside transactions: of one snapshot for each operation, and never back in time.

The first read of an operation takes a snapshot of what a majority of the members has, at least up
to the time of the gateway's `ClusterClock`; its other reads see the same. So any member may answer,
and while there is no primary, a secondary does. See docs/decisions/storage/consistent-reads.md.
"""

import asyncio
import math
import struct
import time
from collections.abc import Mapping
from contextvars import Context
from typing import Any

import bson
from bson import Timestamp
from pymongo import _csot
from pymongo.asynchronous.pool import Pool
from pymongo.client_options import ClientOptions
from pymongo.errors import AutoReconnect, NetworkTimeout, OperationFailure, PyMongoError
from pymongo.helpers_shared import _RETRYABLE_ERROR_CODES, _check_command_response
from pymongo.read_concern import ReadConcern

from storage.errors import UnavailableCause, UnavailableError
from storage.mongo import topology
from storage.mongo.protocols import Collection, Cursor, Database, DatabaseFront, Pipeline, Session
from storage.mongo.spans import Command, Span, describe_error, format_server
from storage.mongo.unavailable import TIMEOUT_SECONDS, get_operation
from storage.records.kinds import Document

NO_LIMIT = 2**31 - 1
_READ_AGAIN_SECONDS = 0.02
_CLOCK_AHEAD_CODE = 72
"""InvalidOptions: the member's clock has not reached the time that the read demands."""
_ANOTHER_TIME_CODES = (
    _CLOCK_AHEAD_CODE,
    239,  # SnapshotTooOld: servers keep snapshots for 5 minutes, or for a time that is configured
    246,  # SnapshotUnavailable: the collection has just been created, replaced or indexed
)


class _SnapshotConcern(ReadConcern):
    """A read concern of MongoDB that PyMongo has no class for."""

    def __init__(self, document: Document) -> None:
        super().__init__("snapshot")
        self._document = document

    @property
    def document(self) -> Document:
        return dict(self._document)


async def find_documents(
    database: Database,
    collection: str,
    where: Mapping[str, Any],
    projection: Mapping[str, Any],
    *,
    limit: int,
    skip: int = 0,
    sort: Mapping[str, Any] | None = None,
    session: Session | None = None,
) -> list[Document]:
    """Return up to `limit` matching documents with one `find` command, in a transaction or not.

    For short lists a driver cursor costs more than the query, so this sends the command itself.
    It falls back to a cursor when the result exceeds one reply (16 MB).
    """
    limit = max(limit, 1)  # 0 means no limit to MongoDB
    command: Document = {
        "find": collection,
        "filter": where,
        "projection": projection,
        "skip": skip,
        "limit": limit,
        "batchSize": limit,
    }
    if sort:
        command["sort"] = sort
    cursor = (await _read(database, command, session))["cursor"]
    if not cursor["id"]:
        documents: list[Document] = cursor["firstBatch"]
        return documents
    await _kill_cursor(database, collection, cursor, session)
    found = (await _open(database, collection, session)).find(
        where, projection, skip=skip, limit=limit, session=session
    )
    return await read_all(found.sort([*sort.items()]) if sort else found)


async def aggregate_documents(
    database: Database, collection: str, pipeline: Pipeline, session: Session | None = None
) -> list[Document]:
    """Return all documents that an aggregation produces, as `find_documents` does."""
    options = {"pipeline": pipeline, "cursor": {"batchSize": NO_LIMIT}}
    command = {"aggregate": collection, **options}
    cursor = (await _read(database, command, session))["cursor"]
    if not cursor["id"]:
        documents: list[Document] = cursor["firstBatch"]
        return documents
    await _kill_cursor(database, collection, cursor, session)
    opened = await _open(database, collection, session)
    found: Any = opened.aggregate(pipeline, session=session)
    return await read_all(found if hasattr(found, "to_list") else await found)


async def read_all(cursor: Cursor) -> list[Document]:
    """Return all documents of a cursor, with one command up to 16 MB.

    MongoDB's first reply would have 101 documents, and keep the cursor open for ten minutes if that
    reply or a later one is lost.
    """
    return await cursor.batch_size(NO_LIMIT).to_list(None)


async def _kill_cursor(
    database: Database, collection: str, cursor: Document, session: Session | None
) -> None:
    """End a cursor of which only the first reply was read."""
    members = None if session else topology.of(database.client).choose_members()
    kill = {"killCursors": collection, "cursors": [cursor["id"]]}
    await database.command(kill, session=session, read_preference=members)


async def _read(database: Database, command: Document, session: Session | None) -> Document:
    """Return the reply to a read in a transaction, or at the operation's snapshot.

    The first read takes the snapshot.
    """
    if session is not None:  # the first command of a transaction set the read concern of all
        return await database.command(command, session=session)
    operation = get_operation()
    if operation is None:
        reply, _ = await _send(database, command, None)
        return reply
    while (snapshot_time := operation.get_snapshot_time()) is None:
        if operation.first_read is None:
            operation.first_read = asyncio.get_running_loop().create_future()
            operation.snapshot_taken = time.monotonic()
            operation.client = database.client
            operation.began_reading = min(operation.began_reading, operation.snapshot_taken)
            try:
                reply, operation.snapshot_time = await _send(database, command, None)
                return reply
            finally:
                operation.first_read.set_result(None)
                operation.first_read = None
        await asyncio.wait([operation.first_read])
    reply, shown = await _send(database, command, snapshot_time)
    if shown is not None:
        operation.snapshot_time = shown  # another one if the collection has been replaced
    return reply


async def _send(
    database: Database, command: Document, snapshot_time: Timestamp | None
) -> tuple[Document, Timestamp | None]:
    """Return the reply to a read at this time, or else now, and the time that it shows.

    That is None for a collection that does not exist.
    """
    deployment = topology.of(database.client)
    listener, clock = deployment.listener, deployment.clock
    read = None if isinstance(database, DatabaseFront) else deployment.read
    deadline = time.monotonic() + TIMEOUT_SECONDS
    was_lost = False
    while True:
        primary, safe_time = listener.primary, None
        if listener.lost_at is not None:
            deployment.choose_members()  # raises UnavailableError if it was lost too long ago
            safe_time = listener.get_safe_time()
            if snapshot_time is None and safe_time is None:
                with Span("wait primary"):
                    await deployment.wait_until_readable(deadline)
                continue
        is_local = safe_time is not None and snapshot_time in (None, safe_time)
        concern = _build_concern(clock.now(), snapshot_time, is_local=is_local)
        demand = {**command, "readConcern": concern}
        try:
            reply = None if read is None or is_local else await read(database.name, demand)
            if reply is None:
                members = deployment.choose_members()
                reply = await database.command(demand, read_preference=members)
        except AutoReconnect as error:
            if error.timeout or was_lost:
                raise
            was_lost = True
            deployment.retries[describe_error(error)] += 1
            continue
        except OperationFailure as error:
            if error.code not in _ANOTHER_TIME_CODES:
                raise
            if time.monotonic() > deadline:
                if error.code == _CLOCK_AHEAD_CODE and listener.lost_at is None:
                    # Not of this database: it was put back to an earlier state, or replaced.
                    clock.restart()
                message = "MongoDB has not reached the time of the read"
                raise UnavailableError(message, UnavailableCause.REPLICATION_LAG) from error
            snapshot_time = None
            deployment.retries[describe_error(error)] += 1
        else:
            shown = reply["operationTime"] if is_local else reply["cursor"].get("atClusterTime")
            if is_local:
                is_valid = shown == safe_time
            else:
                # Without a given time, it may have waited for a primary with a later one.
                is_valid = snapshot_time is not None or listener.primary == primary
            if is_valid:
                clock.advance(shown)
                return reply, shown
            if time.monotonic() > deadline:
                raise UnavailableError(
                    "No member has what a majority has", UnavailableCause.REPLICATION_LAG
                )
        await asyncio.sleep(_READ_AGAIN_SECONDS)


async def _open(database: Database, collection: str, session: Session | None) -> Collection:
    """Return the collection for a cursor, which reads in the transaction or at the snapshot."""
    if session is not None:
        return database[collection]
    deployment = topology.of(database.client)
    members = deployment.choose_members()
    operation = get_operation()
    snapshot_time = None if operation is None else operation.get_snapshot_time()
    clock = deployment.clock.now()
    concern = _SnapshotConcern(_build_concern(clock, snapshot_time, is_local=False))
    return database[collection].with_options(read_concern=concern, read_preference=members)


def _build_concern(
    clock: Timestamp | None, snapshot_time: Timestamp | None, *, is_local: bool
) -> Document:
    if snapshot_time is not None and not is_local:
        return {"level": "snapshot", "atClusterTime": snapshot_time}
    after = {} if clock is None else {"afterClusterTime": clock}
    return {"level": "local" if is_local else "snapshot", **after}


# Connections of the event loop to the primary, for reads outside transactions.
#
# Motor runs each command in a thread. Two threads that take turns at one interpreter cost more than
# the command itself, and the more so the busier the machine is. Here the event loop sends a command
# and receives its reply. Only the usual case is handled: everything else is left to the driver. See
# docs/decisions/storage/read-connections.md.


MAX_READ_CONNECTIONS = 100
"""The pool of the driver has as many, unless `maxPoolSize` of the URL allows fewer."""
_CODES_FOR_DRIVER = {
    *_RETRYABLE_ERROR_CODES,
    72,  # InvalidOptions: behind the clock, for which only the driver's choice of a member counts
}
_MAX_CONNECTING = 2
_RECONNECT_SECONDS = 1.0
_GRACE_SECONDS = 0.5
"""MongoDB has this long to say that it has ended a command in time, before the connection counts as
lost."""
_MAX_MESSAGE_BYTES = 16 << 20
_OP_MSG = 2013
_HEADER = struct.Struct("<iiiiIB")
"""Length, request id, response to, opcode, flags, and that one document follows."""
_LENGTH = struct.Struct("<i")
_CURSOR = b"\x03cursor\0"
_CURSOR_START = _HEADER.size + _LENGTH.size + len(_CURSOR)
_OK = b"\x01ok\0" + struct.pack("<d", 1)
"""The beginnings of the first two members of a reply to a read that has succeeded."""


class ReadConnections:
    """Connections to the primary that the driver knows; made when reads need more of them."""

    def __init__(self, options: ClientOptions, deployment: topology.Deployment) -> None:
        self._options = options
        self._timeout = options.timeout
        """The limit on a command in seconds, where `pymongo.timeout` has none; None for none."""
        self._listener = deployment.listener
        self._observe = deployment.observe
        self._loop = asyncio.get_running_loop()
        self._primary: Any = None
        """The primary that all connections are to."""
        self._server = ""
        self._connections: set[_ReadConnection] = set()
        self._idle: list[_ReadConnection] = []
        """The idle connections; the one that was in use last comes last."""
        self._connecting: set[asyncio.Task[None]] = set()
        self._retry_at = 0.0
        self._max_connections = min(
            options.pool_options.max_pool_size or MAX_READ_CONNECTIONS, MAX_READ_CONNECTIONS
        )
        self._max_idle_seconds = options.pool_options.max_idle_time_seconds
        """`maxIdleTimeMS` of the URL in seconds; None for ever."""

    async def run(self, database: str, command: Mapping[str, Any]) -> Document | None:
        """Return the reply to a read, or None if it is for the driver to send.

        Raises PyMongoError, as the driver would.
        """
        remaining = _csot.remaining()
        seconds = self._timeout if remaining is None else remaining
        if seconds is None or seconds <= 0 or not self._has_idle():
            return None
        limit_ms = math.ceil(seconds * 1000)
        content = bson.encode({**command, "maxTimeMS": limit_ms, "$db": database})
        if len(content) > _MAX_MESSAGE_BYTES:
            return None
        (name, collection), *_ = command.items()
        sent = Command(
            f"{name} {collection}",
            command=name,
            collection=collection,
            server=self._server,
            read=command,
        )
        try:
            reply = _decode_reply(await self._idle.pop().send(content, seconds))
            if "cursor" in reply:
                sent.returned = len(reply["cursor"]["firstBatch"])
            return reply
        except BaseException as error:
            sent.code = describe_error(error)
            if _is_for_driver(error):
                return None
            raise
        finally:
            sent.seconds = time.perf_counter() - sent.started
            sent.root.spans.append(sent)
            self._observe(sent)

    def count(self) -> tuple[int, int]:
        """Return how many connections are in use, and how many are idle."""
        idle = len(self._idle)
        return max(0, len(self._connections) - idle), idle

    def lose_primary(self) -> None:
        """Close all connections: the reads under way are left to the driver. Thread-safe."""
        self._loop.call_soon_threadsafe(self._close_connections)

    async def close(self) -> None:
        for task in self._connecting:
            task.cancel()
        await asyncio.gather(*self._connecting, return_exceptions=True)
        self._close_connections()

    def _has_idle(self) -> bool:
        """Return whether a connection is idle; if not, begin to make one for later reads."""
        primary = self._listener.primary
        if primary is not self._primary:
            self._close_connections()
            self._primary = primary
            self._server = "" if primary is None else format_server(primary[0])
        if primary is None or self._listener.lost_at is not None:
            return False
        if self._max_idle_seconds is not None:
            earliest = self._loop.time() - self._max_idle_seconds
            while self._idle and self._idle[0].idle_since < earliest:
                self._idle.pop(0).close()
        if self._idle:
            return True
        count = len(self._connections) + len(self._connecting)
        if (
            count < self._max_connections
            and len(self._connecting) < _MAX_CONNECTING
            and self._loop.time() >= self._retry_at
        ):
            # In a context of its own: the connection outlives the request.
            task = self._loop.create_task(self._connect(primary), context=Context())
            self._connecting.add(task)
            task.add_done_callback(self._connecting.discard)
        return False

    async def _connect(self, primary: Any) -> None:
        """Let PyMongo connect and authenticate, and take over the transport."""
        try:
            async with asyncio.timeout(self._options.pool_options.connect_timeout):
                made = await Pool(primary[0], self._options.pool_options).connect()
        except Exception:  # the driver meets it too, and says what is wrong
            self._retry_at = self._loop.time() + _RECONNECT_SECONDS
            return
        transport = made.conn.conn[0]
        if primary is not self._primary or transport.is_closing():
            transport.abort()
            return
        connection = _ReadConnection(transport, self._idle, self._connections)
        transport.set_protocol(connection)
        transport.resume_reading()

    def _close_connections(self) -> None:
        self._idle.clear()
        for connection in self._connections:
            connection.close()


def _is_for_driver(error: BaseException) -> bool:
    """Return whether the driver can send a read again that has failed so."""
    if isinstance(error, OperationFailure):
        return error.code in _CODES_FOR_DRIVER or error.has_error_label("RetryableError")
    return isinstance(error, AutoReconnect) and not isinstance(error, NetworkTimeout)


def _decode_reply(message: bytearray) -> Document:
    """Return the reply to a read in a message of MongoDB. Raises OperationFailure.

    Of one that has succeeded it is the cursor alone: PyMongo would make objects in Python of the
    times that follow.
    """
    if message.startswith(_CURSOR, _CURSOR_START - len(_CURSOR)):
        (length,) = _LENGTH.unpack_from(message, _CURSOR_START)
        end = _CURSOR_START + length
        if message.startswith(_OK, end):
            return {"cursor": bson.decode(memoryview(message)[_CURSOR_START:end]), "ok": 1.0}
    reply = bson.decode(memoryview(message)[_HEADER.size :])
    _check_command_response(reply, None)
    return reply


class _ReadConnection(asyncio.Protocol):
    """A connection, which carries one command at a time."""

    def __init__(
        self,
        transport: asyncio.Transport,
        idle: "list[_ReadConnection]",
        connections: "set[_ReadConnection]",
    ) -> None:
        self._transport = transport
        self._idle = idle
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        self._received = bytearray()
        self._reply: asyncio.Future[bytearray] | None = None
        self._timer: asyncio.TimerHandle
        """The timer of the reply that is waited for."""
        connections.add(self)
        self._become_idle()

    def _become_idle(self) -> None:
        self.idle_since = self._loop.time()
        self._idle.append(self)

    def send(self, content: bytes, seconds: float) -> asyncio.Future[bytearray]:
        """Send a command, and return its reply; the connection is idle again when that is here.

        MongoDB ends the command after `seconds`. The reply is NetworkTimeout if it does not, and
        AutoReconnect if the connection is lost.
        """
        self._timer = self._loop.call_later(seconds + _GRACE_SECONDS, self._expire)
        self._reply = self._loop.create_future()
        header = _HEADER.pack(_HEADER.size + len(content), 0, 0, _OP_MSG, 0, 0)
        self._transport.write(header + content)
        return self._reply

    def close(self) -> None:
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        received = self._received
        received += data
        size = len(received)
        if size < _HEADER.size:
            return
        length, _, _, opcode, _, kind = _HEADER.unpack_from(received)
        if size < length:
            return
        if self._reply is None or size != length or opcode != _OP_MSG or kind:
            self.close()  # not what was asked for
            return
        self._received = bytearray()
        self._end(received)
        if not self._transport.is_closing():
            self._become_idle()

    def connection_lost(self, error: Exception | None) -> None:
        self._connections.discard(self)
        if self in self._idle:
            self._idle.remove(self)
        self._end(AutoReconnect("connection closed"))

    def _expire(self) -> None:
        self._end(NetworkTimeout("timed out"))
        self.close()

    def _end(self, outcome: bytearray | PyMongoError) -> None:
        reply, self._reply = self._reply, None
        if reply is None:
            return
        self._timer.cancel()
        if reply.done():  # who waited for it is gone
            return
        if isinstance(outcome, bytearray):
            reply.set_result(outcome)
        else:
            reply.set_exception(outcome)
