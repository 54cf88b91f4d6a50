"""Whole collections as BSON, without decoding it: for backups."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

import bson
from bson.errors import BSONError
from bson.raw_bson import RawBSONDocument
from pymongo.errors import BulkWriteError, OperationFailure

from storage.errors import BackupError
from storage.mongo.driver import Collection, Database, Session
from storage.records.kinds import Document

_QUERY_DOCUMENTS = 2_000
_MIN_DOCUMENT_BYTES = 5
_LENGTH_BYTES = 4
_SNAPSHOT_TOO_OLD_CODE = 239
_SNAPSHOT_UNAVAILABLE_CODE = 246
_NAMESPACE_NOT_FOUND_CODE = 26


class RawBatch(NamedTuple):
    """Some documents of a collection, one after another, as MongoDB has sent them."""

    documents: int
    content: bytes


class SnapshotLostError(BackupError):
    """MongoDB can no longer read the snapshot of a session."""


async def iter_raw_batches(
    collection: Collection, batch_bytes: int, session: Session | None = None
) -> AsyncIterator[RawBatch]:
    """Yield all documents of a collection, sorted by `_id`, in batches of at least `batch_bytes`.

    A batch has at most one reply of MongoDB more (16 MB); the last may be smaller. Raises
    SnapshotLostError.
    """
    batch, count = bytearray(), 0
    last_key = None
    while True:
        # Each query ends within the client's time limit, whatever the size of the collection.
        where: Document = {} if last_key is None else {"_id": {"$gt": last_key}}
        cursor: Any = collection.find_raw_batches(  # the type of its replies is wrong in PyMongo
            where, sort=[("_id", 1)], limit=_QUERY_DOCUMENTS, session=session
        )
        in_query = 0
        with _explain_lost_snapshots():
            async for reply in cursor:
                starts = _find_starts(reply)
                if not starts:
                    continue
                last_key = RawBSONDocument(bytes(reply[starts[-1] :]))["_id"]
                batch += reply
                count += len(starts)
                in_query += len(starts)
                if len(batch) >= batch_bytes:
                    yield RawBatch(count, bytes(batch))
                    batch, count = bytearray(), 0
        if in_query < _QUERY_DOCUMENTS:
            break
    if count:
        yield RawBatch(count, bytes(batch))


async def find_in_snapshot(collection: Collection, key: str, session: Session) -> Document | None:
    """Return a document as of the snapshot of a session. Raises SnapshotLostError."""
    with _explain_lost_snapshots():
        return await collection.find_one({"_id": key}, session=session)


def count_documents(content: bytes) -> int:
    """Return the number of documents in BSON. Raises ValueError if one cannot be decoded."""
    starts = _find_starts(content)
    for start, end in pairwise([*starts, len(content)]):
        try:
            bson.decode(content[start:end])
        except (BSONError, RecursionError) as error:
            raise ValueError(str(error)) from error
    return len(starts)


def split_documents(content: bytes) -> list[RawBSONDocument]:
    """Return the documents in BSON that `count_documents` accepts."""
    starts = _find_starts(content)
    return [RawBSONDocument(content[start:end]) for start, end in pairwise([*starts, len(content)])]


def decode_documents(content: bytes) -> list[Document]:
    """Return the values of the documents in BSON that `count_documents` accepts."""
    documents: list[Document] = bson.decode_all(content)
    return documents


async def insert_raw(collection: Collection, documents: Sequence[RawBSONDocument]) -> None:
    """Insert documents as they are, also those that the collection's validator would reject.

    Raises BackupError if a unique key is there twice.
    """
    try:
        await collection.insert_many(documents, ordered=False, bypass_document_validation=True)
    except BulkWriteError as error:
        first = (error.details or {}).get("writeErrors", [{}])[0]
        raise BackupError(
            f"MongoDB rejects a document of the archive: {first.get('errmsg', error)}"
        ) from error


async def rename_collection(database: Database, name: str, new_name: str) -> None:
    """Rename a collection, which replaces the one of the new name in the same instant.

    A collection that does not exist has been renamed already, by a command whose reply was lost.
    """
    try:
        await database.client.admin.command(
            {
                "renameCollection": f"{database.name}.{name}",
                "to": f"{database.name}.{new_name}",
                "dropTarget": True,
                "writeConcern": {"w": "majority"},
            }
        )
    except OperationFailure as error:
        if error.code != _NAMESPACE_NOT_FOUND_CODE:
            raise


async def get_free_bytes(database: Database) -> int | None:
    """Return the room on the disk of MongoDB, or None if it does not tell."""
    try:
        stats = await database.command("dbStats", freeStorage=0)
    except OperationFailure:  # this user may not ask
        return None
    if "fsTotalSize" not in stats:
        return None
    return int(stats["fsTotalSize"] - stats["fsUsedSize"])


@contextmanager
def _explain_lost_snapshots() -> Iterator[None]:
    try:
        yield
    except OperationFailure as error:
        if error.code == _SNAPSHOT_TOO_OLD_CODE:
            raise SnapshotLostError(
                "MongoDB no longer has the state of when the backup began: write the archive to a"
                " faster disk, or let MongoDB keep more with its parameter"
                " minSnapshotHistoryWindowInSeconds (300 by default)"
            ) from error
        if error.code == _SNAPSHOT_UNAVAILABLE_CODE:
            raise SnapshotLostError(
                "collections were created or replaced while the backup ran: try again"
            ) from error
        raise


def _find_starts(content: bytes) -> list[int]:
    """Return where each document in BSON starts; each begins with its length.

    Raises ValueError for a length that no document has.
    """
    starts = []
    position = 0
    while position < len(content):
        starts.append(position)
        length = int.from_bytes(content[position : position + _LENGTH_BYTES], "little")
        if length < _MIN_DOCUMENT_BYTES:
            raise ValueError(f"a document of {length} bytes")
        position += length
    return starts
