"""Loaders: what is asked for in one turn is read together, and nothing is read twice."""

import asyncio
from collections.abc import Sequence

import pytest

from resolvers.request.loading import Loader

pytestmark = pytest.mark.anyio


class Reading:
    """Doubles numbers, notes what it was asked, and fails at negative ones."""

    def __init__(self, most: int = 100) -> None:
        self.calls: list[list[int]] = []
        self.loader = Loader(self.load, most)

    async def load(self, keys: list[int]) -> Sequence[int]:
        self.calls.append(keys)
        await asyncio.sleep(0)
        if min(keys) < 0:
            raise ValueError("negative")
        return [2 * key for key in keys]


async def test_who_asks_in_the_same_turn_shares_one_call() -> None:
    reading = Reading()
    answers = await asyncio.gather(*(reading.loader.load(keys) for keys in ([3, 1], [1, 1, 2])))
    assert answers == [[6, 2], [2, 2, 4]]
    assert reading.calls == [[3, 1, 2]]


async def test_nothing_is_read_twice() -> None:
    reading = Reading()
    await reading.loader.load([1, 2])
    assert await reading.loader.load([2, 3, 1]) == [4, 6, 2]
    assert await reading.loader.load([]) == []
    assert reading.calls == [[1, 2], [3]]


async def test_a_call_has_no_more_keys_than_it_may() -> None:
    reading = Reading(most=2)
    assert await reading.loader.load([1, 2, 3]) == [2, 4, 6]
    assert reading.calls == [[1, 2], [3]]


async def test_a_failure_is_raised_to_all_who_wait_for_it() -> None:
    reading = Reading()
    failed = await asyncio.gather(
        reading.loader.load([1]), reading.loader.load([-1]), return_exceptions=True
    )
    assert [str(error) for error in failed] == ["negative", "negative"]


async def test_one_who_stops_waiting_ends_nothing_for_others() -> None:
    reading = Reading()
    impatient = asyncio.create_task(reading.loader.load([1]))
    patient = asyncio.create_task(reading.loader.load([1, 2]))
    await asyncio.sleep(0)
    impatient.cancel()
    assert await patient == [2, 4]
