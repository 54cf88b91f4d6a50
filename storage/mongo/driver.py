"""The MongoDB driver, Motor or PyMongo's own asyncio client, behind one set of functions.

Both offer the same collections and cursors (`storage.mongo.protocols`). Where they differ in what
has to be awaited, the functions here hide it. Modules outside `storage.mongo` import the
driver only from here.
"""

import inspect
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, cast

import pymongo
from motor.motor_asyncio import AsyncIOMotorClient
from pymongo import AsyncMongoClient, DeleteMany, DeleteOne, IndexModel, MongoClient, UpdateOne
from pymongo.errors import (
    AutoReconnect,
    BulkWriteError,
    CollectionInvalid,
    ConnectionFailure,
    ExecutionTimeout,
    NetworkTimeout,
    OperationFailure,
    PyMongoError,
)

from storage.errors import UnavailableError
from storage.mongo.connection import DriverName
from storage.mongo.protocols import (
    Client,
    Collection,
    Cursor,
    Database,
    Pipeline,
    Session,
    WriteOperation,
)
from storage.records.kinds import Document

__all__ = [
    "BlockingClient",
    "Client",
    "Collection",
    "Cursor",
    "Database",
    "DeleteMany",
    "DeleteOne",
    "IndexModel",
    "PyMongoError",
    "Session",
    "TimeLimit",
    "UpdateOne",
    "WriteOperation",
    "aggregate_documents",
    "close",
    "connect",
    "connect_blocking",
    "create_collection",
    "end_time_limit",
    "find_documents",
    "insert_absent",
    "limit_time",
    "open_snapshot_session",
    "ping",
    "run_in_transaction",
    "start_time_limit",
    "translate_errors",
]

T = TypeVar("T")
BlockingClient: TypeAlias = MongoClient[Document]

_DUPLICATE_KEY_CODE = 11000
_NAMESPACE_EXISTS_CODE = 48
_TRANSACTION_RETRY_SECONDS = 120.0
"""How long both drivers run a transaction again, after the drivers' specification."""
TIMEOUT_SECONDS = 3.0
"""Timeout of one operation of the driver."""
_MAJORITY_READ = {"readConcern": {"level": "majority"}}
_time_limit: ContextVar["TimeLimit | None"] = ContextVar("time_limit", default=None)
_URL_ATTRIBUTE = "_floorgate_url"
UNREACHABLE_ERRORS = (ConnectionFailure, NetworkTimeout, ExecutionTimeout)


def connect(
    url: str, driver_name: DriverName = "motor", timeout_seconds: float = TIMEOUT_SECONDS
) -> Client:
    """Return a client with majority writes and reads, one retry and a timeout per operation.

    Options here override those in `url`. Reads go to the primary, because the change stream
    follows the primary and a secondary may return data from before a reported change.
    """
    drivers: dict[DriverName, Callable[..., Any]] = {
        "motor": AsyncIOMotorClient,
        "pymongo": AsyncMongoClient,
    }
    client = drivers[driver_name](url, **_client_options(timeout_seconds))
    setattr(client, _URL_ATTRIBUTE, url)  # for connect_blocking: clients do not tell theirs
    return cast(Client, client)


@contextmanager
def connect_blocking(
    client: Client, timeout_seconds: float, reply_seconds: float
) -> Iterator[BlockingClient]:
    """Connect to the MongoDB of `client` once more, for a thread that may block.

    Operations end after `timeout_seconds`, or with `pymongo.timeout(0)` when there is no reply for
    `reply_seconds`.
    """
    with MongoClient[Document](
        vars(client)[_URL_ATTRIBUTE],
        **_client_options(timeout_seconds),
        socketTimeoutMS=round(reply_seconds * 1000),
    ) as blocking:
        yield blocking


def _client_options(timeout_seconds: float) -> dict[str, Any]:
    return {
        "appname": "floorgate",
        "w": "majority",
        "readConcernLevel": "majority",
        "readPreference": "primary",
        "readPreferenceTags": "",
        "maxStalenessSeconds": -1,
        "retryWrites": True,
        "retryReads": True,
        "serverSelectionTimeoutMS": 2000,
        "timeoutMS": round(timeout_seconds * 1000),
    }


async def ping(client: Client, timeout_seconds: float) -> None:
    """Check that MongoDB answers within `timeout_seconds`. Raises UnavailableError."""
    with translate_errors(), pymongo.timeout(timeout_seconds):
        await client.admin.command("ping")


