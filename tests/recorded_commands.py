"""A database that notes the reads of a store or a context."""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any, cast

from msgspec.structs import replace

from resolvers.request.context import Context
from storage.cache.record_cache import RecordCache
from storage.mongo.protocols import Collection, Cursor, Database, DatabaseFront
from storage.records.kinds import Document

_READS = ("find", "aggregate")
_OF_THE_CONNECTION = ("readConcern", "batchSize")


@dataclass(slots=True)
class RecordedCommand:
    """A `find` or an `aggregate`."""

    command: Document
    returned: int | None = None
    """Documents in the reply; None for a cursor."""


@dataclass(slots=True)
class CommandLog:
    """The commands in the order in which they were sent."""

    commands: list[RecordedCommand] = field(default_factory=list)

    def add(self, command: Mapping[str, Any]) -> RecordedCommand:
        """Note a command that is about to be sent."""
        kept = {name: value for name, value in command.items() if name not in _OF_THE_CONNECTION}
        self.commands.append(RecordedCommand(kept))
        return self.commands[-1]


def with_log(database: Database, log: CommandLog) -> Database:
    """Return a database with a log of its reads."""
    return cast(Database, _RecordedDatabase(database, log))


def record(context: Context, log: CommandLog, record_cache: RecordCache | None = None) -> Context:
    """Return a context with a log of its reads, and another record cache."""
    store = copy(context._store)
    store.database = with_log(store.database, log)
    return replace(context, _store=store, record_cache=record_cache)


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
        reply: Document = await self._database.command(command, value, **options)
        recorded.returned = len(reply["cursor"]["firstBatch"])
        return reply


class _RecordedCollection:
    def __init__(self, collection: Collection, log: CommandLog) -> None:
        self._collection = collection
        self._log = log

    def __getattr__(self, name: str) -> Any:
        return getattr(self._collection, name)

    def find(self, filter: Any = None, projection: Any = None, **options: Any) -> Cursor:
        self._log.add({"find": self._collection.name, "filter": filter or {}})
        return self._collection.find(filter, projection, **options)
