"""A database within a database: its collections are those with a prefix.

What prepares or migrates a database can so prepare and migrate staged collections.
"""

from collections.abc import Awaitable, Mapping
from typing import Any

from storage.mongo.protocols import Client, Collection, Database
from storage.records.kinds import Document


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
