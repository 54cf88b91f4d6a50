"""Types of the MongoDB client: the methods of both drivers that Floorgate uses.

Motor and PyMongo's asyncio client share no base class. Where one returns a value and the other an
awaitable (`Client.start_session`, `Client.close`, `Collection.aggregate`), call the function of
`storage.mongo.driver` instead.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol, TypeAlias, TypeVar, cast

from bson import Timestamp
from pymongo import DeleteMany, DeleteOne, IndexModel, UpdateOne
from pymongo.results import DeleteResult, UpdateResult

from storage.records.kinds import Document

T = TypeVar("T")

Filter: TypeAlias = Mapping[str, Any]
FieldProjection: TypeAlias = Mapping[str, Any] | Sequence[str]
Pipeline: TypeAlias = Sequence[Mapping[str, Any]]
Update: TypeAlias = Mapping[str, Any] | Pipeline
SortOrder: TypeAlias = Sequence[tuple[str, int]]
WriteOperation: TypeAlias = UpdateOne | DeleteOne | DeleteMany


class Cursor(Protocol):
    """The documents of a query, fetched when read."""

    def __aiter__(self) -> AsyncIterator[Document]: ...

    def sort(self, key: str | SortOrder, direction: int | None = None) -> "Cursor": ...

    def hint(self, index: SortOrder) -> "Cursor": ...

    def to_list(self, length: int | None) -> Awaitable[list[Document]]: ...


class RawCursor(Protocol):
    """The BSON of a query's documents, a reply of MongoDB at a time."""

    def __aiter__(self) -> AsyncIterator[bytes]: ...


class Session(Protocol):
    """A client session: a transaction or a snapshot."""

    session_id: Mapping[str, Any]

    async def __aenter__(self) -> "Session": ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

    @property
    def operation_time(self) -> Timestamp | None: ...

    def end_session(self) -> Awaitable[None]: ...

    def with_transaction(self, callback: Callable[["Session"], Awaitable[T]]) -> Awaitable[T]: ...


class Collection(Protocol):
    """A collection."""

    @property
    def name(self) -> str: ...

    @property
    def read_preference(self) -> object: ...

    def aggregate(self, pipeline: Pipeline, **options: Any) -> Cursor | Awaitable[Cursor]: ...

    def bulk_write(
        self,
        requests: Sequence[WriteOperation],
        *,
        ordered: bool = True,
        session: Session | None = None,
    ) -> Awaitable[object]: ...

    def create_index(self, keys: str | SortOrder, *, unique: bool = False) -> Awaitable[str]: ...

    def create_indexes(self, indexes: Sequence[IndexModel]) -> Awaitable[list[str]]: ...

    def count_documents(self, filter: Filter) -> Awaitable[int]: ...

    def delete_many(
        self, filter: Filter, *, session: Session | None = None
    ) -> Awaitable[DeleteResult]: ...

    def delete_one(
        self, filter: Filter, *, session: Session | None = None
    ) -> Awaitable[DeleteResult]: ...

    def distinct(
        self, key: str, filter: Filter | None = None, *, session: Session | None = None
    ) -> Awaitable[list[Any]]: ...

    def drop(self) -> Awaitable[None]: ...

    def drop_index(self, index_or_name: str) -> Awaitable[None]: ...

    def find(
        self,
        filter: Filter | None = None,
        projection: FieldProjection | None = None,
        *,
        skip: int = 0,
        limit: int = 0,
        sort: SortOrder | None = None,
        batch_size: int = 0,
        session: Session | None = None,
    ) -> Cursor: ...

    def find_one(
        self,
        filter: Filter | None = None,
        projection: FieldProjection | None = None,
        *,
        session: Session | None = None,
    ) -> Awaitable[Document | None]: ...

    def find_one_and_update(
        self,
        filter: Filter,
        update: Update,
        *,
        return_document: bool = False,
        session: Session | None = None,
    ) -> Awaitable[Document | None]: ...

    def find_raw_batches(
        self,
        filter: Filter,
        *,
        limit: int = 0,
        sort: SortOrder | None = None,
        session: Session | None = None,
    ) -> RawCursor: ...

    def insert_many(
        self,
        documents: Sequence[Mapping[str, Any]],
        *,
        ordered: bool = True,
        bypass_document_validation: bool | None = None,
        session: Session | None = None,
    ) -> Awaitable[object]: ...

    def insert_one(
        self, document: Document, *, session: Session | None = None
    ) -> Awaitable[object]: ...

    def with_options(self, **options: Any) -> "Collection": ...

    def update_many(self, filter: Filter, update: Update) -> Awaitable[UpdateResult]: ...

    def update_one(
        self,
        filter: Filter,
        update: Update,
        *,
        upsert: bool = False,
        bypass_document_validation: bool | None = None,
        session: Session | None = None,
    ) -> Awaitable[UpdateResult]: ...


class Database(Protocol):
    """A database."""

    @property
    def name(self) -> str: ...

    @property
    def client(self) -> "Client": ...

    def __getitem__(self, collection: str) -> Collection: ...

    def command(
        self, command: str | Mapping[str, Any], value: Any = 1, **options: Any
    ) -> Awaitable[Document]: ...

    def create_collection(self, name: str, **options: Any) -> Awaitable[Collection]: ...

    def drop_collection(self, name: str) -> Awaitable[object]: ...

    def list_collection_names(self) -> Awaitable[list[str]]: ...