async def close(client: Client) -> None:
    """Close the connections of a client."""
    await _await_if_needed(client.close())


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
    # In a transaction, its first command sets the read concern of all.
    concern = {} if session else _MAJORITY_READ
    options = {"skip": skip, "limit": limit, "batchSize": limit, **order, **concern}
    command = {"find": collection, "filter": where, "projection": projection, **options}
    try:
        reply = await database.command(command, session=session)
    except AutoReconnect as error:
        if error.timeout or session:
            raise
    else:
        if not (cursor_id := reply["cursor"]["id"]):
            documents: list[Document] = reply["cursor"]["firstBatch"]
            return documents
        await database.command("killCursors", collection, cursors=[cursor_id], session=session)
    cursor = database[collection].find(
        where, projection, skip=skip, limit=limit, batch_size=limit, session=session
    )
    return await (cursor.sort([*sort.items()]) if sort else cursor).to_list(None)


async def aggregate_documents(
    collection: Collection, pipeline: Pipeline, **options: Any
) -> list[Document]:
    """Return all documents that an aggregation produces."""
    cursor = await _await_if_needed(collection.aggregate(pipeline, **options))
    return await cursor.to_list(None)


async def insert_absent(collection: Collection, documents: Sequence[Document]) -> list[Document]:
    """Insert documents, skipping those with a unique key that is taken; return the skipped."""
    try:
        await collection.insert_many(documents, ordered=False)
    except BulkWriteError as error:
        write_errors = error.details["writeErrors"] if error.details else []
        if not write_errors or any(e["code"] != _DUPLICATE_KEY_CODE for e in write_errors):
            raise
        return [write_error["op"] for write_error in write_errors]
    return []


async def create_collection(database: Database, name: str, validator: Document) -> None:
    """Create a collection, unless another process has just created it."""
    try:
        await database.create_collection(name, validator=validator)
    except CollectionInvalid:  # the driver looked and found it
        pass
    except OperationFailure as error:  # created between that look and the command
        if error.code != _NAMESPACE_EXISTS_CODE:
            raise


@dataclass(slots=True, eq=False)
class TimeLimit:
    """When commands have to end, by `time.monotonic`. Moving it counts for those after."""

    end: float


@contextmanager
def limit_time(seconds: float) -> Iterator[TimeLimit]:
    """Let no command inside, or in a task that is started inside, go on for longer.

    MongoDB itself ends a command at that time. Applies to commands inside `translate_errors`, and
    to transactions, which are then rolled back.
    """
    limit = TimeLimit(time.monotonic() + seconds)
    token = _time_limit.set(limit)
    try:
        yield limit
    finally:
        end_time_limit(token)


def start_time_limit(seconds: float) -> Token[TimeLimit | None]:
    """Begin what `limit_time` does, and return what ends it."""
    return _time_limit.set(TimeLimit(time.monotonic() + seconds))


def end_time_limit(token: Token[TimeLimit | None]) -> None:
    """End a limit that has begun in this task."""
    _time_limit.reset(token)


def _remaining_seconds() -> float | None:
    limit = _time_limit.get()
    if limit is None or limit.end == math.inf:
        return None
    return max(limit.end - time.monotonic(), 0.001)  # 0 would mean no limit to the driver


async def run_in_transaction(client: Client, work: Callable[[Session], Awaitable[T]]) -> T:
    """Run `work` in a transaction; run it again after an error that MongoDB calls transient."""
    remaining = _remaining_seconds()
    if remaining is None:
        return await _run_in_transaction(client, work)

    async def work_in_time(session: Session) -> T:
        if time.monotonic() >= deadline:
            raise UnavailableError("The transaction took too long")
        return await work(session)

    deadline = time.monotonic() + remaining
    with pymongo.timeout(remaining):
        return await _run_in_transaction(client, work_in_time)


async def _run_in_transaction(client: Client, work: Callable[[Session], Awaitable[T]]) -> T:
    started = time.monotonic()
    async with await _await_if_needed(client.start_session()) as session:
        while True:
            try:
                return await session.with_transaction(work)
            except PyMongoError as error:
                # Motor commits where its own loop does not catch the error.
                is_transient = error.has_error_label("TransientTransactionError")
                if not is_transient or time.monotonic() - started > _TRANSACTION_RETRY_SECONDS:
                    raise


@asynccontextmanager
async def open_snapshot_session(client: Client) -> AsyncIterator[Session]:
    """Open a session in which all reads see the database as of the first read."""
    async with await _await_if_needed(client.start_session(snapshot=True)) as session:
        yield session


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise UnavailableError for driver errors that mean that MongoDB cannot be reached.

    Commands inside end at the time that `limit_time` has set, if that is before the client's own
    timeout.
    """
    remaining = _remaining_seconds()
    try:
        if remaining is None or remaining >= TIMEOUT_SECONDS:
            yield
        else:
            with pymongo.timeout(remaining):
                yield
    except PyMongoError as error:
        if error.timeout or isinstance(error, UNREACHABLE_ERRORS):
            raise UnavailableError("MongoDB cannot be reached") from error
        raise


async def _await_if_needed(value: T | Awaitable[T]) -> T:
    return await value if inspect.isawaitable(value) else value
