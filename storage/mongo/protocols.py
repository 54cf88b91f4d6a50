"""Types of the MongoDB client, and databases that stand in front of another.

The types are those of PyMongo's asyncio client. Motor's have the same methods. Where Motor returns
an awaitable and PyMongo a value (`Client.start_session`), or the other way round
(`Client.close`, `Collection.aggregate`), call the function of `storage.mongo.driver` instead.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from pymongo import AsyncMongoClient, DeleteMany, DeleteOne, UpdateOne
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.asynchronous.cursor import AsyncCursor
from pymongo.asynchronous.database import AsyncDatabase

from storage.records.kinds import Document

Client: TypeAlias = AsyncMongoClient[Document]
Database: TypeAlias = AsyncDatabase[Document]
Collection: TypeAlias = AsyncCollection[Document]
Cursor: TypeAlias = AsyncCursor[Document]
Session: TypeAlias = AsyncClientSession
Pipeline: TypeAlias = Sequence[Mapping[str, Any]]
SortOrder: TypeAlias = Sequence[tuple[str, int]]
WriteOperation: TypeAlias = UpdateOne | DeleteOne | DeleteMany


class DatabaseFront:
    """A database in front of another, which does all that this one does not.

    It has a `command` of its own, past which nothing may be sent.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)


def with_prefix(database: Database, prefix: str) -> Database:
    """Return the collections of a database with this prefix, as a database without it.

    What prepares or migrates a database can so prepare and migrate staged collections. Stages that
    name another collection, such as `$lookup`, and transactions see the database itself.
    """
    return cast(Database, _PrefixedDatabase(database, prefix))


class _PrefixedDatabase(DatabaseFront):
    def __init__(self, database: Database, prefix: str) -> None:
        super().__init__(database)
        self._prefix = prefix

    def __getitem__(self, collection: str) -> Collection:
        return self._database[self._prefix + collection]

    async def command(self, command: str | Document, value: Any = 1, **options: Any) -> Document:
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

    async def create_collection(self, name: str, **options: Any) -> Collection:
        """Create a collection."""
        return await self._database.create_collection(self._prefix + name, **options)

    async def drop_collection(self, name: str) -> object:
        """Drop a collection."""
        return await self._database.drop_collection(self._prefix + name)

    async def list_collection_names(self) -> list[str]:
        """Return the names of the collections."""
        names = await self._database.list_collection_names()
        return [name.removeprefix(self._prefix) for name in names if name.startswith(self._prefix)]


# A log of the reads of one request, so that they can be explained.
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


def with_log(database: Database, log: CommandLog) -> Database:
    """Return a database with a log of its reads."""
    return cast(Database, _RecordedDatabase(database, log))


class _RecordedDatabase(DatabaseFront):
    def __init__(self, database: Database, log: CommandLog) -> None:
        super().__init__(database)
        self._log = log

    def __getitem__(self, collection: str) -> Collection:
        return cast(Collection, _RecordedCollection(self._database[collection], self._log))

    async def command(self, command: str | Document, value: Any = 1, **options: Any) -> Document:
        """Run a command, and note it if it reads records."""
        if isinstance(command, str) or not any(name in command for name in _READS):
            return await self._database.command(command, value, **options)
        recorded = self._log.add(command)
        started = time.perf_counter()
        reply: Document = await self._database.command(command, value, **options)
        recorded.milliseconds = (time.perf_counter() - started) * 1000
        recorded.returned = len(reply["cursor"]["firstBatch"])
        return reply


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