class Client(Protocol):
    """A client: connections to one MongoDB."""

    @property
    def admin(self) -> Database: ...

    def __getitem__(self, database: str) -> Database: ...

    def close(self) -> Awaitable[None] | None: ...

    def drop_database(self, name: str) -> Awaitable[None]: ...

    def start_session(
        self, *, causal_consistency: bool | None = None, snapshot: bool | None = False
    ) -> Session | Awaitable[Session]: ...


# A database within a database: its collections are those with a prefix.
#
# What prepares or migrates a database can so prepare and migrate staged collections.


class PrefixedDatabase:
    """The collections of a database with this prefix, without it.

    Stages that name another collection, such as `$lookup`, and transactions see the database
    itself.
    """

    def __init__(self, database: Database, prefix: str) -> None:
        self._database = database
        self._prefix = prefix

    @property
    def name(self) -> str:
        """The name of the database."""
        return self._database.name

    @property
    def client(self) -> Client:
        """The client of the database."""
        return self._database.client

    def __getitem__(self, collection: str) -> Collection:
        return self._database[self._prefix + collection]

    async def command(
        self, command: str | Mapping[str, Any], value: Any = 1, **options: Any
    ) -> Document:
        """Run a command; the collection that it names has the prefix."""
        (name, operand), *others = (
            [(command, value)] if isinstance(command, str) else [*command.items()]
        )
        if name == "listCollections":
            return await self._list_collections()
        prefixed = self._prefix + operand if isinstance(operand, str) else operand
        return await self._database.command({name: prefixed, **dict(others)}, **options)

    async def _list_collections(self) -> Document:
        reply = await self._database.command("listCollections")
        reply["cursor"]["firstBatch"] = [
            {**collection, "name": collection["name"].removeprefix(self._prefix)}
            for collection in reply["cursor"]["firstBatch"]
            if collection["name"].startswith(self._prefix)
        ]
        return reply

    def create_collection(self, name: str, **options: Any) -> Awaitable[Collection]:
        """Create a collection."""
        return self._database.create_collection(self._prefix + name, **options)

    def drop_collection(self, name: str) -> Awaitable[object]:
        """Drop a collection."""
        return self._database.drop_collection(self._prefix + name)

    async def list_collection_names(self) -> list[str]:
        """Return the names of the collections."""
        names = await self._database.list_collection_names()
        return [name.removeprefix(self._prefix) for name in names if name.startswith(self._prefix)]


# A database that notes the reads of one request, so that they can be explained.
#
# Only the store of an explained request has one: other requests do not pay for it. Reads in
# transactions, which only writes have, go past it. See docs/decisions/server/explain.md.


MAX_COMMANDS = 50
"""Commands that are kept; further ones are counted."""
_READS = ("find", "aggregate")
_OF_THE_CONNECTION = ("readConcern", "batchSize")


@dataclass(slots=True)
class RecordedCommand:
    """A `find` or an `aggregate`, and how long its reply took."""

    command: Document
    milliseconds: float | None = None
    """None if it was not awaited here, or never ended."""
    returned: int | None = None
    """Documents in the reply."""


@dataclass(slots=True)
class CommandLog:
    """The commands of one request, in the order in which they were sent."""

    commands: list[RecordedCommand] = field(default_factory=list)
    omitted: int = 0

    def add(self, command: Mapping[str, Any]) -> RecordedCommand:
        """Note a command that is about to be sent."""
        kept = {name: value for name, value in command.items() if name not in _OF_THE_CONNECTION}
        recorded = RecordedCommand(kept)
        if len(self.commands) < MAX_COMMANDS:
            self.commands.append(recorded)
        else:
            self.omitted += 1
        return recorded


class RecordedDatabase:
    """A database in front of another, with a log of the reads."""

    def __init__(self, database: Database, log: CommandLog) -> None:
        self._database = database
        self._log = log

    @property
    def name(self) -> str:
        """The name of the database."""
        return self._database.name

    @property
    def client(self) -> Client:
        """The client of the database."""
        return self._database.client

    def __getitem__(self, collection: str) -> Collection:
        return cast(Collection, _RecordedCollection(self._database[collection], self._log))

    async def command(
        self, command: str | Mapping[str, Any], value: Any = 1, **options: Any
    ) -> Document:
        """Run a command, and note it if it reads records."""
        if isinstance(command, str) or not any(name in command for name in _READS):
            return await self._database.command(command, value, **options)
        recorded = self._log.add(command)
        started = time.perf_counter()
        reply = await self._database.command(command, value, **options)
        recorded.milliseconds = (time.perf_counter() - started) * 1000
        recorded.returned = len(reply["cursor"]["firstBatch"])
        return reply

    def create_collection(self, name: str, **options: Any) -> Awaitable[Collection]:
        """Create a collection."""
        return self._database.create_collection(name, **options)

    def drop_collection(self, name: str) -> Awaitable[object]:
        """Drop a collection."""
        return self._database.drop_collection(name)

    def list_collection_names(self) -> Awaitable[list[str]]:
        """Return the names of the collections."""
        return self._database.list_collection_names()


class _RecordedCollection:
    """A collection with a log of its `find`: how long a cursor takes is not known here."""

    def __init__(self, collection: Collection, log: CommandLog) -> None:
        self._collection = collection
        self._log = log

    def __getattr__(self, name: str) -> Any:
        return getattr(self._collection, name)

    def find(self, filter: Any = None, projection: Any = None, **options: Any) -> Cursor:
        sort, limit = options.get("sort"), options.get("limit")
        self._log.add(
            {
                "find": self._collection.name,
                "filter": filter or {},
                **({"sort": dict(sort)} if sort else {}),
                **({"limit": limit} if limit else {}),
            }
        )
        return self._collection.find(filter, projection, **options)
