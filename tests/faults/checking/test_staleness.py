"""What counts as a stale read, and how stale it is."""

import math

from tests.faults.checking.history import Action, Operation
from tests.faults.checking.staleness import find_stale_reads


def op(action: Action, value: str | None, invoked: float, returned: float = math.inf) -> Operation:
    return Operation("r", action, value, invoked, returned, client="c")


def ages(*operations: Operation) -> list[float]:
    return [stale.seconds for stale in find_stale_reads(operations)]


def test_a_read_that_misses_an_acknowledged_write_is_stale_since_then() -> None:
    history = op("write", "a", 0, 1), op("write", "b", 2, 3), op("read", "a", 7, 8)
    assert ages(*history) == [4]


def test_a_read_that_misses_what_an_earlier_one_showed_is_stale() -> None:
    history = op("write", "a", 0, 1), op("write", "b", 2), op("read", "b", 5, 6)
    assert ages(*history, op("read", "a", 5.5, 8), op("read", "a", 7, 8)) == [1]


def test_the_beginning_may_be_stale_too() -> None:
    assert ages(op("write", "a", 0, 1), op("read", None, 3, 4)) == [2]


def test_a_read_beside_a_write_may_see_either() -> None:
    history = op("write", "a", 0, 1), op("write", "b", 2, 6), op("read", "a", 3, 4)
    assert ages(*history, op("read", "b", 3, 4)) == []


def test_writes_that_overlap_have_either_order() -> None:
    assert ages(op("write", "a", 0, 3), op("write", "b", 1, 2), op("read", "a", 4, 5)) == []


def test_an_unknown_write_may_show_at_any_time() -> None:
    history = op("write", "a", 0), op("write", "b", 1, 2), op("read", "b", 3, 4)
    assert ages(*history, op("read", "a", 5, 6)) == []


def test_nothing_may_be_what_a_removal_has_left() -> None:
    assert ages(op("write", "a", 0, 1), op("remove", "a", 2), op("read", None, 3, 4)) == []


def test_a_stale_read_says_what_it_missed() -> None:
    (stale,) = find_stale_reads([op("write", "a", 0, 1), op("read", None, 3, 4)])
    assert str(stale) == "c read r = None (uncached), 2.00 s after a of c was acknowledged"


def test_a_write_may_have_been_shown_before_it_was_acknowledged() -> None:
    history = [op("write", "a", 0, 1), op("write", "b", 2, 9), op("read", "b", 3, 4)]
    (early,) = find_stale_reads([*history, op("read", "a", 5, 6)])
    (late,) = find_stale_reads([*history, op("read", "a", 10, 11)])
    assert (early.is_acknowledged, early.seconds) == (False, 1)
    assert (late.is_acknowledged, late.seconds) == (True, 6)
