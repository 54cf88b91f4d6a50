"""What breaks a promise, and what is only counted."""

import math
from collections import Counter
from typing import Any

import pytest

from tests.faults.checking.history import Operation, Page, Request
from tests.faults.checking.requests import Outage
from tests.faults.checking.verdict import Round, Verdict, describe, judge

WRITER, READER = "writer@0", "reader@0"


def write(value: str, invoked: float, returned: float = math.inf, **given: Any) -> Operation:
    given = {"register": "block 0", "gateway": 0, "client": WRITER, **given}
    register = given.pop("register")
    return Operation(
        register, "write", value, invoked, returned, request_id=value, must_change=True, **given
    )


def read(value: str | None, invoked: float, *, gateway: int = 0, cached: bool = True) -> Operation:
    client = f"reader@{gateway}"
    return Operation("block 0", "read", value, invoked, invoked + 0.1, client, gateway, cached)


def violations(*operations: Operation, **given: Any) -> list[str]:
    return judge(played(*operations, **given), 10.0).violations


def played(*operations: Operation, **given: Any) -> Round:
    writes = [each for each in operations if each.action == "write" and not each.is_unknown]
    last = max(writes, key=lambda each: each.returned, default=None)
    ids = Counter(each.request_id for each in writes if each.request_id)
    defaults: dict[str, Any] = {
        "extra_pages": [],
        "requests": [],
        "counts": Counter(),
        "outage": Outage(0, 1, 2),
        "homes": {each.register: 0 for each in operations},
        "initial": {},
        "final": {last.register: last.value} if last else {},
        "audited": ids,
    }
    return Round(operations, **(defaults | given))


def test_a_history_as_it_should_be_breaks_nothing() -> None:
    assert violations(write("a", 0, 1), read("a", 2), write("b", 3, 4), read("b", 5)) == []


def test_an_acknowledged_write_without_its_record_is_lost() -> None:
    assert "lost" in violations(write("a", 0, 1), audited=Counter())[0]


def test_an_acknowledged_write_that_the_database_does_not_have_is_lost() -> None:
    assert "not linearizable" in violations(write("a", 0, 1), final={"block 0": None})[0]


def test_an_unknown_write_may_have_happened_or_not_but_not_twice() -> None:
    unknown = write("a", 0)
    assert violations(unknown, audited=Counter(), final={"block 0": None}) == []
    assert violations(unknown, audited=Counter({"a": 1}), final={"block 0": "a"}) == []
    (twice,) = violations(unknown, audited=Counter({"a": 2}), final={"block 0": "a"})
    assert twice.startswith("written 2 times")


def test_a_read_through_the_gateway_that_acknowledged_a_write_must_show_it() -> None:
    (stale,) = violations(write("a", 0, 1), read(None, 1.1))
    assert stale.startswith("stale: reader@0 read block 0 = None (cached)")


@pytest.mark.parametrize(("age", "is_broken"), [(0.5, False), (1.5, True)])
def test_another_gateway_may_be_a_second_behind(age: float, is_broken: bool) -> None:
    verdict = judge(played(write("a", 0, 1), read(None, 1 + age, gateway=1)), 10.0)
    assert bool(verdict.violations) == is_broken
    assert verdict.maxima["stale" if is_broken else "behind another gateway"] == age


def test_only_a_cached_read_may_miss_for_a_second_what_happened_unacknowledged() -> None:
    seen = write("a", 0), read("a", 1, cached=False)
    known = {"audited": Counter({"a": 1}), "final": {"block 0": "a"}}
    assert violations(*seen, read(None, 1.5), **known) == []
    assert len(violations(*seen, read(None, 1.5, cached=False), **known)) == 2


@pytest.mark.parametrize(("gateway", "later"), [(0, 0.0), (1, 0.0), (1, 1.5)])
def test_an_unacknowledged_write_that_another_gateway_shows_may_be_missed_for_a_second(
    gateway: int, later: float
) -> None:
    shown = read("a", 2, gateway=gateway, cached=False)
    missing = read(None, 2.5 + later, cached=False)
    broken = violations(
        write("a", 0), shown, missing, audited=Counter({"a": 1}), final={"block 0": "a"}
    )
    assert any("stale" in each for each in broken) == (gateway == 0 or later > 1)


def test_pages_of_extras_are_read_as_registers() -> None:
    written = (
        write("yes", 0, 1, register="extra 0 v1"),
        write("gone", 4, 5, register="extra 0 v1"),
    )

    def page(invoked: float, value: str | None) -> Page:
        values: dict[str, str | None] = {} if value is None else {"extra 0 v1": value}
        return Page(invoked, invoked + 0.1, READER, 0, True, values)

    final: dict[str, Any] = {"final": {}}
    good = [page(0.5, None), page(0.6, "half"), page(2, "yes"), page(4.5, None), page(6, None)]
    assert violations(*written, extra_pages=good, **final) == []
    assert len(violations(*written, extra_pages=[page(2, None)], **final)) == 1
    assert len(violations(*written, extra_pages=[page(6, "yes")], **final)) == 1


def test_broken_pages_wrong_statuses_and_late_responses_are_violations() -> None:
    requests = [
        Request("c", 0, "read", "/", 0, 11, 200),
        Request("c", 0, "write", "/", 0, 1, 500),
        Request("c", 0, "import", "/", 0, 99, 200),
    ]
    counts = Counter({"half batches": 2, "pages of one": 7})
    assert violations(requests=requests, counts=counts, problems=["a traceback"]) == [
        "a traceback",
        "1 x status 500 to writes",
        "a read took 11.0 s, over 10.0 s",
        "2 x half batches",
    ]


def test_a_value_that_was_written_twice_cannot_be_judged() -> None:
    operations = [write("a", 0, 1), write("b", 2, 3), write("a", 4, 5), read("a", 6)]
    audited = Counter(a=1, b=1)
    assert violations(*operations, audited=audited) == [
        "block 0 was given a value twice: the try took too long to be judged"
    ]


def test_verdicts_add_up() -> None:
    total = Verdict()
    total.add(Verdict(["a"], Counter(lost=1), {"read gap": 2.0}))
    total.add(Verdict(["b"], Counter(lost=2), {"read gap": 1.0, "recovery": 3.0}))
    assert total == Verdict(["a", "b"], Counter(lost=3), {"read gap": 2.0, "recovery": 3.0})


def test_of_many_violations_some_are_shown() -> None:
    assert [*describe(["a", "b", "c"], limit=2)] == ["a", "b", "... and 1 more"]
