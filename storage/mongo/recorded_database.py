"""A database that notes the reads of one request, so that they can be explained.

Only the store of an explained request has one: other requests do not pay for it. Reads in
transactions, which only writes have, go past it. See docs/decisions/server/explain.md.
"""

import time
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from storage.mongo.protocols import Client, Collection, Cursor, Database
from storage.records.kinds import Document

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
