"""Loaders read keys of one event-loop iteration together, and nothing twice."""

import asyncio
from collections.abc import Sequence

import pytest

from resolvers.request.loading import DataLoader

pytestmark = pytest.mark.anyio


class RecordingLoader:
    """Double numbers, record the calls, and fail at negative ones."""

    def __init__(self, max_keys: int = 100) -> None:
        self.calls: list[list[int]] = []
        self.loader = DataLoader(self.load, max_keys)

    async def load(self, keys: list[int]) -> Sequence[int]:
        self.calls.append(keys)
        await asyncio.sleep(0)
        if min(keys) < 0:
            raise ValueError("negative")
        return [2 * key for key in keys]


async def test_concurrent_callers_share_one_call() -> None:
    recording = RecordingLoader()
    answers = await asyncio.gather(*(recording.loader.load(keys) for keys in ([3, 1], [1, 1, 2])))
    assert answers == [[6, 2], [2, 2, 4]]
    assert recording.calls == [[3, 1, 2]]


async def test_one_key_is_read_with_those_of_others() -> None:
    recording = RecordingLoader()
    values, value = await asyncio.gather(
        recording.loader.load([1, 2]), recording.loader.load_one(3)
    )
    assert (values, value) == ([2, 4], 6)
    assert await recording.loader.load_one(2) == 4
    assert recording.calls == [[1, 2, 3]]


async def test_nothing_is_read_twice() -> None:
    recording = RecordingLoader()
    await recording.loader.load([1, 2])
    assert await recording.loader.load([2, 3, 1]) == [4, 6, 2]
    assert await recording.loader.load([]) == []
    assert recording.calls == [[1, 2], [3]]


async def test_the_keys_of_a_call_are_bounded() -> None:
    recording = RecordingLoader(max_keys=2)
    assert await recording.loader.load([1, 2, 3]) == [2, 4, 6]
    assert recording.calls == [[1, 2], [3]]


async def test_an_error_is_raised_to_all_callers() -> None:
    recording = RecordingLoader()
    failed = await asyncio.gather(
        recording.loader.load([1]), recording.loader.load([-1]), return_exceptions=True
    )
    assert [str(error) for error in failed] == ["negative", "negative"]


async def test_keys_are_read_again_if_the_caller_who_reads_them_is_cancelled() -> None:
    recording = RecordingLoader()
    cancelled = asyncio.create_task(recording.loader.load([1]))
    other = asyncio.create_task(recording.loader.load([1, 2]))
    while not recording.calls:
        await asyncio.sleep(0)
    cancelled.cancel()
    assert await other == [2, 4]
    assert recording.calls == [[1, 2], [1, 2]]


async def test_an_error_is_raised_again_without_a_call() -> None:
    recording = RecordingLoader()
    for _ in range(2):
        with pytest.raises(ValueError, match="negative"):
            await recording.loader.load([-1])
    assert await recording.loader.load([1]) == [2]
    assert recording.calls == [[-1], [1]]
