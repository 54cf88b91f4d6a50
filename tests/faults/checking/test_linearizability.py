"""Histories written by hand, good and bad, and random ones in which every order is tried."""

import math
import random
import re
from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.faults.checking.history import Action, Operation
from tests.faults.checking.linearizability import UndecidedError, find_violation


def op(action: Action, value: str | None, invoked: float, returned: float = math.inf) -> Operation:
    return Operation("r", action, value, invoked, returned)


def history(text: str) -> list[Operation]:
    """Return the operations of `action value invoked-returned, ...`; what is unknown has no end."""
    operations = []
    for action, value, invoked, returned in re.findall(r"(\w+) (\S+) (\d+)-(\d*)", text):
        shown = None if value == "-" else value
        operations.append(op(action, shown, float(invoked), float(returned or math.inf)))
    return operations


GOOD = {
    "nothing": "",
    "a write is read": "write a 0-1, read a 2-3",
    "a concurrent read sees either": "write a 0-10, read - 1-2, read a 3-4",
    "an unknown write happens late": "write a 0-, write b 1-2, read b 3-4, read a 5-6",
    "an unknown write happens late, is seen and then removed": (
        "write a 0-, write b 1-2, read b 3-4, read a 5-6, remove a 7-8, read - 9-10"
    ),
    "an unknown write happens late, unseen, and is removed": (
        "write a 0-, write b 1-2, remove a 3-6, read - 7-8"
    ),
    "an unknown write never happens": "write a 0-, read - 5-6",
    "a removal of the value": "write a 0-1, remove a 2-3, read - 4-5",
    "a removal of another value": "write a 0-1, remove b 2-3, read a 4-5",
    "an unknown removal happens late": "write a 0-1, remove a 2-, read a 4-5, read - 6-7",
    "a value that is written twice": (
        "write a 0-1, write b 2-3, write a 4-, read b 5-6, read a 7-8"
    ),
    "writers overlap": "write a 0-10, write b 0-10, read b 1-2, read a 3-4",
}
BAD = {
    "an acknowledged write is lost": "write a 0-1, read - 2-3",
    "a read is stale": "write a 0-1, write b 2-3, read a 4-5",
    "reads go back in time": "write a 0-, read a 1-2, read - 3-4",
    "an unknown write that was seen and removed comes back": (
        "write a 0-, read a 1-2, remove a 3-4, read - 5-6, read a 7-8"
    ),
    "an unknown write outlives its removal": "write a 0-, read a 1-2, remove a 3-4, read a 5-6",
    "a value from nowhere": "read a 0-1",
    "a read sees a write before it began": "read a 0-1, write a 2-3",
    "a write happens twice": "write a 0-1, write b 2-3, read b 4-5, read a 6-7, read b 8-9",
    "two readers disagree on the order": "write a 0-1, write b 0-1, read a 2-3, read b 4-5",
    "a removal does not happen": "write a 0-1, remove a 2-3, read a 4-5",
    "a removal removes another value": "write a 0-1, remove b 2-, read - 4-5",
}


@pytest.mark.parametrize("name", GOOD)
def test_a_good_history_has_an_order(name: str) -> None:
    assert find_violation(history(GOOD[name])) is None


@pytest.mark.parametrize("name", BAD)
def test_a_bad_history_has_none(name: str) -> None:
    assert find_violation(history(BAD[name])) is not None


def test_the_operation_that_fits_nowhere_is_named() -> None:
    stale = op("read", "a", 6, 7)
    history = [op("write", "a", 0, 1), op("write", "b", 2, 3), op("read", "b", 4, 5), stale]
    assert find_violation(history) == stale


def test_a_register_may_have_a_value_at_first() -> None:
    assert find_violation([op("read", "a", 0, 1)], initial="a") is None


@st.composite
def histories(draw: st.DrawFn) -> list[Operation]:
    values = st.sampled_from(["a", "b"])
    operations = []
    for _ in range(draw(st.integers(1, 6))):
        action: Action = draw(st.sampled_from(["write", "remove", "read"]))
        value = draw(st.none() | values if action == "read" else values)
        invoked = draw(st.integers(0, 8))
        lasts = st.integers(0, 4)
        returned = invoked + draw(lasts if action == "read" else lasts | st.just(math.inf))
        operations.append(op(action, value, invoked, returned))
    return operations


def has_order(operations: list[Operation]) -> bool:
    """Try every order of every subset that has all that returned."""
    unknown = [each for each in operations if each.is_unknown]
    known = [each for each in operations if not each.is_unknown]
    for bits in range(2 ** len(unknown)):
        happened = [each for at, each in enumerate(unknown) if bits >> at & 1]
        if any(is_right(order) for order in permutations(known + happened)):
            return True
    return False


def is_right(order: tuple[Operation, ...]) -> bool:
    state: str | None = None
    for at, each in enumerate(order):
        if any(later.returned < each.invoked for later in order[at + 1 :]):
            return False
        if each.action == "read" and each.value != state:
            return False
        if each.action == "write":
            state = each.value
        elif each.action == "remove" and each.value == state:
            state = None
    return True


@given(histories())
def test_the_search_finds_what_trying_all_orders_finds(operations: list[Operation]) -> None:
    assert (find_violation(operations) is None) == has_order(operations)


def test_thousands_of_operations_are_checked() -> None:
    """A search without memoisation would not end. Every 50th write is unknown."""
    operations = []
    for number in range(4_000):
        value, returned = f"v{number}", math.inf if number % 50 == 0 else number + 0.5
        operations.append(op("write", value, number, returned))
        if number % 50:
            operations += [
                op("read", value, number + 0.1 + at / 100, number + 0.9) for at in (1, 2)
            ]
    assert find_violation(operations) is None
    bad = op("read", "v2001", 3_990.95, 3_990.99)
    assert find_violation([*operations, bad]) is not None


@pytest.mark.parametrize("seconds", [1, 5, 40])
def test_operations_that_overlap_for_long_are_checked(seconds: int) -> None:
    """On a busy machine each lasts as long as many others, and half of the writes are unknown."""
    chance = random.Random(seconds)
    happening: list[tuple[float, Operation]] = []
    for client in range(12):
        now = chance.random()
        for number in range(100):
            returned = now + chance.random() * seconds
            at = chance.uniform(now, returned)
            is_unknown = client < 4 and chance.random() < 0.5
            each = op("write" if client < 4 else "read", f"{client}-{number}", now, returned)
            happening.append((at, replace(each, returned=math.inf) if is_unknown else each))
            now = now + chance.random() if is_unknown else returned
    value, operations = None, list[Operation]()
    for _, each in sorted(happening, key=lambda pair: pair[0]):
        value = each.value if each.action == "write" else value
        operations.append(replace(each, value=value))
    assert find_violation(operations) is None
    last = max(each.returned for each in operations if not each.is_unknown)
    stale = op("read", operations[0].value, last + 1, last + 2)
    assert find_violation([*operations, stale]) == stale


def test_a_search_that_would_not_end_is_given_up() -> None:
    """Each of the unknown writes may have happened before each of the reads, or after."""
    operations = [op("write", f"v{number}", 0) for number in range(30)]
    operations += [op("remove", f"v{number}", 0) for number in range(30)]
    with pytest.raises(UndecidedError):
        find_violation([*operations, op("read", "never", 1, 2)])
