"""The MongoDB driver, Motor or PyMongo's own asyncio client, behind one set of functions.

Both offer the same collections and cursors (`storage.mongo.protocols`). Where they differ in what
has to be awaited, the functions here hide it. Modules outside `storage.mongo` import the
driver only from here.
"""

import asyncio
import inspect
import os
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, TypeAlias, TypeVar

import pymongo
from bson import Timestamp as Timestamp
from pymongo import AsyncMongoClient, MongoClient
from pymongo import DeleteMany as DeleteMany
from pymongo import DeleteOne as DeleteOne
from pymongo import IndexModel as IndexModel
from pymongo import UpdateOne as UpdateOne
from pymongo.errors import BulkWriteError, CollectionInvalid, ConfigurationError, DuplicateKeyError
from pymongo.errors import OperationFailure as OperationFailure
from pymongo.errors import PyMongoError as PyMongoError

from storage.errors import UnavailableCause, UnavailableError
from storage.mongo import topology
from storage.mongo.connection import DriverName
from storage.mongo.consistent_reads import NO_LIMIT as NO_LIMIT
from storage.mongo.consistent_reads import ReadConnections
from storage.mongo.consistent_reads import aggregate_documents as aggregate_documents
from storage.mongo.consistent_reads import find_documents as find_documents
from storage.mongo.consistent_reads import read_all as read_all
from storage.mongo.protocols import Client as Client
from storage.mongo.protocols import Collection as Collection
from storage.mongo.protocols import Database as Database
from storage.mongo.protocols import Session as Session
from storage.mongo.protocols import SortOrder
from storage.mongo.protocols import WriteOperation as WriteOperation
from storage.mongo.shared_memory import ClusterClock as ClusterClock
from storage.mongo.spans import CommandObserver, Span, describe_error
from storage.mongo.topology import Observe as Observe
from storage.mongo.unavailable import TIMEOUT_SECONDS, find_cause
from storage.mongo.unavailable import OperationDeadline as OperationDeadline
from storage.mongo.unavailable import get_operation as get_operation
from storage.mongo.unavailable import limit_time as limit_time
from storage.mongo.unavailable import remaining_seconds as remaining_seconds
from storage.mongo.unavailable import snapshot_taken as snapshot_taken
from storage.mongo.unavailable import translate_errors as translate_errors
from storage.records.kinds import Document

T = TypeVar("T")
BlockingClient: TypeAlias = MongoClient[Document]

_DUPLICATE_KEY_CODE = 11000
_NAMESPACE_EXISTS_CODE = 48
_NO_SESSIONS = "Sessions are not supported by this MongoDB deployment"
# Motor reads it when it is imported. Its default is ten threads on two cores: when as many commands
# wait for a member that has been lost, all others would wait for a thread. The drivers pool 100
# connections.
os.environ.setdefault("MOTOR_MAX_WORKERS", "100")
MAX_SILENCE_MS = 2000
"""A member may answer as late as this when it is asked for its state."""
_INDEX_BUILD_SECONDS = 1800.0
_TRANSACTION_RETRY_SECONDS = 120.0
"""Both drivers run a transaction again for so long, after the drivers' specification."""
_MIN_PAUSE_SECONDS, _PAUSE_GROWTH, _MAX_PAUSE_SECONDS = 0.005, 1.5, 0.5
"""A random part of it is waited before the next run, as that specification says; Motor does not."""


def connect(
    url: str,
    driver_name: DriverName = "motor",
    timeout_seconds: float = TIMEOUT_SECONDS,
    clock: ClusterClock | None = None,
    observe: Observe = lambda _: None,
) -> Client:
    """Return a client with majority writes and reads, one retry and a timeout per operation.

    Options here override those in `url`. Reads of `storage.mongo.consistent_reads` see everything
    up to the time of `clock`; all others go to the primary. `observe` is called, also in other
    threads, when a command has ended.
    """
    create: Callable[..., Any] = AsyncMongoClient
    if driver_name == "motor":
        from motor.motor_asyncio import AsyncIOMotorClient as create
    deployment = topology.Deployment.at(url, clock, observe)
    options = _client_options(timeout_seconds)
    listeners = [deployment.listener, CommandObserver(observe)]
    client: Client = create(url, **options, event_listeners=listeners)
    topology.describe(client, deployment)
    return client


