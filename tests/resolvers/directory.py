"""GraphQL operations on a directory, and the commands that they send to MongoDB."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
from pymongo import monitoring

from resolvers.request.caller import FLAGS, PERMISSIONS, Caller
from resolvers.request.context import Context
from schema.execution import Executor, OperationResult
from schema.root import GRAPHQL_SCHEMA
from storage.administration.api_keys import KEYS_COLLECTION
from storage.administration.import_lease import LEASE_COLLECTION
from storage.mongo import driver
from storage.records.visibility import AssetScope
from storage.store import Store
from tests.fixtures import BASE_URL, World

READING = {"find", "aggregate", "getMore", "count", "distinct"}
BESIDE_REQUESTS = {KEYS_COLLECTION, LEASE_COLLECTION, 1, "$cmd.aggregate", "any"}
"""What a gateway reads at any time: keys, whether an import was interrupted, and changes."""


class Commands(monitoring.CommandListener):
    """The reading commands that one database has answered, or has not yet.

    A client that is made within `listening` tells of them.
    """

    def __init__(self, database: str) -> None:
        self.database = database
        self._sent: dict[int, tuple[str, Any]] = {}

    @property
    def sent(self) -> list[str]:
        """The collection of each command, in their order."""
        return [collection for collection, _ in self._sent.values()]

    @property
    def filters(self) -> list[Any]:
        """The filter of each command, None where it has a pipeline."""
        return [filter for _, filter in self._sent.values()]

    def clear(self) -> None:
        """Forget the commands that were sent."""
        self._sent.clear()

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        # getMore names its collection apart
        command = event.command
        collection = command.get("collection", command.get(event.command_name))
        if event.database_name != self.database or collection in BESIDE_REQUESTS:
            return
        if event.command_name in READING:
            self._sent[event.request_id] = (collection, command.get("filter"))

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None: ...

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        # A read is sent again if its snapshot is not there yet, as just after an import.
        self._sent.pop(event.request_id, None)


@contextmanager
def listening(commands: Commands) -> Iterator[None]:
    """Have the clients that are made here tell of their commands; those of other tests do not."""
    monitoring.register(commands)
    try:
        yield
    finally:
        monitoring._LISTENERS.command_listeners.remove(commands)


class Directory:
    """Runs GraphQL operations with every permission, each with a context of its own."""

    def __init__(self, store: Store, commands: Commands) -> None:
        self.store = store
        self.commands = commands
        self.executor = Executor(GRAPHQL_SCHEMA)

    async def run(
        self, document: str, assets: list[str] | None = None, **variables: Any
    ) -> OperationResult:
        """Run an operation for a caller who sees these assets, by default all."""
        scope = AssetScope(None if assets is None else frozenset(assets))
        caller = Caller("any", scope, frozenset(PERMISSIONS), frozenset(FLAGS))
        operation = self.executor.prepare(document)
        self.commands.clear()
        return await self.executor.run(operation, variables, Context(caller, self.store, BASE_URL))

    async def read(self, document: str, assets: list[str] | None = None, **variables: Any) -> Any:
        """Return the data of an operation that has no error."""
        result = await self.run(document, assets, **variables)
        assert result.errors == []
        return result.data

    async def invalid_fields(self, document: str, **variables: Any) -> Any:
        """Return what is wrong with the input of an operation, by argument."""
        [error] = (await self.run(document, **variables)).errors
        assert error.extensions is not None
        assert error.extensions["code"] == "INVALID_INPUT"
        return error.extensions["fields"]

    @property
    def collections_read(self) -> list[str]:
        """The collection of each command that the last operation took."""
        return self.commands.sent


@asynccontextmanager
async def open_directory(mongo_url: str, database_name: str) -> AsyncIterator[Directory]:
    """A directory in a database, without any cache."""
    commands = Commands(database_name)
    with listening(commands):
        client = driver.connect(mongo_url, timeout_seconds=30)
    await client.admin.command("ping")  # the first read of a client may be sent once more
    yield Directory(Store(client, database_name), commands)
    await driver.close(client)


@pytest.fixture(scope="session")
async def directory(world: World, anyio_backend: str) -> AsyncIterator[Directory]:
    """The shared world."""
    async with open_directory(world.mongo_url, world.database) as directory:
        yield directory
