"""Siblings are resolved together: the number of MongoDB commands does not grow with records."""

import uuid
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest
from pymongo import monitoring

from tests.fixtures import create_world, drop_world, open_client, post_graphql, run_gateway
from tests.resolvers.directory import Commands

pytestmark = pytest.mark.anyio


def catalog(each: int) -> dict[str, list[dict[str, Any]]]:
    """`each` assets with `each` floors, units and maps, so that every list has `each` members."""
    attribute = {"attribute_id": "t", "attribute_name": "T", "attribute_key": "t"}
    group = {"group_id": "g", "group_name": "G", "one_attribute_per_unit": True}
    bundle: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    bundle["attribute_groups"] = [{**group, "attributes": [attribute]}]
    for a in range(each):
        asset = {"asset_id": f"a{a}"}
        bundle["assets"].append({"id": f"a{a}", "name": "A"})
        bundle["asset_references"].append({**asset, "id": f"r{a}", "key": "crm", "value": "1"})
        for n in range(each):
            f, m, u, b = (f"{kind}{a}-{n}" for kind in "fmub")
            unit = {**asset, "unit_id": u, "group_id": "g"}
            spot = {"x": 1, "y": 1, "floors": [{"id": f}], "tags": [{"key": "svc:id", "value": u}]}
            records: dict[str, dict[str, Any]] = {
                "floors": {**asset, "id": f, "name": "F"},
                "maps": {**asset, "id": m, "name": "M", "background_id": b},
                "backgrounds": {"id": b, "unit_map_id": m, "name": "B"},
                "level_tags": {"map_id": m, "key": "k", "name": "K"},
                "units": {**asset, "id": u, "floor_id": f, "name": "U", "map_ids": [m]},
                "unit_references": {**unit, "key": "crm", "value": "1"},
                "attribute_assignments": {**unit, "attribute_id": "t"},
                "locations": {**asset, "id": f"l{a}-{n}", "unit_map_id": m, "name": "L", **spot},
            }
            for kind, record in records.items():
                bundle[kind].append(record)
    return bundle


QUERIES = {
    "{ assets { data { floors { data { id } } } } }": 2,
    "{ assets { data { floors { data { units { data { asset { id } } } } } } } }": 4,
    "{ units { data { floor { asset { maps { data { id } } } } } } }": 4,
    "{ units { data { references { data { key } } attributes { data { attribute { "
    "attributeKey } unit { id } } } } } }": 5,
    "{ units { data { location { id map { id } floors { floor { id } } unit { id } } } } }": 5,
    "{ maps { data { asset { id } backgrounds { data { map { id } } } levelTags { data { key } } "
    "units { data { id } } locations { data { id } } chosenBackground { id } } } }": 8,
    "{ attributeGroups { data { assignments { data { unit { name } asset { name } } } } } }": 4,
}
"""Queries, and the commands that each may take: one for each list and each kind beneath it."""


@pytest.fixture(scope="module")
async def counted(
    mongo_url: str, tmp_path_factory: pytest.TempPathFactory, anyio_backend: str
) -> AsyncIterator[list[tuple[int, Commands, httpx.AsyncClient]]]:
    """Clients of a small directory and of one with sixteen times as many records."""
    async with AsyncExitStack() as stack:
        made = []
        for each in (2, 8):
            name = uuid.uuid4().hex
            bundle = tmp_path_factory.mktemp("commands") / "bundle.json"
            world = await create_world(mongo_url, name, bundle, catalog(each))
            stack.callback(drop_world, world)
            commands = Commands(name)
            monitoring.register(commands)  # for the clients that are made from here on
            gateway = await stack.enter_async_context(run_gateway(world.settings(cache_mb=0)))
            client = await stack.enter_async_context(open_client(gateway, world.keys.full))
            made.append((each, commands, client))
        yield made


@pytest.mark.parametrize("query", QUERIES)
async def test_the_number_of_commands_does_not_grow_with_the_number_of_records(
    counted: list[tuple[int, Commands, httpx.AsyncClient]], query: str
) -> None:
    numbers = []
    for each, commands, client in counted:
        assert "errors" not in await post_graphql(
            client, query
        )  # the key is in memory from here on
        commands.clear()
        body = await post_graphql(client, query)
        assert "errors" not in body
        assert repr(body).count("{") >= each
        numbers.append(len(commands.sent))
    assert numbers == [QUERIES[query]] * 2


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("/v1/units", 1),
        ("/v1/units/u0-0", 1),
        ("/v1/units/none", 1),
        ("/v1/assets/a0/floors", 1),
        ("/v1/maps/m0-0/units/u0-0", 2),
        ("/v1/units?page=2&per-page=2", 1),
    ],
)
async def test_a_rest_request_makes_few_commands(
    counted: list[tuple[int, Commands, httpx.AsyncClient]], path: str, number: int
) -> None:
    for _, commands, client in counted:
        await client.get(path)
        commands.clear()
        await client.get(path)
        assert len(commands.sent) == number
