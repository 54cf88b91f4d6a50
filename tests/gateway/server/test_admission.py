"""A worker has slots for so many requests, for so many of one key, and apart for those without."""

import asyncio
import functools
import logging
from typing import Any

import pytest
from starlette.types import Scope

from gateway.server import admission as admission_module
from gateway.server.admission import (
    MAX_KEYLESS_IN_FLIGHT,
    MAX_REJECTIONS_PER_SECOND,
    OVERLOADED,
    Admission,
    Decision,
    Permit,
    Rejection,
)
from gateway.server.connections.input_turns import Standing
from tests.gateway.server.served_application import on_server_loop, wait_until


def scope(key: str = "", path: str = "/v1/units", query: bytes = b"") -> Scope:
    headers = [(b"api-key", key.encode())] if key else []
    return {"type": "http", "path": path, "query_string": query, "headers": headers}


def admit_all(admission: Admission, scopes: list[Scope]) -> list[Decision]:
    return [admission.admit(each) for each in scopes]


def statuses(decisions: list[Decision]) -> list[int]:
    """The status of each rejection, 200 for each permit."""
    return [each.error.status if isinstance(each, Rejection) else 200 for each in decisions]


def test_one_key_cannot_take_all_slots() -> None:
    admission = Admission(4, 2)
    assert statuses(admit_all(admission, [scope("a")] * 3)) == [200, 200, 429]
    assert statuses(admit_all(admission, [scope("b")] * 2 + [scope("c")])) == [200, 200, 503]


def test_a_rejection_of_a_busy_key_says_how_many_requests_it_may_have() -> None:
    admission = Admission(4, 1)
    _, rejection = admit_all(admission, [scope("a")] * 2)
    assert isinstance(rejection, Rejection)
    assert rejection.error.headers["Retry-After"] == "1"
    assert "at most 1 requests may be in progress" in rejection.error.message


def test_a_released_slot_is_free_for_any_key() -> None:
    admission = Admission(1, 1)
    permit = admission.admit(scope("a"))
    assert isinstance(permit, Permit)
    permit.release()
    permit.release()
    assert admission.in_flight == 0
    assert statuses(admit_all(admission, [scope("b"), scope("a")])) == [200, 503]


@pytest.mark.parametrize(
    "other",
    [
        scope(" a "),
        scope(query=b"api-key=a"),
        scope(query=b"page=1&api%2Dkey=%61"),
        scope(query=b"api-key=+a+"),
    ],
)
def test_a_key_is_the_same_however_it_is_sent(other: Scope) -> None:
    assert statuses(admit_all(Admission(4, 1), [scope("a"), other])) == [200, 429]


def test_invented_keys_count_as_one_and_leave_room_for_real_ones() -> None:
    admission = Admission(6, 2, is_known_key=lambda key: key == "real")
    invented = [scope("x"), scope("y"), scope("z"), scope()]
    assert statuses(admit_all(admission, invented)) == [200, 200, 503, 503]
    assert statuses(admit_all(admission, [scope("real")] * 3)) == [200, 200, 429]


def test_routes_without_keys_have_slots_of_their_own() -> None:
    admission = Admission(2, 2)
    paths = [
        "/v1",
        "/v1/openapi.json",
        "/v1/openapi.yaml",
        "/v1/openapi",
        "/v1/bundle.schema.json",
        "/pages/chunk.js",
    ]
    keyless = [scope(path=path) for path in paths * MAX_KEYLESS_IN_FLIGHT]
    decisions = admit_all(admission, keyless)
    assert statuses(decisions).count(200) == MAX_KEYLESS_IN_FLIGHT
    assert decisions[-1] is OVERLOADED
    assert statuses(admit_all(admission, [scope("a")] * 3)) == [200, 200, 503]
    for permit in decisions:
        if isinstance(permit, Permit):
            permit.release()
    assert statuses(admit_all(admission, keyless[:1])) == [200]


def test_health_needs_no_slot() -> None:
    admission = Admission(1, 1)
    admit_all(admission, [scope("a")])
    probes = [scope(path="/health/live"), scope(path="/health/ready")]
    assert admit_all(admission, probes) == [None, None]


def test_nothing_is_kept_of_a_key_without_requests() -> None:
    admission = Admission(10, 10)
    for number in range(100):
        permit = admission.admit(scope(f"key {number}"))
        assert isinstance(permit, Permit)
        permit.release()
    rejected = Admission(10, 1)
    permits = admit_all(rejected, [scope("a")] * 5)
    assert isinstance(permits[0], Permit)
    permits[0].release()
    assert (len(admission.keyed.taken_by), len(rejected.keyed.taken_by)) == (0, 0)


@on_server_loop
async def test_rejections_without_a_line_of_their_own_are_counted_in_one(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("gateway.server.limit_log.QUIET_SECONDS", 0.0)
    caplog.set_level(logging.WARNING, "floorgate.admission")

    admission = Admission(1, 1)
    for rejection in [OVERLOADED] * 1000 + [admission.key_is_busy]:
        admission.count_rejection(rejection, "192.0.2.1")
    await wait_until(lambda: not admission._log._unlogged)
    logged: list[Any] = [getattr(record, "fields", None) for record in caplog.records]
    busy, key_is_busy = {"limit": "requests_in_flight", "cause": "queue"}, "requests_per_key"
    counts = [(busy, 1), ({"limit": key_is_busy}, 1), (busy, 999)]
    assert logged == [{**fields, "count": count, "client": "192.0.2.1"} for fields, count in counts]


def test_reading_is_delayed_only_after_more_rejections_than_the_maximum() -> None:
    admission, now = Admission(), 100.0
    burst = round(admission_module.REJECTION_BURST_SECONDS * MAX_REJECTIONS_PER_SECOND)
    assert [admission.delay_after(now) for _ in range(burst)] == [pytest.approx(0.0)] * burst
    delays = [admission.delay_after(now) for _ in range(10_000)]
    assert delays == sorted(delays)
    assert delays[0] == pytest.approx(1 / MAX_REJECTIONS_PER_SECOND)
    assert delays[-1] == admission_module.MAX_DELAY_SECONDS
    assert admission.delay_after(now + 60) == 0.0


def test_a_rejection_may_count_like_several() -> None:
    costly, cheap = Admission(), Admission()
    delays = [costly.delay_after(100.0, 4) for _ in range(50)]
    assert delays == pytest.approx([cheap.delay_after(100.0) for _ in range(200)][3::4])


@on_server_loop
async def test_requests_without_a_key_delay_no_others() -> None:
    admission, started = Admission(), list[str]()
    for name in "xyz":
        admission.start(functools.partial(started.append, name), Standing.NEW)
    admission.start(functools.partial(started.append, "good"))
    await asyncio.sleep(0)
    assert started == ["x", "good", "y"]


@on_server_loop
async def test_one_request_starts_in_each_turn_of_the_event_loop() -> None:
    admission, started = Admission(), list[str]()
    for name in "abc":
        admission.start(functools.partial(started.append, name))
    for expected in ("a", "ab", "abc", "abc"):
        assert "".join(started) == expected
        await asyncio.sleep(0)
    admission.start(functools.partial(started.append, "d"))  # nothing waits: it starts at once
    assert started[-1] == "d"
