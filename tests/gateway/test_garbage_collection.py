"""Requests leave nothing that only the garbage collector frees, which would hold the event loop."""

import gc
from typing import Any

import httpx
import pytest

from gateway.server.worker import set_up_garbage_collection
from resolvers.request.context import Context
from tests.fixtures import ALL_FLAGS, SEEN, World, gateway_client, open_database

pytestmark = pytest.mark.anyio

UNUSED = ["unused"] * 3
ASSIGN = """mutation ($d: [AssignmentInput!]!) {
  assignUnitAttributes(input: { groupId: "view", assignments: $d }) {
    assignments { unit { id floor { id } } }
  }
}"""
ASSIGNMENT = {"groupId": "view", "attributeId": "sea", "assetId": SEEN, "unitId": "unit-1"}


def find_ids_of_requests() -> set[int]:
    """Return the identities of all that is there of requests."""
    # By the type itself: there may be weak proxies of what has gone, which raise at any other look.
    return {
        id(each)
        for each in gc.get_objects()
        if type(each) is Context or (type(each) is list and each == UNUSED)
    }


async def post_numbered(
    client: httpx.AsyncClient, query: str, variables: dict[str, Any], number: int
) -> None:
    """Post a query with a number in the place of NUMBER."""
    body = {"query": query.replace("NUMBER", str(number)), "variables": variables}
    assert (await client.post("/graphql", json=body, headers=ALL_FLAGS)).status_code == 200


async def test_a_worker_keeps_its_modules_out_of_collections_and_collects_seldom() -> None:
    thresholds = gc.get_threshold()
    gc.disable()  # as in a worker that starts
    try:
        set_up_garbage_collection()
        assert gc.isenabled()
        assert gc.get_freeze_count() > 10_000
        assert gc.get_threshold() == (10_000, *thresholds[1:])
    finally:
        gc.enable()
        gc.unfreeze()
        gc.set_threshold(*thresholds)


@pytest.mark.parametrize(
    ("query", "variables"),
    [
        ('{ unit(id: "unit-1") { id floor { id asset { id } } } }', {}),
        ("query ($n: Int!) { units(page: $n) { data { id } } }", {"n": "x", "unused": UNUSED}),
        (ASSIGN, {"d": [ASSIGNMENT]}),
        ("{ units { data { name } } floors: units(perPage: -NUMBER) { data { id } } }", {}),
        ('{ map(id: "plan/one") { locations { data { tags { key value createdAt } } } } }', {}),
    ],
)
async def test_what_a_request_has_read_is_freed_without_the_collector(
    own_world: World, query: str, variables: dict[str, Any]
) -> None:
    async with open_database(own_world) as database:
        await database["locations"].update_many({}, {"$unset": {"tags.0.created_at": 1}})
    async with gateway_client(own_world.settings(cache_mb=0), own_world.keys.full) as client:
        for number in range(4):
            await post_numbered(client, query, variables, number)
        gc.collect()
        before = find_ids_of_requests()
        gc.disable()
        try:
            await post_numbered(client, query, variables, 4)
            assert find_ids_of_requests() <= before
        finally:
            gc.enable()


@pytest.mark.parametrize(
    "query",
    [
        '{ units { data { name } } __type(name: "Unit") { name } }',
        'query QNUMBER { unit(id: "unit-NUMBER") { id } __type(name: "NUMBER") { name } }',
    ],
)
async def test_what_graphql_core_runs_keeps_no_request_alive(world: World, query: str) -> None:
    async with gateway_client(world.settings(cache_mb=0), world.keys.full) as client:
        gc.collect()
        before = find_ids_of_requests()
        for number in range(4):
            await post_numbered(client, query, {}, number)
        gc.collect()
        assert find_ids_of_requests() <= before
