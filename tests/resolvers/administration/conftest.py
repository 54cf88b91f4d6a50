"""A gateway to administer."""

from collections.abc import AsyncIterator

import pytest

from tests.fixtures import World, gateway_client, open_database
from tests.resolvers.administration.test_api_keys import Administration


@pytest.fixture
async def administration(own_world: World) -> AsyncIterator[Administration]:
    async with (
        gateway_client(own_world.settings(), own_world.keys.full) as client,
        open_database(own_world) as database,
    ):
        yield Administration(client, database)
