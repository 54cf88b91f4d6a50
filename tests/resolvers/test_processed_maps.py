"""Operators make maps routable through GraphQL, and learn why one is not."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from resolvers.processing import process_pool
from resolvers.processing.process_pool import ProcessPool
from storage.administration.import_lease import LEASE_COLLECTION, LEASE_ID, ImportLease
from storage.mongo.lease import Lease
from tests.fixtures import (
    World,
    data_of,
    gateway_client,
    open_database,
    post_graphql,
)
from tests.resolvers.tower import SVG, tower

pytestmark = pytest.mark.anyio
here = pytest.mark.usefixtures("no_processes")
"""Marks tests that are not about the processes in which networks are built."""

ONE_WAY_IN = SVG.replace('x="8" y="19"', 'x="8" y="5"')
"""Two rooms of the four have their doors within, where they lead nowhere."""


@pytest.fixture
async def operator(own_world: World, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a client with all permissions; the map of the tower is not processed yet."""
    async with (
        tower(own_world, tmp_path),
        gateway_client(own_world.settings(), own_world.keys.full) as it,
    ):
        yield it


def mutation(**arguments: Any) -> str:
    given = ", ".join(f"{name}: {json.dumps(value)}" for name, value in arguments.items())
    return f"mutation {{ processMap(input: {{ {given} }}) {{ isRoutable report }} }}"


async def process(client: httpx.AsyncClient, **arguments: Any) -> dict[str, Any]:
    result: dict[str, Any] = (await data_of(client, mutation(**arguments)))["processMap"]
    return result


def new_map(map_id: str) -> dict[str, Any]:
    """Arguments that make a map and its asset from a plan."""
    plan = SVG.replace('rect id="', f'rect id="{map_id}-')
    return {"id": map_id, "plan": plan, "asset": f"{map_id}-asset", "feetPerUnit": 2}


async def owner_and_tier(client: httpx.AsyncClient, map_id: str) -> tuple[str, str]:
    query = f'{{ map(id: "{map_id}") {{ routingTier asset {{ id }} }} }}'
    found = (await data_of(client, query))["map"]
    return found["asset"]["id"], found["routingTier"]


@here
async def test_a_map_is_made_routable_from_its_own_drawing(operator: httpx.AsyncClient) -> None:
    assert await owner_and_tier(operator, "tower") == ("tower", "no_routing")
    processed = await process(operator, id="tower")
    assert processed["isRoutable"] is True
    assert processed["report"]["map"] == "tower"
    assert processed["report"]["refusal"] is None
    assert await owner_and_tier(operator, "tower") == ("tower", "wheelchair_routing")


@here
async def test_below_the_required_share_nothing_changes_and_the_report_says_why(
    operator: httpx.AsyncClient,
) -> None:
    processed = await process(operator, id="tower", plan=ONE_WAY_IN, require=60)
    assert processed["isRoutable"] is False
    assert "2 of 4 locations reach each other by foot" in processed["report"]["refusal"]
    assert await owner_and_tier(operator, "tower") == ("tower", "no_routing")


REPORT = '{ map(id: "tower") { routingReport } }'


@here
async def test_whoever_sees_a_map_can_read_what_is_wrong_with_its_plan(
    operator: httpx.AsyncClient, own_world: World
) -> None:
    assert await data_of(operator, REPORT) == {"map": {"routingReport": None}}
    processed = await process(operator, id="tower", plan=ONE_WAY_IN)
    report = (await data_of(operator, REPORT))["map"]["routingReport"]
    assert report["groups"] == processed["report"]["groups"]
    group = report["groups"][0]
    assert group["statement"] == "2 rooms have no door: 2 of 4 locations cannot be reached"
    assert group["problems"][0] == {
        "part": "lower-west",
        "name": "",
        "level_id": "lower",
        "x": 10.0,
        "y": 6.5,
        "map_x": 10.0,
        "map_y": 6.5,
        "locations": 1,
        "message": "room 'lower-west' (line 3 of plan) has no door; door 'lower#4' (line 10 of"
        " plan) is 5.0 ft from its wall",
        "file": "plan",
        "line": 3,
    }
    async with gateway_client(own_world.settings(), own_world.keys.restricted) as other:
        assert await data_of(other, REPORT) == {"map": None}


