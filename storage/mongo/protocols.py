"""Types of the MongoDB client, and databases that stand in front of another.

The types are those of PyMongo's asyncio client. Motor's have the same methods. Where Motor returns
an awaitable and PyMongo a value (`Client.start_session`), or the other way round
(`Client.close`, `Collection.aggregate`), call the function of `storage.mongo.driver` instead.
"""

from collections.abc import Mapping, Sequence
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
        return await self._database.create_collection(self._prefix + name, **options)

    async def drop_collection(self, name: str) -> object:
        return await self._database.drop_collection(self._prefix + name)

    async def list_collection_names(self) -> list[str]:
        names = await self._database.list_collection_names()
        return [name.removeprefix(self._prefix) for name in names if name.startswith(self._prefix)]
