"""The budget of an operation: what it counts, and how it ends the operation."""

import pytest

from resolvers.request import context
from resolvers.request.context import Budget
from resolvers.request.errors import LimitExceededError


@pytest.mark.parametrize("count", [Budget.count_read, Budget.count_cost])
def test_records_are_counted_up_to_a_limit(monkeypatch: pytest.MonkeyPatch, count: object) -> None:
    monkeypatch.setattr(context, "MAX_RECORDS_PER_REQUEST", 3)
    counts = Budget()
    assert callable(count)
    count(counts, 3)
    for _ in range(2):  # once exceeded, a limit stays exceeded
        with pytest.raises(LimitExceededError, match="more than 3 records") as raised:
            count(counts, 1)
        assert raised.value.extensions == {"code": "LIMIT_EXCEEDED", "limit": "records", "max": 3}


def test_reading_and_returning_are_counted_apart() -> None:
    counts = Budget()
    counts.count_read(context.MAX_RECORDS_PER_REQUEST)
    counts.count_cost(context.MAX_RECORDS_PER_REQUEST)


def test_a_drawing_counts_each_time_it_is_written() -> None:
    counts = Budget(max_bytes=100)
    counts.count_bytes(50)
    counts.count_bytes(50)
    counts.check_least(counts.drawing_bytes)
    counts.count_bytes(50)
    with pytest.raises(LimitExceededError, match="at least 150 bytes, over the limit of 100"):
        counts.check_least(counts.drawing_bytes)


def test_drawings_are_checked_before_they_are_read() -> None:
    counts = Budget(max_bytes=100)
    counts.check_least(100)
    assert counts.drawing_bytes == 0
    with pytest.raises(LimitExceededError) as raised:
        counts.check_least(101)
    assert raised.value.extensions == {
        "code": "LIMIT_EXCEEDED",
        "limit": "response_bytes",
        "max": 100,
        "requested": 101,
    }


def test_a_response_may_be_as_large_as_the_limit() -> None:
    counts = Budget(max_bytes=100)
    counts.check_response(100)
    with pytest.raises(LimitExceededError, match="have 101 bytes"):
        counts.check_response(101)


def test_without_a_limit_a_response_may_have_any_size() -> None:
    counts = Budget()
    counts.check_least(10**12)
    counts.check_response(10**12)