@here
async def test_the_text_of_a_plan_makes_a_new_map_of_the_asset_named(
    operator: httpx.AsyncClient,
) -> None:
    processed = await process(operator, **new_map("annex"))
    assert processed["isRoutable"] is True
    assert processed["report"]["feet_per_unit"] == 2
    assert await owner_and_tier(operator, "annex") == ("annex-asset", "wheelchair_routing")
    await process(operator, **new_map("wing") | {"asset": "tower"})
    tower = (await data_of(operator, '{ asset(id: "tower") { name } }'))["asset"]
    assert tower == {"name": "Tower"}  # it keeps its name


@here
async def test_what_cannot_be_processed_is_an_error(operator: httpx.AsyncClient) -> None:
    for arguments, code, fields in (
        ({"id": "missing"}, "NOT_FOUND", []),
        ({"id": "plain"}, "INVALID_INPUT", ["input.source"]),
        ({"id": "tower", "asset": "other"}, "INVALID_INPUT", ["input.asset"]),
        ({"id": "tower", "require": 100.1}, "INVALID_INPUT", ["input.require"]),
        ({"id": "tower", "require": -0.1}, "INVALID_INPUT", ["input.require"]),
        (new_map("annex") | {"feetPerUnit": 0}, "INVALID_INPUT", ["input.feetPerUnit"]),
        ({"id": ""}, "INVALID_INPUT", ["input.id"]),
        ({"id": "tower", "plan": "<svg><"}, "REFUSED_DOCUMENT", []),
    ):
        (error,) = (await post_graphql(operator, mutation(**arguments)))["errors"]
        assert error["extensions"]["code"] == code
        assert [*error["extensions"].get("fields", ())] == fields


IMPORT = 'mutation { importCatalog(input: { bundle: "{}" }) { notes } }'


def write_mutations() -> list[str]:
    """Both mutations that import, the processing of maps with and without a plan of its own."""
    return [mutation(id="tower"), mutation(**new_map("annex")), IMPORT]


@here
async def test_an_interrupted_import_of_a_newer_release_refuses_both_mutations(
    operator: httpx.AsyncClient, own_world: World
) -> None:
    newer = {"holder": "newer", "expires": Lease.EXPIRED_AT, "state": "renaming"}
    async with open_database(own_world) as database:
        await database[LEASE_COLLECTION].update_one({"_id": LEASE_ID}, {"$set": newer})
    for document in write_mutations():
        [error] = (await post_graphql(operator, document))["errors"]
        assert error["extensions"]["code"] == "REFUSED_DOCUMENT"
        assert "a newer release was interrupted while renaming" in error["message"]


@here
async def test_an_import_that_loses_its_lease_says_so_with_503(
    operator: httpx.AsyncClient, own_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lose(lease: ImportLease, **options: Any) -> None:
        taken = {"holder": "another", "state": "idle"}
        await lease._database[LEASE_COLLECTION].update_one({"_id": LEASE_ID}, {"$set": taken})
        await begin_staging(lease, **options)

    begin_staging = ImportLease.begin_staging
    monkeypatch.setattr(ImportLease, "begin_staging", lose)
    for document in (mutation(**new_map("annex")), IMPORT):
        response = await operator.post("/graphql", json={"query": document})
        [error] = response.json()["errors"]
        assert error["message"].startswith("The import lost its lease because")
        assert error["extensions"]["code"] == "SERVICE_UNAVAILABLE"
        assert (response.status_code, response.headers["retry-after"]) == (503, "1")


async def test_each_key_has_one_process_and_a_place_in_a_queue_that_is_bounded(
    operator: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def refuse(pool: ProcessPool, owner: str) -> bool:
        asked.append((pool._max_of_owner, owner))
        return False

    monkeypatch.setattr(ProcessPool, "_has_process_for", refuse)
    monkeypatch.setattr(process_pool, "MAX_WAITING", 0)
    response = await operator.post("/graphql", json={"query": mutation(id="tower")})
    [error] = response.json()["errors"]
    assert error["extensions"]["code"] == "SERVICE_UNAVAILABLE"
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    keys = (await data_of(operator, "{ apiKeys { data { id name } } }"))["apiKeys"]["data"]
    assert {*asked} == {(1, key["id"]) for key in keys if key["name"] == "full"}
    assert await owner_and_tier(operator, "tower") == ("tower", "no_routing")
