"""What the checks of recorded histories notice: lost, doubled, stale and half writes, outages."""

import math
import re
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from tests.faults.catalog import BLOCK_UNITS, read_registers
from tests.faults.checking.history import Action, Operation, Request
from tests.faults.checking.linearizability import UndecidedError, find_violation
from tests.faults.checking.requests import Outage, find_gap, find_recovery, find_wrong_statuses
from tests.faults.checking.staleness import find_stale_reads
from tests.faults.checking.verdict import Round, judge


def op(action: Action, value: str | None, invoked: float, returned: float = math.inf) -> Operation:
    return Operation("r", action, value, invoked, returned, client="c")


def history(text: str) -> list[Operation]:
    """Return the operations of `action value invoked-returned, ...`; what is unknown has no end."""
    return [
        op(action, None if value == "-" else value, float(invoked), float(returned or math.inf))
        for action, value, invoked, returned in re.findall(r"(\w+) (\S+) (\d+)-(\d*)", text)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "write a 0-10, read - 1-2, read a 3-4",  # a concurrent read sees either
        "write a 0-, write b 1-2, read b 3-4, read a 5-6",  # an unknown write happens late
        "write a 0-, read - 5-6",  # or never
        "write a 0-1, remove b 2-3, read a 4-5",  # another value is removed
        "write a 0-1, remove a 2-, read a 4-5, read - 6-7",
        "write a 0-1, write b 2-3, write a 4-, read b 5-6, read a 7-8",
    ],
)
def test_a_good_history_has_an_order(text: str) -> None:
    assert find_violation(history(text)) is None


@pytest.mark.parametrize(
    ("text", "culprit"),
    [
        ("write a 0-1, read - 2-3", 1),  # an acknowledged write is lost
        ("write a 0-1, write b 2-3, read b 4-5, read a 6-7", 3),  # a read is stale
        ("write a 0-, read a 1-2, read - 3-4", 2),  # reads go back in time
        ("read a 0-1", 0),  # a value from nowhere
        ("write a 0-1, write b 2-3, read b 4-5, read a 6-7, read b 8-9", 3),
        ("write a 0-1, remove a 2-3, read a 4-5", 2),  # a removal does not happen
    ],
)
def test_the_operation_that_fits_nowhere_is_named(text: str, culprit: int) -> None:
    operations = history(text)
    assert find_violation(operations) == operations[culprit]


def test_a_write_on_a_condition_follows_the_value_that_it_replaces() -> None:
    first, second = (replace(op("write", value, 2, 3), replaces="a") for value in "bc")
    assert (
        find_violation([op("write", "a", 0, 1), first, replace(second, returned=math.inf)]) is None
    )
    assert find_violation([op("write", "a", 0, 1), first, second]) == first


def test_a_search_that_would_not_end_is_given_up() -> None:
    """Each of the unknown writes may have happened before each of the reads, or after."""
    operations = [op("write", f"v{number}", 0) for number in range(30)]
    operations += [op("remove", f"v{number}", 0) for number in range(30)]
    with pytest.raises(UndecidedError):
        find_violation([*operations, op("read", "never", 1, 2)])


@pytest.mark.parametrize(
    ("text", "ages"),
    [
        ("write a 0-1, write b 2-3, read a 7-8", [4]),
        ("write a 0-1, read - 3-4", [2]),
        ("write a 0-1, write b 2-, read b 5-6, read a 7-8", [1]),  # an earlier read showed b
        ("write a 0-1, write b 2-6, read a 3-4, read b 3-4", []),  # beside a write
        ("write a 0-3, write b 1-2, read a 4-5", []),  # writes that overlap have either order
        ("write a 0-, write b 1-2, read b 3-4, read a 5-6", []),  # unknown: at any time
        ("write a 0-1, remove a 2-, read - 3-4", []),
    ],
)
def test_a_read_is_stale_since_what_it_misses_was_acknowledged(
    text: str, ages: list[float]
) -> None:
    assert [stale.seconds for stale in find_stale_reads(history(text))] == ages


def request(status: int | None, sent: float = 0, ended: float = 1, **given: Any) -> Request:
    defaults: dict[str, Any] = {
        "gateway": 0,
        "kind": "read",
        "has_retry_after": status == 503,
        "code": "NO_PRIMARY",
    }
    return Request("c", path="/", sent=sent, ended=ended, status=status, **(defaults | given))


def test_no_fault_excuses_other_statuses_than_a_503_that_says_when_to_try_again() -> None:
    assert find_wrong_statuses(map(request, (200, 204, 429, 503))) == []
    wrong = [request(500), request(500), request(503, has_retry_after=False), request(None)]
    assert find_wrong_statuses([*wrong, request(503, code="OOPS")]) == [
        "1 x 503 with the code 'OOPS' to reads",
        "1 x 503 without Retry-After to reads",
        "1 x no response to reads",
        "2 x status 500 to reads",
    ]
    assert find_wrong_statuses([request(None)], ended_gateways={0}) == []
    assert find_wrong_statuses([request(None)], ended_gateways={1}) != []


