"""Long responses are written in parts, and are the same JSON."""

import asyncio
from typing import Any

import orjson
import pytest

from rest import json_writing
from rest.json_writing import write_json

pytestmark = pytest.mark.anyio

FLOOR = {"tags": ["x" * 40] * 50}
"""A long value that may be there twice."""


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"data": [{"id": str(n), "tags": [n, None, "\u00e9"]} for n in range(300)]},
        [[["x" * 90] * 50] * 3, {"a": {}, "b": []}],
        {"data": orjson.Fragment(b"[1,2]"), "long": ["x" * 500]},
        {"data": [{"floor": FLOOR}, {"floor": FLOOR}], "a": FLOOR, "b": FLOOR["tags"]},
    ],
)
async def test_parts_join_to_the_same_json(value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_writing, "BYTES_IN_PART", 100)
    expected = orjson.dumps(value)
    assert await write_json(value) == expected


async def test_others_run_between_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_writing, "BYTES_IN_PART", 100)
    monkeypatch.setattr("storage.store.MAX_SLICE_SECONDS", 0)
    turns: list[int] = []

    async def count_turns() -> None:
        while True:
            await asyncio.sleep(0)
            turns.append(1)

    counting = asyncio.create_task(count_turns())
    await write_json(["x" * 40] * 100)
    counting.cancel()
    assert len(turns) >= 30


async def test_writing_ends_when_the_size_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_writing, "BYTES_IN_PART", 100)
    seen: list[int] = []

    def check(size: int) -> None:
        seen.append(size)
        if size > 500:
            raise OverflowError

    with pytest.raises(OverflowError):
        await write_json(["x" * 40] * 1000, check)
    assert seen[-1] < 1000
