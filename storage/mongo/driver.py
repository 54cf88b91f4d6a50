"""The one module that knows the MongoDB driver: Motor, or PyMongo's own asyncio client.

Both offer the same collections and cursors; where they differ (what must be awaited), the
functions here hide it. Everything above speaks to MongoDB through them.
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeAlias, TypeVar

import pymongo
from motor.motor_asyncio import AsyncIOMotorClient
from pymongo import AsyncMongoClient
from pymongo.errors import (
    AutoReconnect,
    ConnectionFailure,
    ExecutionTimeout,
    NetworkTimeout,
    PyMongoError,
)

from storage.errors import UnavailableError
from storage.mongo.connection import DriverName

Client: TypeAlias = Any
Database: TypeAlias = Any
Collection: TypeAlias = Any
Session: TypeAlias = Any
T = TypeVar("T")

_REPLY_SLACK_SECONDS = 5.0
_MAJORITY_READ = {"readConcern": {"level": "majority"}}
UNREACHABLE_ERRORS = (ConnectionFailure, NetworkTimeout, ExecutionTimeout)


def connect(url: str, driver_name: DriverName = "motor", timeout_seconds: float = 3.0) -> Client:
    """A client that acknowledges by majority, retries once, and gives up in bounded time.

    It reads from the primary, whatever the address says: changes are followed there, and a
    secondary may answer with what was before them.
    """
    create: Callable[..., Client] = {"motor": AsyncIOMotorClient, "pymongo": AsyncMongoClient}[
        driver_name
    ]
    return create(
        url,
        appname="floorgate",
        w="majority",
        readConcernLevel="majority",
        readPreference="primary",
        readPreferenceTags="",
        maxStalenessSeconds=-1,
        retryWrites=True,
        retryReads=True,
        serverSelectionTimeoutMS=2000,
        timeoutMS=round(timeout_seconds * 1000),
    )


async def ping(client: Client, timeout_seconds: float) -> None:
    """Whether MongoDB answers. Raises Unavailable, however patient the client is otherwise."""
    with translate_errors(), pymongo.timeout(timeout_seconds):
        await client.admin.command("ping")


async def close(client: Client) -> None:
    """Closes the client's connections."""
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
) -> list[Any]:
    """The first documents of a collection that match: one command, whose reply is the list.

    A cursor of the driver costs more than the documents of a short list. It takes over where it is
    needed: to try again, and to read what one reply, of at most 16 MB, cannot hold.
    """
    most = max(limit, 1)  # MongoDB reads 0 as no limit
    order = {"sort": sort} if sort else {}
    options = {"skip": skip, "limit": most, "batchSize": most, **order, **_MAJORITY_READ}
    command = {"find": collection, "filter": where, "projection": projection, **options}
    try:
        reply = await database.command(command)
    except AutoReconnect as error:
        if error.timeout:
            raise
    else:
        if not (rest := reply["cursor"]["id"]):
            found: list[Any] = reply["cursor"]["firstBatch"]
            return found
        await database.command("killCursors", collection, cursors=[rest])
    cursor = database[collection].find(where, projection, skip=skip, limit=most, batch_size=most)
    again: list[Any] = await (cursor.sort([*sort.items()]) if sort else cursor).to_list(None)
    return again


async def aggregate_documents(
    collection: Collection, pipeline: list[Any], **options: Any
) -> list[Any]:
    """All documents that the pipeline gives."""
    cursor = await _await_if_needed(collection.aggregate(pipeline, **options))
    found: list[Any] = await cursor.to_list(None)
    return found


@asynccontextmanager
async def tail_changes(
    database: Database, pipeline: list[Any], wait_ms: int
) -> AsyncIterator[AsyncIterator[list[Any]]]:
    """The batches of a change stream on a database, each as soon as there is one.

    An empty one says that for `wait_ms` nothing has changed. What ends the stream, raises: nothing
    is resumed, so that whoever follows it knows that changes may have been missed.

    Every read that begins after the stream was opened sees all writes before the stream's start,
    and the stream reports all others. That takes a start of our own choice: MongoDB's default is
    the primary's newest write, which majority reads do not see until a majority has it. After a
    failover that can take long, and the stream would never report such a write.
    """
    # With causal consistency the driver would add the session's own time to each command.
    async with await _await_if_needed(
        database.client.start_session(causal_consistency=False)
    ) as session:
        # The operation time of a majority read is the newest that a majority has: no need to wait.
        read = await database.command("find", "any", limit=1, session=session, **_MAJORITY_READ)
        start = read.get("operationTime")  # none outside a replica set, which has no streams
        opened = await database.command(
            "aggregate",
            1,
            pipeline=[{"$changeStream": {"startAtOperationTime": start}}, *pipeline],
            cursor={"batchSize": 0},
            # Answered once majority reads on this server see `start`, also if another told it.
            readConcern={"level": "majority", "afterClusterTime": start},
            session=session,
        )
        yield _iter_batches(database, session, opened["cursor"], wait_ms)


async def _iter_batches(
    database: Database, session: Session, cursor: Any, wait_ms: int
) -> AsyncIterator[list[Any]]:
    name = cursor["ns"].partition(".")[2]
    while cursor["id"]:
        try:
            # Under a timeout of its own the driver would make that the time to wait.
            with pymongo.timeout(0):
                async with asyncio.timeout(wait_ms / 1000 + _REPLY_SLACK_SECONDS):
                    reply = await database.command(
                        "getMore", cursor["id"], collection=name, maxTimeMS=wait_ms, session=session
                    )
        except TimeoutError as error:
            raise NetworkTimeout("the change stream does not answer") from error
        cursor = reply["cursor"]
        yield cursor["nextBatch"]


async def run_in_transaction(client: Client, work: Callable[[Session], Awaitable[T]]) -> T:
    """Runs `work` in a transaction, again and again while MongoDB calls its failure transient."""
    async with await _await_if_needed(client.start_session()) as session:
        result: T = await session.with_transaction(work)
        return result


@asynccontextmanager
async def open_snapshot_session(client: Client) -> AsyncIterator[Session]:
    """A session whose reads all see the database as it is at the first of them."""
    async with await _await_if_needed(client.start_session(snapshot=True)) as session:
        yield session


@contextmanager
def translate_errors() -> Iterator[None]:
    """Turns the driver's way of saying that MongoDB is away into `Unavailable`."""
    try:
        yield
    except PyMongoError as error:
        if error.timeout or isinstance(error, UNREACHABLE_ERRORS):
            raise UnavailableError("MongoDB cannot be reached") from error
        raise


async def _await_if_needed(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value