def test_an_outage_lasts_from_success_to_success_at_the_gateway_that_was_slower() -> None:
    requests = [request(200, 0, at) for at in (1, 2, 9, 10, 40)] + [request(503, 0, 5)]
    assert find_gap(requests, "read", Outage(3, 6, 12)) == 7
    assert find_gap([], "read", Outage(3, 6, 12)) == 9
    requests = [request(200, 0, at, gateway=at % 2) for at in (2, 3, 4, 6, 8, 9, 10, 11)]
    assert find_gap(requests, "read", Outage(3, 6, 12)) == 6
    requests = [request(200, 0, 7), request(503, 0, 8), request(503, 0, 99)]
    assert find_recovery(requests, "read", Outage(3, 6, 12)) == 2


def write(value: str, invoked: float, returned: float = math.inf) -> Operation:
    return Operation(
        *("block 0", "write", value, invoked, returned),
        client="writer@0",
        gateway=0,
        request_id=value,
        must_change=True,
    )


def read(value: str | None, invoked: float, *, gateway: int = 0, cached: bool = True) -> Operation:
    client = f"reader@{gateway}"
    return Operation("block 0", "read", value, invoked, invoked + 0.1, client, gateway, cached)


def violations(*operations: Operation, **given: Any) -> list[str]:
    """Judge a round that has recorded the acknowledged writes, and ends with the last of them."""
    writes = [each for each in operations if each.action == "write" and not each.is_unknown]
    last = max(writes, key=lambda each: each.returned, default=None)
    defaults: dict[str, Any] = {
        "extra_pages": [],
        "requests": [],
        "counts": Counter(),
        "outage": Outage(0, 1, 2),
        "homes": {each.register: 0 for each in operations},
        "initial": {},
        "final": {last.register: last.value} if last else {},
        "audited": Counter(each.request_id for each in writes if each.request_id),
    }
    return judge(Round(operations, **(defaults | given)), 10.0).violations


def test_a_history_as_it_should_be_breaks_nothing() -> None:
    assert violations(write("a", 0, 1), read("a", 2), write("b", 3, 4), read("b", 5)) == []


def test_a_lost_or_doubled_write_breaks_a_promise() -> None:
    assert "lost" in violations(write("a", 0, 1), audited=Counter())[0]
    assert "not linearizable" in violations(write("a", 0, 1), final={"block 0": None})[0]
    unknown = write("a", 0)
    assert violations(unknown, audited=Counter(), final={"block 0": None}) == []
    assert violations(unknown, audited=Counter({"a": 1}), final={"block 0": "a"}) == []
    (twice,) = violations(unknown, audited=Counter({"a": 2}), final={"block 0": "a"})
    assert twice.startswith("written 2 times")


@pytest.mark.parametrize(
    ("gateway", "age", "is_broken"), [(0, 0.1, True), (1, 0.5, False), (1, 1.5, True)]
)
def test_another_gateway_may_be_a_second_behind(gateway: int, age: float, is_broken: bool) -> None:
    found = violations(write("a", 0, 1), read(None, 1 + age, gateway=gateway))
    assert any(each.startswith("stale: ") for each in found) == is_broken


def test_only_a_cached_read_may_miss_for_a_second_what_happened_unacknowledged() -> None:
    seen = write("a", 0), read("a", 1, cached=False)
    known = {"audited": Counter({"a": 1}), "final": {"block 0": "a"}}
    assert violations(*seen, read(None, 1.5), **known) == []
    assert len(violations(*seen, read(None, 1.5, cached=False), **known)) == 2


def test_half_batches_wrong_statuses_and_late_responses_are_violations() -> None:
    requests = [request(200, 0, 11), request(500), request(200, 0, 99, kind="import")]
    counts = Counter({"half batches": 2, "pages of one": 7})
    assert violations(requests=requests, counts=counts, problems=["a traceback"]) == [
        "a traceback",
        "1 x status 500 to reads",
        "a read took 11.0 s, over 10.0 s",
        "2 x half batches",
    ]


def test_a_block_of_different_attributes_is_half_a_batch() -> None:
    block = BLOCK_UNITS[0]
    rows = [{"unit_id": unit, "attribute_id": "v1"} for unit in block]
    assert read_registers(rows)[0]["block 0"] == "v1"
    values, problems = read_registers(
        [*rows[:30], *({**row, "attribute_id": "v2"} for row in rows[30:])]
    )
    assert "block 0" not in values and problems["half batches"] == 1
