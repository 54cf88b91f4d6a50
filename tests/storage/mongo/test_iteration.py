"""A collection is read in batches, each a query of its own."""

from typing import Any

import pytest

from storage.mongo import iteration
from storage.mongo.iteration import iter_batches

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def batches_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(iteration, "BATCH_DOCUMENTS", 2)


@pytest.mark.parametrize(
    ("count", "expected"), [(0, []), (1, [[0]]), (2, [[0, 1]]), (5, [[0, 1], [2, 3], [4]])]
)
async def test_all_documents_come_once_and_in_order(
    database: Any, count: int, expected: list[list[int]]
) -> None:
    if count:
        await database["all"].insert_many([{"_id": number} for number in reversed(range(count))])
    batches = [
        [document["_id"] for document in batch] async for batch in iter_batches(database["all"])
    ]
    assert batches == expected


async def test_condition_projection_and_order_apply_to_every_batch(database: Any) -> None:
    await database["all"].insert_many(
        [{"_id": number, "rank": -number, "even": number % 2 == 0} for number in range(8)]
    )
    batches = iter_batches(database["all"], {"even": True}, {"_id": 0, "rank": 1}, None, "rank")
    assert [batch async for batch in batches] == [
        [{"rank": -6}, {"rank": -4}],
        [{"rank": -2}, {"rank": 0}],
    ]


async def test_documents_inserted_behind_the_reader_are_not_seen(database: Any) -> None:
    await database["all"].insert_many([{"_id": number} for number in (10, 20, 30)])
    batches = iter_batches(database["all"])
    await anext(batches)
    await database["all"].insert_many([{"_id": 5}, {"_id": 25}])
    assert [batch async for batch in batches] == [[{"_id": 25}, {"_id": 30}]]
