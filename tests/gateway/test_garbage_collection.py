"""Requests leave nothing that only the garbage collector frees, which would hold the event loop."""

import gc
from typing import Any

import pytest

from gateway.server.uvicorn_server import set_up_garbage_collection
from resolvers.request.context import Context
from tests.fixtures import ALL_FLAGS, SEEN, World, gateway_client

pytestmark = pytest.mark.anyio

UNUSED = ["unused"] * 3
ASSIGN = """mutation ($d: [AssignmentInput!]!) {
  assignUnitAttributes(input: { groupId: "view", assignments: $d }) {
    assignments { unit { id floor { id } } }
  }
}"""
ASSIGNMENT = {"groupId": "view", "attributeId": "sea", "assetId": SEEN, "unitId": "unit-1"}


def is_of_request(value: Any) -> bool:
    # By the type itself: there may be weak proxies of what has gone, which raise at any other look.
    return type(value) is Context or (type(value) is list and value == UNUSED)


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
        ("{ units(perPage: 5) { data { id floor { id } maps { data { id } } } } }", {}),
        ("{ units(page: 0) { data { id } } }", {}),
        ("query ($n: Int!) { units(page: $n) { data { id } } }", {"n": "x", "unused": UNUSED}),
        (ASSIGN, {"d": [ASSIGNMENT]}),
    ],
)
async def test_what_a_request_has_read_is_freed_without_the_collector(
    world: World, query: str, variables: dict[str, Any]
) -> None:
    body = {"query": query, "variables": variables}
    async with gateway_client(world.settings(cache_mb=0), world.keys.full) as client:
        client.headers.update(ALL_FLAGS)
        await client.post("/graphql", json=body)
        gc.collect()
        gc.disable()
        try:
            assert (await client.post("/graphql", json=body)).status_code == 200
            gc.set_debug(gc.DEBUG_SAVEALL)
            gc.collect()
            left = [each for each in gc.garbage if is_of_request(each)]
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()
    assert not left
