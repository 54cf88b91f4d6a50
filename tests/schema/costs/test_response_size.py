"""The size of a result is estimated from samples of its lists."""

from typing import Any

import orjson
import pytest

from schema.costs.response_size import estimate_bytes

UNIT = {"id": "unit-1", "name": "Unit 1", "sort": 12, "floor": {"id": "floor-1"}, "tags": []}


@pytest.mark.parametrize(
    "data",
    [
        {"units": {"data": [UNIT] * 10_000}},
        {"units": {"data": [{"id": "x" * (number % 50)} for number in range(1_000)]}},
        {"assets": [{"floors": [{"units": [UNIT] * 20}] * 10}] * 30},
        {"maps": [{"locations": [{"tags": ["x" * 255, *["yes"] * 9]}] * 50}] * 20},
        {"assets": [{"floors": [{"units": ["A" * 200, *["B"] * 20]}] * 8}] * 30},
        {"unit": UNIT},
    ],
)
def test_an_estimate_is_near_the_size(data: Any) -> None:
    assert estimate_bytes(data) == pytest.approx(len(orjson.dumps(data)), rel=0.25)


def test_an_estimate_looks_at_few_items() -> None:
    looked_at = 0

    class Counted(dict[str, Any]):
        def values(self) -> Any:
            nonlocal looked_at
            looked_at += 1
            return super().values()

    data: Any = Counted(id="x")
    for _ in range(4):
        data = [data] * 20
    estimate_bytes([Counted(data=data)] * 50)
    assert 0 < looked_at < 2_000


@pytest.mark.parametrize("data", [None, True, 1, 1.5, [], {}])
def test_anything_has_an_estimate(data: Any) -> None:
    assert 0 < estimate_bytes(data) < 10
