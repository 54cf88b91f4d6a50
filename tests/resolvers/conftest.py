"""The shared world, read by operations of any scope."""

from collections.abc import AsyncIterator

import pytest
from pymongo import monitoring

from storage.mongo import driver
from storage.store import Store
from tests.resolvers.directory import Commands, Directory
from tests.world import World


@pytest.fixture(scope="session")
async def directory(world: World, anyio_backend: str) -> AsyncIterator[Directory]:
    """The shared world, without any cache."""
    commands = Commands(world.database)
    monitoring.register(commands)
    client = driver.connect(world.mongo_url, timeout_seconds=30)
    yield Directory(Store(client, world.database), commands)
    await driver.close(client)
