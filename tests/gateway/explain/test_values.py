"""Values in explanations are bounded, and can be hidden."""

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from gateway.explain.values import MAX_CHARACTERS, MAX_VALUES, shorten


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, None),
        (True, True),
        (1.5, 1.5),
        (2**53 - 1, 2**53 - 1),
        (-(2**53), str(-(2**53))),  # no number of JavaScript is exact from here on
        (b"drawing", "7 bytes"),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00+00:00"),
        ("x" * 300, "x" * MAX_CHARACTERS + "…"),
        ("\ud800", "?"),  # a lone surrogate
        ([*range(10)], [*range(10)]),
        ([*range(11)], [*range(10), "… 1 more"]),
        ({"a": {"$in": ("b",)}}, {"a": {"$in": ["b"]}}),
    ],
)
def test_values_become_short_json(value: Any, shown: Any) -> None:
    assert shorten(value) == shown
    orjson.dumps(shorten(value))


def test_a_deep_and_wide_value_is_cut() -> None:
    value: Any = "leaf"
    for _ in range(6):
        value = [value] * 10
    assert orjson.dumps(shorten(value)).count(b"leaf") < MAX_VALUES


def test_only_some_values_are_shown() -> None:
    condition = {"$and": [{"_id": {"$in": ["a", "b"]}}, {"asset_id": "own", "n": 3}]}
    hidden = {"$and": [{"_id": {"$in": ["…"]}}, {"asset_id": "own", "n": "…"}]}
    assert shorten(condition, shown={"own"}) == hidden
