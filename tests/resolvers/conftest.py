"""The shared world, read by operations of any scope."""

from collections.abc import AsyncIterator

import pytest

from tests.resolvers.directory import Directory, open_directory
from tests.world import World


@pytest.fixture(scope="session")
async def directory(world: World, anyio_backend: str) -> AsyncIterator[Directory]:
    """The shared world."""
    async with open_directory(world.mongo_url, world.database) as directory:
        yield directory
