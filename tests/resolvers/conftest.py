"""A world of routes: a tower at two scales and a house around a yard, each of them routable."""

import json
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack

import httpx
import pytest

from gateway.app import Gateway
from resolvers.administration.catalog import import_catalog
from resolvers.processing.pipeline import ProcessingRequest, process_and_publish
from storage.store import Store
from tests.fixtures import World, create_world, drop_world, open_client, open_database, run_gateway
from tests.resolvers import worlds
from tests.resolvers.worlds import work_here

GYM = worlds.CATALOG["locations"][0]
LARGE = {**worlds.CATALOG["maps"][0], "id": "large", "feet_per_unit": 2}
"""The tower drawn at half the scale: everything is twice as far."""
PLAIN_GYM = {**worlds.CATALOG["locations"][1], "id": "a-plain-gym", "tags": GYM["tags"][:1]}
"""A location of the gym's unit on a map without a network; the first by its id."""
DESK = {**GYM, "id": "desk", "name": "Desk", "tags": []}
LATER = [
    DESK,
    {**DESK, "id": "twin", "x": 10},
    {**DESK, "id": "other", "tags": [{"key": "svc:id", "value": "twin"}]},
]
"""Locations of the tower that came after it was processed: its network does not know them."""
ATTIC = {"id": "attic", "asset_id": "tower", "name": "Attic", "sort": 3}
"""A floor that no plan shows."""


@pytest.fixture
def no_processes() -> Iterator[None]:
    """Do the work of pools in the process of the test."""
    with work_here():
        yield


@pytest.fixture(scope="session")
async def routes_world(
    mongo_url: str, tmp_path_factory: pytest.TempPathFactory, anyio_backend: str
) -> AsyncIterator[World]:
    """Tests only read it, and open what they close."""
    directory = tmp_path_factory.mktemp("routes")
    world = await create_world(mongo_url, uuid.uuid4().hex, directory / "world.json")
    bundle = directory / "tower.json"
    maps, locations = worlds.CATALOG["maps"], worlds.CATALOG["locations"]
    more = {"maps": [*maps, LARGE], "locations": [*locations, PLAIN_GYM]}
    bundle.write_text(json.dumps(worlds.CATALOG | more))
    (directory / "tower.svg").write_text(worlds.SVG)
    async with AsyncExitStack() as stack:
        stack.enter_context(work_here())
        database = await stack.enter_async_context(open_database(world))
        await import_catalog(database, [bundle])
        await import_catalog(database, [worlds.write_bundle(directory)])
        for map_id in ("tower", "large", "yard"):
            request = ProcessingRequest(map_id, {})
            outcome = await process_and_publish(Store(database.client, database.name), request)
            assert outcome.published, outcome.report
    await worlds.import_more(world, directory, floors=[ATTIC], locations=LATER)
    yield world
    drop_world(world)


@pytest.fixture(scope="session")
async def routes_gateway(routes_world: World) -> AsyncIterator[Gateway]:
    # It keeps no response, so that each request meets what a test has patched.
    async with run_gateway(routes_world.settings(cache_mb=0)) as gateway:
        yield gateway


@pytest.fixture(scope="session")
async def walker(routes_world: World, routes_gateway: Gateway) -> AsyncIterator[httpx.AsyncClient]:
    """A client with all permissions in the world of routes."""
    async with open_client(routes_gateway, routes_world.keys.full) as client:
        client.headers.update(worlds.FLAGS)
        yield client
