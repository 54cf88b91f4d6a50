"""Siblings are resolved together: the number of MongoDB commands does not grow with records."""

import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest
from pymongo import monitoring

from storage.mongo import driver
from tests.fixtures import World, create_world, open_client, post_graphql, run_gateway
from tests.resolvers.directory import Commands

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


def catalog(each: int) -> dict[str, list[dict[str, Any]]]:
    """`each` assets with `each` floors, units and maps, so that every list has `each` members."""
    bundle: dict[str, list[dict[str, Any]]] = {
        name: [] for name in ("assets", "floors", "maps", "backgrounds", "units", "level_tags")
    }
    bundle |= {"asset_references": [], "unit_references": [], "locations": []}
    bundle["attribute_groups"] = [
        {
            "group_id": "g",
            "group_name": "G",
            "one_attribute_per_unit": True,
            "attributes": [{"attribute_id": "t", "attribute_name": "T", "attribute_key": "t"}],
        }
    ]
    bundle["attribute_assignments"] = []
    for a in range(each):
        asset = {"asset_id": f"a{a}"}
        bundle["assets"].append({"id": f"a{a}", "name": "A"})
        bundle["asset_references"].append({**asset, "id": f"r{a}", "key": "crm", "value": "1"})
        for n in range(each):
            unit = {**asset, "unit_id": f"u{a}-{n}"}
            bundle["floors"].append({**asset, "id": f"f{a}-{n}", "name": "F"})
            bundle["maps"].append(
                {**asset, "id": f"m{a}-{n}", "name": "M", "background_id": f"b{a}-{n}"}
            )
            bundle["backgrounds"].append(
                {"id": f"b{a}-{n}", "unit_map_id": f"m{a}-{n}", "name": "B"}
            )
            bundle["level_tags"].append({"map_id": f"m{a}-{n}", "key": "k", "name": "K"})
            bundle["units"].append(
                {
                    **asset,
                    "id": f"u{a}-{n}",
                    "floor_id": f"f{a}-{n}",
                    "name": "U",
                    "map_ids": [f"m{a}-{n}"],
                }
            )
            bundle["unit_references"].append({**unit, "group_id": "g", "key": "crm", "value": "1"})
            bundle["attribute_assignments"].append({**unit, "group_id": "g", "attribute_id": "t"})
            bundle["locations"].append(
                {
                    **asset,
                    "id": f"l{a}-{n}",
                    "unit_map_id": f"m{a}-{n}",
                    "name": "L",
                    "x": 1,
                    "y": 1,
                    "floors": [{"id": f"f{a}-{n}"}],
                    "tags": [{"key": "svc:id", "value": f"u{a}-{n}"}],
                }
            )
    return bundle


QUERIES = {
    "{ assets { data { floors { data { id } } } } }": 2,
    "{ assets { data { units { data { id } } maps { data { id } } } } }": 3,
    "{ assets { data { floors { data { units { data { asset { id } } } } } } } }": 4,
    "{ assets { data { references { data { asset { id } } } } } }": 3,
    "{ units { data { asset { id } floor { id } maps { data { id } } } } }": 4,
    "{ units { data { floor { asset { maps { data { id } } } } } } }": 4,
    "{ units { data { references { data { key } } attributes { data { attribute { "
    "attributeKey } unit { id } } } } } }": 5,
    "{ units { data { location { id map { id } floors { floor { id } } unit { id } } } } }": 5,
    "{ maps { data { asset { id } backgrounds { data { map { id } } } levelTags { data { key } } "
    "units { data { id } } locations { data { id } } chosenBackground { id } } } }": 8,
    "{ unitReferences { data { unit { floor { id } } } } }": 3,
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
            stack.push_async_callback(_drop, world)
            commands = Commands(name)
            monitoring.register(commands)  # for the clients that are made from here on
            gateway = await stack.enter_async_context(run_gateway(world.settings(cache_mb=0)))
            client = await stack.enter_async_context(open_client(gateway, world.keys.full))
            made.append((each, commands, client))
        yield made


async def _drop(world: World) -> None:
    client = driver.connect(world.mongo_url)
    await client.drop_database(world.database)
    await driver.close(client)


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
