"""Records looked up by key through a gateway are visible and current."""

import json
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import httpx
import pytest

from gateway.app import Gateway
from storage.routing_inputs import NETWORK_FORMAT
from tests.caching_gateways import run_following_gateway
from tests.fixtures import (
    HIDDEN_MAP,
    MAP,
    SEEN,
    World,
    data_of,
    open_client,
    open_database,
)

pytestmark = pytest.mark.anyio

IMPORT = "mutation ($bundle: String!) { importCatalog(input: { bundle: $bundle }) { notes } }"
DRAWING = b"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 60 30">
<g data-type="Level" data-tags="floor=hall">
  <g data-type="UnitLayer">
    <rect id="hall-1" width="20" height="20"/><rect id="hall-2" x="40" width="20" height="20"/>
  </g>
  <rect data-tags="indoor=corridor" y="21" width="60" height="9"/>
  <rect data-tags="door=yes" x="8" y="19" width="4" height="3"/>
  <rect data-tags="door=yes" x="48" y="19" width="4" height="3"/>
</g></svg>"""
HALL: dict[str, list[dict[str, Any]]] = {
    "assets": [{"id": "hall", "name": "Hall"}],
    "floors": [{"id": "hall", "asset_id": "hall", "name": "Hall"}],
    "units": [
        {"id": f"hall-{number}", "asset_id": "hall", "floor_id": "hall", "name": str(number)}
        for number in (1, 2)
    ],
    "maps": [
        {
            "id": "hall",
            "asset_id": "hall",
            "name": "Hall",
            "feet_per_unit": 1,
            "source": "data:image/svg+xml;base64," + b64encode(DRAWING).decode(),
        }
    ],
}


@dataclass
class RunningGateway:
    """Clients of one gateway; each query has an alias of its own, so no response is cached."""

    gateway: Gateway
    full: httpx.AsyncClient
    restricted: httpx.AsyncClient
    numbers: "count[int]" = field(default_factory=count)

    async def get_map(self, key: str, client: httpx.AsyncClient, fields: str = "name") -> Any:
        query = f"query ($id: ID!) {{ map{next(self.numbers)}: map(id: $id) {{ {fields} }} }}"
        [found] = (await data_of(client, query, {"id": key})).values()
        return found


@asynccontextmanager
async def run_gateway_with_clients(world: World, **settings: Any) -> AsyncIterator[RunningGateway]:
    async with AsyncExitStack() as stack:
        gateway = await stack.enter_async_context(run_following_gateway(world.settings(**settings)))
        full = await stack.enter_async_context(open_client(gateway, world.keys.full))
        restricted = await stack.enter_async_context(open_client(gateway, world.keys.restricted))
        yield RunningGateway(gateway, full, restricted)


@pytest.fixture
async def running_gateway(never_expire: None, own_world: World) -> AsyncIterator[RunningGateway]:
    async with run_gateway_with_clients(own_world) as running_gateway:
        yield running_gateway


async def test_a_record_that_one_key_sees_is_never_answered_to_another(
    running_gateway: RunningGateway,
) -> None:
    for _ in range(2):
        assert await running_gateway.get_map(HIDDEN_MAP, running_gateway.full) == {"name": "South"}
        assert await running_gateway.get_map(HIDDEN_MAP, running_gateway.restricted) is None
        assert await running_gateway.get_map(MAP, running_gateway.restricted) == {
            "name": "All floors"
        }


async def test_a_mutation_sees_what_it_has_just_written(running_gateway: RunningGateway) -> None:
    assign = """mutation ($bundle: String!, $data: [AssignmentInput!]!) {
        importCatalog(input: { bundle: $bundle }) { notes }
        assignUnitAttributes(input: { groupId: "view", assignments: $data }) { units { name } }
    }"""
    query = '{ unit(id: "unit-2") { name } }'
    assert await data_of(running_gateway.full, query) == {"unit": {"name": "unit-2"}}
    unit = {"id": "unit-2", "asset_id": SEEN, "floor_id": "n/1 %", "name": "Suite 2"}
    assignment = {"groupId": "view", "attributeId": "sea", "assetId": SEEN, "unitId": "unit-2"}
    given = {"bundle": json.dumps({"units": [unit]}), "data": [assignment]}
    made = await data_of(running_gateway.full, assign, given)
    assert made["assignUnitAttributes"] == {"units": [{"name": "Suite 2"}]}


async def test_a_response_without_the_network_is_not_cached(
    running_gateway: RunningGateway, own_world: World
) -> None:
    await data_of(running_gateway.full, IMPORT, {"bundle": json.dumps(HALL)})
    async with open_database(own_world) as database:
        state: dict[str, Any] = {"source": "$source", "feet_per_unit": "$feet_per_unit"}
        state["network_format"] = NETWORK_FORMAT
        published = {"network": "0" * 64, "network_state": state}
        await database["maps"].update_one({"_id": "hall"}, [{"$set": published}])
    assert running_gateway.gateway.state is not None
    await running_gateway.get_map("hall", running_gateway.full)
    entries = running_gateway.gateway.state.response_cache.counters.entries
    matrix = """distanceMatrix(sources: [{x: 10, y: 10, floorId: "hall"}],
        targets: [{x: 50, y: 10, floorId: "hall"}]) { distanceMethod }"""
    found = await running_gateway.get_map("hall", running_gateway.full, matrix)
    assert found == {"distanceMatrix": {"distanceMethod": "euclidean"}}
    assert running_gateway.gateway.state.response_cache.counters.entries == entries
