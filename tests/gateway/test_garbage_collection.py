"""Full collections run on a schedule, and requests leave little to collect."""

import asyncio
import gc
import weakref
from collections.abc import Iterator

import pytest

from gateway import garbage_collection
from gateway.garbage_collection import THRESHOLDS, schedule_collections
from resolvers.request.context import Context
from tests.fixtures import World, gateway_client

pytestmark = pytest.mark.anyio


class Node:
    """An object that refers to itself, so that only the collector frees it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def restored_collector() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    gc.unfreeze()


async def test_thousands_of_objects_cause_no_full_collection() -> None:
    schedule_collections(asyncio.get_running_loop())
    generations: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        generations.append(info["generation"])

    gc.callbacks.append(note)
    try:
        made = [[number] for number in range(THRESHOLDS[0] * (THRESHOLDS[1] + 2) * 12)]
    finally:
        gc.callbacks.remove(note)
    assert made
    assert {*generations} == {0, 1}


async def test_old_cycles_are_freed_on_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage_collection, "COLLECTION_SECONDS", 0.01)
    loop = asyncio.get_running_loop()
    schedule_collections(loop)
    for _ in range(2):  # the schedule goes on after the first time
        node = Node()
        gc.collect(1)  # it is old now
        freed = asyncio.Event()
        weakref.finalize(node, loop.call_soon_threadsafe, freed.set)
        del node
        await freed.wait()


@pytest.mark.parametrize(
    "query",
    [
        '{ unit(id: "unit-1") { id floor { id asset { id } } } }',
        "{ units(perPage: 5) { data { id floor { id } maps { data { id } } } } }",
        "{ units(page: 0) { data { id } } }",
    ],
)
async def test_what_a_query_has_read_is_freed_without_the_collector(
    world: World, query: str
) -> None:
    async with gateway_client(world.settings(cache_mb=0), world.keys.full) as client:
        await client.post("/graphql", json={"query": query})
        gc.collect()
        gc.disable()
        try:
            assert (await client.post("/graphql", json={"query": query})).status_code == 200
            gc.set_debug(gc.DEBUG_SAVEALL)
            gc.collect()
            left = [found for found in gc.garbage if isinstance(found, Context)]
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()
    assert not left
