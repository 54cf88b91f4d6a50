"""Full collections run on a schedule, and large responses cause none."""

import asyncio
import gc
import weakref
from collections.abc import Iterator

import pytest

from gateway import garbage_collection
from gateway.garbage_collection import THRESHOLDS, schedule_collections

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