def connect_blocking(
    client: Client, timeout_seconds: float, reply_seconds: float
) -> BlockingClient:
    """Connect to the MongoDB of `client` once more, for a thread that may block.

    Operations end after `timeout_seconds`, or with `pymongo.timeout(0)` when there is no reply for
    `reply_seconds`.
    """
    return MongoClient(
        topology.of(client).url,
        **_client_options(timeout_seconds),
        socketTimeoutMS=round(reply_seconds * 1000),
    )


def connect_directly(host: str, port: int, password: str, reply_seconds: float) -> BlockingClient:
    """Return a client for administrative commands to the server at this address, whether or not it
    belongs to a working replica set; its first reply may take `reply_seconds`.

    It authenticates as MongoDB's internal user. The password is the content of the server's
    keyfile: that user exists before any other does, and before a replica set is initiated.
    """
    return MongoClient(
        host,
        port,
        username="__system",
        password=password,
        authSource="local",
        authMechanism="SCRAM-SHA-256",
        directConnection=True,
        serverSelectionTimeoutMS=round(reply_seconds * 1000),
        socketTimeoutMS=10_000,
    )


def _client_options(timeout_seconds: float) -> dict[str, Any]:
    return {
        "appname": topology.APPLICATION,
        "w": "majority",
        "readConcernLevel": "majority",
        "readPreference": "primary",
        "readPreferenceTags": "",
        "maxStalenessSeconds": -1,
        "retryWrites": True,
        "retryReads": True,
        "serverSelectionTimeoutMS": 2000,
        # A member that no longer answers counts as lost after both of these together. It is asked
        # and not listened to, so that a reply tells what it had after a known moment.
        "serverMonitoringMode": "poll",
        "heartbeatFrequencyMS": 500,
        "connectTimeoutMS": MAX_SILENCE_MS,
        "timeoutMS": round(timeout_seconds * 1000),
    }


def get_clock(client: Client) -> ClusterClock:
    return topology.of(client).clock


@asynccontextmanager
async def open_read_connections(client: Client) -> AsyncIterator[None]:
    """Let the event loop itself send reads outside transactions, while the context lasts."""
    deployment = topology.of(client)
    options: Any = client
    connections = ReadConnections(options.options, deployment)
    deployment.read, deployment.listener.on_loss = connections.run, connections.lose_primary
    deployment.count_read_connections = connections.count
    try:
        yield
    finally:
        deployment.read = deployment.listener.on_loss = None
        await connections.close()


def count_connections(client: Client) -> tuple[int, int]:
    """Return how many connections to MongoDB are in use, and how many are idle."""
    in_use, idle = topology.of(client).count_read_connections()
    for pool in _list_pools(client):
        in_use, idle = in_use + pool.active_sockets, idle + len(pool.conns)
    return in_use, idle


async def ping(client: Client, timeout_seconds: float) -> None:
    """Check that MongoDB can be read within `timeout_seconds`. Raises UnavailableError."""
    deployment = topology.of(client)
    await deployment.wait_until_readable(time.monotonic() + timeout_seconds)
    with translate_errors(), pymongo.timeout(timeout_seconds):
        members = deployment.choose_members()
        await client.admin.command("ping", read_preference=members)


def find_loss(client: Client) -> UnavailableCause | None:
    """Return why nothing is committed: there is no primary or no majority; None if there are."""
    deployment = topology.of(client)
    is_whole = deployment.has_primary() and deployment.has_majority()
    return None if is_whole else deployment.find_cause()


async def wait_for_loss(client: Client, seconds: float) -> None:
    """Wait until there has been no primary for so long."""
    while topology.of(client).listener.seconds_without_primary() < seconds:
        await asyncio.sleep(1)


