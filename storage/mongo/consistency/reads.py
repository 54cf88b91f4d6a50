"""Reads outside transactions: of one snapshot for each operation, and never back in time.

The first read of an operation takes a snapshot of what a majority of the members has, at least up
to the time of the gateway's `ClusterClock`; its other reads see the same. So any member may answer,
and while there is no primary, a secondary does. See docs/decisions/storage/consistent-reads.md.
"""

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from bson import Timestamp
from pymongo.errors import AutoReconnect, OperationFailure
from pymongo.read_concern import ReadConcern

from storage.errors import Cause, UnavailableError
from storage.mongo.consistency import topology
from storage.mongo.consistency.operations import get_operation
from storage.mongo.prefixed_database import PrefixedDatabase
from storage.mongo.protocols import Collection, Database, Pipeline, Session
from storage.mongo.recorded_database import RecordedDatabase
from storage.mongo.unavailable import TIMEOUT_SECONDS
from storage.records.kinds import Document

NO_LIMIT = 2**31 - 1
_RETRY_SECONDS = 0.02
_WRAPPERS = (PrefixedDatabase, RecordedDatabase)
"""Databases with a `command` of their own."""
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
    order = {"sort": sort} if sort else {}
    options = {"skip": skip, "limit": limit, "batchSize": limit, **order}
    command = {"find": collection, "filter": where, "projection": projection, **options}
    if (documents := await _read_whole(database, collection, command, session)) is not None:
        return documents
    cursor = (await _open(database, collection, session)).find(
        where, projection, skip=skip, limit=limit, batch_size=limit, session=session
    )
    return await (cursor.sort([*sort.items()]) if sort else cursor).to_list(None)


async def aggregate_documents(
    database: Database, collection: str, pipeline: Pipeline, session: Session | None = None
) -> list[Document]:
    """Return all documents that an aggregation produces, as `find_documents` does."""
    options = {"pipeline": pipeline, "cursor": {"batchSize": NO_LIMIT}}
    command = {"aggregate": collection, **options}
    if (documents := await _read_whole(database, collection, command, session)) is not None:
        return documents
    opened = await _open(database, collection, session)
    cursor = opened.aggregate(pipeline, session=session)
    return await (cursor if hasattr(cursor, "to_list") else await cursor).to_list(None)


async def _read_whole(
    database: Database, collection: str, command: Document, session: Session | None
) -> list[Document] | None:
    """Return all that a command finds; None if that takes more than one reply."""
    if session is None:
        reply = await _read(database, command)
    else:  # in a transaction, its first command sets the read concern of all
        reply = await database.command(command, session=session)
    if cursor_id := reply["cursor"]["id"]:
        members = None if session else topology.of(database.client).choose_members()
        kill = {"killCursors": collection, "cursors": [cursor_id]}
        await database.command(kill, session=session, read_preference=members)
        return None
    documents: list[Document] = reply["cursor"]["firstBatch"]
    return documents


async def _read(database: Database, command: Document) -> Document:
    """Return the reply to a `find` at the operation's snapshot; the first one takes it."""
    operation = get_operation()
    if operation is None:
        reply, _ = await _send(database, command, None)
        return reply
    while (snapshot_time := operation.get_snapshot_time()) is None:
        if operation.first_read is None:
            operation.first_read = asyncio.Event()
            operation.snapshot_taken = time.monotonic()
            operation.began_reading = min(operation.began_reading, operation.snapshot_taken)
            try:
                reply, operation.snapshot_time = await _send(database, command, None)
                return reply
            finally:
                operation.first_read.set()
                operation.first_read = None
        await operation.first_read.wait()
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
    read = None if isinstance(database, _WRAPPERS) else deployment.read
    deadline = time.monotonic() + TIMEOUT_SECONDS
    was_lost = False
    while True:
        primary = deployment.listener.primary
        members = deployment.choose_members()
        safe_time = deployment.listener.get_safe_time()
        if snapshot_time is None and not deployment.is_readable():
            if time.monotonic() > deadline:
                raise UnavailableError("MongoDB has no majority", Cause.NO_MAJORITY)
            await asyncio.sleep(_RETRY_SECONDS)
            continue
        clock = deployment.clock.now()
        is_local = safe_time is not None and snapshot_time in (None, safe_time)
        concern = _build_concern(clock, snapshot_time, is_local=is_local)
        try:
            demand = {**command, "readConcern": concern}
            reply = None if read is None else await read(database.name, demand)
            if reply is None:
                reply = await database.command(demand, read_preference=members)
        except AutoReconnect as error:
            if error.timeout or was_lost:
                raise
            was_lost = True
            continue
        except OperationFailure as error:
            if error.code not in _ANOTHER_TIME_CODES:
                raise
            if time.monotonic() > deadline:
                if error.code == _CLOCK_AHEAD_CODE and deployment.listener.lost_at is None:
                    # Not of this database: it was put back to an earlier state, or replaced.
                    deployment.clock.restart()
                message = "MongoDB has not reached the time of the read"
                raise UnavailableError(message, Cause.LAG) from error
            snapshot_time = None
        else:
            shown = reply["operationTime"] if is_local else reply["cursor"].get("atClusterTime")
            if is_local:
                is_valid = shown == safe_time
            else:
                # Without a given time, it may have waited for a primary with a later one.
                is_valid = snapshot_time is not None or deployment.listener.primary == primary
            if is_valid:
                deployment.clock.advance(shown)
                return reply, shown
            if time.monotonic() > deadline:
                raise UnavailableError("No member has what a majority has", Cause.LAG)
        await asyncio.sleep(_RETRY_SECONDS)


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
