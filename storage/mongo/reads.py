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

from storage.mongo import topology
from storage.mongo.operations import Operation, get_operation
from storage.mongo.protocols import Collection, Database, Pipeline, Session
from storage.mongo.unavailable import TIMEOUT_SECONDS
from storage.records.kinds import Document

NO_LIMIT = 2**31 - 1
_RETRY_SECONDS = 0.02
_NOT_YET_CODES = (
    72,  # InvalidOptions: the member's clock has not reached the time that the read demands
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
    It falls back to a cursor to retry after a lost connection and when the result exceeds one
    reply (16 MB).
    """
    limit = max(limit, 1)  # 0 means no limit to MongoDB
    order = {"sort": sort} if sort else {}
    options = {"skip": skip, "limit": limit, "batchSize": limit, **order}
    command = {"find": collection, "filter": where, "projection": projection, **options}
    try:
        if session is None:
            reply = await _read(database, command)
        else:  # in a transaction, its first command sets the read concern of all
            reply = await database.command(command, session=session)
    except AutoReconnect as error:
        if error.timeout or session:
            raise
    else:
        if not (cursor_id := reply["cursor"]["id"]):
            documents: list[Document] = reply["cursor"]["firstBatch"]
            return documents
        await database.command("killCursors", collection, cursors=[cursor_id], session=session)
    found = database[collection]
    if session is None:
        found = await _at_snapshot(database, collection)
    cursor = found.find(
        where, projection, skip=skip, limit=limit, batch_size=limit, session=session
    )
    return await (cursor.sort([*sort.items()]) if sort else cursor).to_list(None)


async def aggregate_documents(
    database: Database,
    collection: str,
    pipeline: Pipeline,
    session: Session | None = None,
    **options: Any,
) -> list[Document]:
    """Return all documents that an aggregation produces, in a transaction or not."""
    read = database[collection] if session else await _at_snapshot(database, collection)
    cursor = read.aggregate(pipeline, session=session, **options)
    return await (cursor if hasattr(cursor, "to_list") else await cursor).to_list(None)


async def _read(database: Database, command: Document) -> Document:
    """Return the reply to a `find` at the operation's snapshot; the first one takes it."""
    operation = get_operation()
    if operation is None:
        return await _send(database, command, None)
    while (snapshot_time := operation.get_snapshot_time()) is None:
        if operation.first_read is None:
            return await _read_first(database, command, operation)
        await operation.first_read.wait()
    return await _send(database, command, snapshot_time)


async def _read_first(database: Database, command: Document, operation: Operation) -> Document:
    operation.first_read = asyncio.Event()
    started = time.monotonic()
    try:
        reply = await _send(database, command, None)
        operation.snapshot_taken = started
        # MongoDB names none for a collection that does not exist.
        operation.snapshot_time = reply["cursor"].get("atClusterTime")
        return reply
    finally:
        operation.first_read.set()
        operation.first_read = None


async def _send(database: Database, command: Document, snapshot_time: Timestamp | None) -> Document:
    deployment = topology.of(database.client)
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while True:
        members = deployment.choose_members()
        concern = _build_concern(deployment.clock.now(), snapshot_time)
        try:
            reply = await database.command(
                {**command, "readConcern": concern}, read_preference=members
            )
        except OperationFailure as error:
            if error.code not in _NOT_YET_CODES or time.monotonic() > deadline:
                raise
            snapshot_time = None
            await asyncio.sleep(_RETRY_SECONDS)
        else:
            deployment.clock.advance(reply["cursor"].get("atClusterTime"))
            return reply


async def _at_snapshot(database: Database, collection: str) -> Collection:
    """Return the collection with reads at the operation's snapshot, for the driver's cursors."""
    deployment = topology.of(database.client)
    members = deployment.choose_members()
    operation = get_operation()
    snapshot_time = None
    if operation is not None:
        if operation.get_snapshot_time() is None:
            any_document = {"find": collection, "projection": {"_id": 1}, "limit": 1}
            await _read(database, any_document)
        snapshot_time = operation.get_snapshot_time()
    concern = _SnapshotConcern(_build_concern(deployment.clock.now(), snapshot_time))
    return database[collection].with_options(read_concern=concern, read_preference=members)


def _build_concern(clock: Timestamp | None, snapshot_time: Timestamp | None) -> Document:
    if snapshot_time is not None:
        return {"level": "snapshot", "atClusterTime": snapshot_time}
    if clock is not None:
        return {"level": "snapshot", "afterClusterTime": clock}
    return {"level": "snapshot"}