async def close(client: Client) -> None:
    """Close the connections of a client, after what it still ends on the server."""
    if endings := topology.of(client).endings:
        await asyncio.wait(endings)
    closing: Any = client.close()
    await _await_if_needed(closing)


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


async def build_index(
    collection: Collection, keys: str | SortOrder, *, unique: bool = False
) -> bool:
    """Build an index of many documents; return False if it has to be unique and is not."""
    try:
        with _allow_index_builds():
            await collection.create_index(keys, unique=unique)
    except DuplicateKeyError:
        return False
    return True


async def create_indexes(database: Database, name: str, indexes: Sequence[IndexModel]) -> int:
    """Create those indexes of a collection that are missing; return how many were.

    Their number is in MongoDB's reply; to list indexes would take a privilege more.
    """
    documents = [index.document for index in indexes]
    concern = {"w": "majority"}
    command = {"createIndexes": name, "indexes": documents, "writeConcern": concern}
    with _allow_index_builds():
        reply = await database.command(command)
    return int(reply.get("numIndexesAfter", 0) - reply.get("numIndexesBefore", 0))


def _allow_index_builds() -> AbstractContextManager[None]:
    """Give a command time for many documents: the client's own limit is for one request."""
    return pymongo.timeout(_INDEX_BUILD_SECONDS)


async def create_collection(database: Database, name: str, **options: Any) -> None:
    """Create a collection, unless another process has just created it."""
    try:
        await database.create_collection(name, **options)
    except CollectionInvalid:  # the driver looked and found it
        pass
    except OperationFailure as error:  # created between that look and the command
        if error.code != _NAMESPACE_EXISTS_CODE:
            raise


async def run_on_one_primary(
    database: Database, collection: str, work: Callable[[], Awaitable[T]]
) -> T:
    """Run `work`, and again if there was another primary meanwhile; return its result.

    For reads that must lack nothing: a new primary may for seconds return less than the one before
    has acknowledged, except to reads that follow the clock, such as that of `collection` here.
    """
    listener = topology.of(database.client).listener
    while True:
        await find_documents(database, collection, {}, {"_id": 1}, limit=1)
        primary = listener.primary
        await find_documents(database, collection, {}, {"_id": 1}, limit=1)
        result = await work()
        if listener.primary == primary:
            return result


async def run_in_transaction(client: Client, work: Callable[[Session], Awaitable[T]]) -> T:
    """Run `work` in a transaction; run it again after an error that MongoDB calls transient.

    Raises UnavailableError when the time has passed, with the cause of the last such error.
    """

    cause, code = UnavailableCause.DEADLINE_EXCEEDED, ""
    longest_pause = _MIN_PAUSE_SECONDS

    def note(error: PyMongoError) -> None:
        nonlocal cause, code
        code, found = describe_error(error), find_cause(error)
        if found and found is not UnavailableCause.DEADLINE_EXCEEDED:
            cause = found

    async def work_in_time(session: Session) -> T:
        nonlocal longest_pause
        if code:
            with Span("wait retry"):
                await asyncio.sleep(random.random() * longest_pause)  # noqa: S311
            longest_pause = min(longest_pause * _PAUSE_GROWTH, _MAX_PAUSE_SECONDS)
        if time.monotonic() >= deadline:
            raise UnavailableError("The transaction took too long", cause)
        if code:
            topology.of(client).retries[code] += 1
        try:
            return await work(session)
        except PyMongoError as error:
            note(error)
            raise

    remaining = remaining_seconds()
    deadline = time.monotonic() + (_TRANSACTION_RETRY_SECONDS if remaining is None else remaining)
    try:
        with pymongo.timeout(remaining):
            async with open_causal_session(client) as session:
                while True:
                    try:
                        return await session.with_transaction(work_in_time)
                    except PyMongoError as error:
                        # Motor commits where its own loop does not catch the error.
                        note(error)
                        if not error.has_error_label("TransientTransactionError"):
                            raise
    except PyMongoError as error:
        if find_cause(error) is UnavailableCause.DEADLINE_EXCEEDED:
            if cause is UnavailableCause.DEADLINE_EXCEEDED:
                cause = find_loss(client) or cause
            raise UnavailableError("The transaction took too long", cause) from error
        raise


@asynccontextmanager
async def open_causal_session(client: Client) -> AsyncIterator[Session]:
    """Open a session; all reads that begin after it see what was written in it."""
    async with AsyncExitStack() as held:
        session = await held.enter_async_context(await _await_if_needed(client.start_session()))
        try:
            yield session
            # Not after an error: what an aborted transaction has read may never have a majority.
            topology.of(client).clock.count_write(session.operation_time)
        except BaseException as error:
            held.pop_all()  # ends when MongoDB has ended what it still does in it
            ending = topology.end_in_background(client, session)
            if remaining_seconds() is None:  # no client waits for a response
                await asyncio.wait([ending])
            if isinstance(error, ConfigurationError) and str(error) == _NO_SESSIONS:
                await _replace_connections(client)
                message = "A member of the replica set was starting"
                raise UnavailableError(message, UnavailableCause.NO_PRIMARY) from error
            if isinstance(error, (PyMongoError, asyncio.CancelledError)):
                topology.of(client).clock.has_unknown_write = True  # the commit may be under way
            raise
        finally:
            if (operation := get_operation()) is not None:
                operation.end_snapshot()


async def _replace_connections(client: Client) -> None:
    """Have new connections made for what the client does next.

    A connection that was made while a member was starting counts as one without sessions for as
    long as it lives, also after that member has become the primary. Drivers close such connections
    for other reasons only, so this uses the pools, which are not public.
    """
    for pool in _list_pools(client):
        await _await_if_needed(pool.reset_without_pause())


def _list_pools(client: Client) -> list[Any]:
    servers = topology.of(client).driver_client._topology._servers
    return [server.pool for server in list(servers.values())]


@asynccontextmanager
async def open_plain_session(client: Client) -> AsyncIterator[Session]:
    """Open a session whose commands set their own read concern.

    After an error the session is ended in MongoDB, too: a cursor whose first reply was lost would
    stay open for minutes.
    """
    starting = client.start_session(causal_consistency=False)
    async with AsyncExitStack() as held:
        session = await held.enter_async_context(await _await_if_needed(starting))
        try:
            yield session
        except (PyMongoError, asyncio.CancelledError):
            held.pop_all()
            topology.end_in_background(client, session)
            raise


@asynccontextmanager
async def open_snapshot_session(client: Client) -> AsyncIterator[Session]:
    """Open a session in which all reads see the database as of the first read.

    It is ended in MongoDB, too: a read that is sent again has left the cursor of a lost reply.
    """
    session = await _await_if_needed(client.start_session(snapshot=True))
    try:
        yield session
    finally:
        topology.end_in_background(client, session)


async def _await_if_needed(value: T | Awaitable[T]) -> T:
    return await value if inspect.isawaitable(value) else value


# Iterating over a whole collection in the order of `_id` or another unique field.
#
# Each batch is a separate query that continues after the last key. A single long-lived cursor
# would be simpler, but MongoDB's time limit applies to all work of a cursor together.


BATCH_DOCUMENTS = 1000


async def iter_batches(
    collection: Collection,
    where: Document | None = None,
    projection: Mapping[str, Any] | None = None,
    session: Session | None = None,
    order_by: str = "_id",
) -> AsyncIterator[list[Document]]:
    """Yield the matching documents, up to BATCH_DOCUMENTS at a time.

    `order_by` must be unique in the collection and part of the projection.
    """
    conditions = [where] if where else []
    while True:
        cursor = collection.find(
            {"$and": conditions} if conditions else {},
            projection,
            session=session,
            limit=BATCH_DOCUMENTS,
        )
        batch = await read_all(cursor.sort(order_by, 1))
        is_full = len(batch) == BATCH_DOCUMENTS
        if is_full:
            conditions = [{order_by: {"$gt": batch[-1][order_by]}}, *([where] if where else [])]
        if batch:
            yield batch
        if not is_full:
            return
