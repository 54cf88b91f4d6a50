"""Rate limits of API keys and client addresses: floods leave room for those who have a key."""

import asyncio
import itertools
import logging
import math
import os
import re
import signal
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.types import Scope

from gateway import rate_limits
from gateway.app import Gateway
from gateway.rate_limits import (
    SETS,
    SLOTS,
    ArrivalTables,
    RateLimiter,
    RateLimitStatus,
    create_shared_memory,
)
from gateway.server.admission import Decision, Permit, Rejection
from gateway.server.config import ConnectionLimits, SharedMemory
from gateway.settings import Settings
from storage.administration import api_keys
from storage.administration.api_keys import KeySummary
from storage.cache import api_key_cache
from storage.errors import UnavailableCause, UnavailableError
from storage.mongo.shared_memory import WriteCounter
from storage.store import Store
from tests.fixtures import (
    World,
    freeze_limiter,
    gateway_client,
    make_key,
    open_client,
    open_database,
    run_gateway,
)
from tests.gateway.limiting_process import LimitingProcess
from tests.gateway.log_lines import capture_log_lines
from tests.gateway.server.served_application import GET, HOST, exchange, statuses

LIMITS = {"rate_limit": 1, "rate_burst": 1000}
POLICY = '"default";q=1000;w=1000'


@pytest.fixture(scope="module")
async def limited(world: World, anyio_backend: str) -> AsyncIterator[httpx.AsyncClient]:
    async with run_gateway(world.settings(**LIMITS)) as gateway:
        freeze_limiter(gateway)
        async with open_client(gateway, world.keys.full) as client:
            yield client


def remaining(response: httpx.Response) -> int:
    """The `r` of a response, which must have both headers, once."""
    assert response.headers.get_list("ratelimit-policy") == [POLICY]
    [limit] = response.headers.get_list("ratelimit")
    found = re.fullmatch(r'"default";r=(\d+);t=(\d+)', limit)
    assert found is not None
    return int(found[1])


@pytest.mark.parametrize(
    ("status", "options"),
    [
        (200, {"method": "HEAD", "url": "/v1/units"}),
        (200, {"method": "GET", "url": "/v1/units", "headers": {"Accept-Encoding": "gzip"}}),
        (304, {"method": "GET", "url": "/v1/units", "headers": {"If-None-Match": "*"}}),
        (404, {"method": "GET", "url": "/v1/units/none"}),
        (422, {"method": "GET", "url": "/v1/units?page=0"}),
        (200, {"method": "POST", "url": "/graphql", "json": {"query": "{ nothing }"}}),
        (415, {"method": "POST", "url": "/graphql", "content": "x"}),
        (405, {"method": "GET", "url": "/graphql?query=mutation{__typename}"}),
    ],
)
async def test_a_response_says_what_is_left(
    limited: httpx.AsyncClient, status: int, options: dict[str, Any]
) -> None:
    before = remaining(await limited.get("/v1/units/unit-1"))
    response = await limited.request(**options)
    assert response.status_code == status
    assert remaining(response) == before - 1


async def test_a_failure_says_what_is_left(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async with gateway_client(world.settings(**LIMITS), world.keys.full) as client:
        await client.get("/v1/units/unit-1")  # the key is cached now
        for error, status in (
            (UnavailableError("down", UnavailableCause.DATABASE_UNREACHABLE), 503),
            (ZeroDivisionError(), 500),
        ):

            async def fail(*_: object, error: Exception = error, **__: object) -> None:
                raise error

            monkeypatch.setattr(Store, "list_page", fail)
            response = await client.get("/v1/units")
            assert response.status_code == status
            assert remaining(response)


async def test_responses_without_a_valid_key_have_no_limit(
    limited: httpx.AsyncClient,
) -> None:
    for key in ("", "not a key"):
        response = await limited.get("/v1/units", headers={"API-Key": key})
        assert response.status_code in (401, 403)
        assert not [name for name in response.headers if name.startswith("ratelimit")]
    for path in ("/v1/openapi", "/health/live", "/v1/nothing"):
        assert "ratelimit" not in (await limited.get(path)).headers


async def test_requests_at_once_take_one_each(world: World) -> None:
    async with run_gateway(world.settings(**LIMITS)) as gateway:
        freeze_limiter(gateway)
        async with open_client(gateway, world.keys.full) as client:
            responses = await asyncio.gather(*(client.get("/v1/units/unit-1") for _ in range(20)))
        async with open_client(gateway, world.keys.restricted) as other:
            assert remaining(await other.get("/v1/units/unit-1")) == 999  # each key has its own
    assert sorted(remaining(response) for response in responses) == list(range(980, 1000))


RATES = st.sampled_from([0.5, 1.0, 3.0, 10.0, 1000.0])
BURSTS = st.integers(1, 20)
PAUSES = st.lists(st.floats(0, 5), min_size=1, max_size=60)
UPTIMES = st.sampled_from([100.0, 12_345_678.9])
"""Readings of the clock; a year of uptime leaves a float a few nanoseconds of precision."""


def make_limiter(per_second: float, burst: int) -> RateLimiter:
    return RateLimiter(per_second, burst, ArrivalTables.for_single_process().keys)


def is_admitted(limiter: RateLimiter, now: float, name: str = "key") -> bool:
    return limiter.check(name, now).wait_seconds is None


def count_admitted(limiter: RateLimiter, now: float) -> int:
    """How many requests are admitted at once."""
    return next(count for count in range(10_000) if not is_admitted(limiter, now))


def make_requests(
    limiter: RateLimiter, pauses: list[float], now: float
) -> tuple[float, RateLimitStatus]:
    """The time and the status of the last of some requests, each after a pause."""
    for pause in pauses:
        now += pause
        status = limiter.check("key", now)
    return now, status


def test_a_burst_is_admitted_and_then_the_rate() -> None:
    limiter = make_limiter(per_second=2, burst=3)
    assert [is_admitted(limiter, 0) for _ in range(3)] == [True] * 3
    assert limiter.check("key", 0).wait_seconds == pytest.approx(0.5)
    assert limiter.check("key", 0.4).wait_seconds == pytest.approx(0.1)
    assert is_admitted(limiter, 0.5)
    assert limiter.check("key", 0.5).wait_seconds == pytest.approx(0.5)


@given(RATES, BURSTS, PAUSES, UPTIMES)
def test_no_window_holds_more_than_burst_and_rate(
    per_second: float, burst: int, pauses: list[float], now: float
) -> None:
    limiter = make_limiter(per_second, burst)
    admitted = list[float]()
    for pause in pauses:
        now += pause
        admitted += [now for _ in range(3) if is_admitted(limiter, now)]
    for first, start in enumerate(admitted):
        for count, end in enumerate(admitted[first:], start=1):
            assert count <= burst + per_second * (end - start) + 0.011


@given(RATES, BURSTS, PAUSES, UPTIMES)
def test_a_client_that_waits_for_retry_after_is_admitted(
    per_second: float, burst: int, pauses: list[float], now: float
) -> None:
    limiter = make_limiter(per_second, burst)
    for pause in pauses:
        now += pause
        status = limiter.check("key", now)
        if status.wait_seconds is not None:
            assert 0 < status.wait_seconds <= 1 / per_second + 1e-6
            assert status.remaining == 0
            assert status.reset_seconds == math.ceil(status.wait_seconds)
            assert is_admitted(limiter, now + status.wait_seconds)
            now += status.wait_seconds


@given(RATES, BURSTS, PAUSES, UPTIMES)
def test_as_many_requests_are_admitted_as_the_header_says(
    per_second: float, burst: int, pauses: list[float], now: float
) -> None:
    limiter = make_limiter(per_second, burst)
    now, status = make_requests(limiter, pauses, now)
    assert count_admitted(limiter, now) == status.remaining


@given(RATES, BURSTS, PAUSES, UPTIMES)
def test_the_whole_burst_is_available_after_the_reset(
    per_second: float, burst: int, pauses: list[float], now: float
) -> None:
    limiter = make_limiter(per_second, burst)
    now, status = make_requests(limiter, pauses, now)
    expected = burst if status.remaining else 1
    assert count_admitted(limiter, now + status.reset_seconds) >= expected


def test_every_request_takes_one_from_what_remains() -> None:
    limiter = make_limiter(per_second=2, burst=4)
    statuses = [limiter.check("key", 50.0) for _ in range(5)]
    assert [(each.remaining, each.reset_seconds) for each in statuses] == [
        (3, 1),
        (2, 1),
        (1, 2),
        (0, 1),  # one request is available again
        (0, 1),
    ]
    later = limiter.check("key", 52.0)
    assert (later.remaining, later.reset_seconds) == (3, 1)


def test_the_largest_default_burst_is_exact_after_years_of_uptime() -> None:
    limiter = make_limiter(per_second=500, burst=1000)
    assert count_admitted(limiter, 123_456_789.012) == 1000


@pytest.mark.parametrize(
    ("per_second", "burst", "policy"),
    [(500, 1000, "q=1000;w=2"), (1, 50, "q=50;w=50"), (3, 10, "q=10;w=4"), (500, 50, "q=50;w=1")],
)
def test_the_policy_is_the_burst_and_the_seconds_until_it_is_available_again(
    per_second: int, burst: int, policy: str
) -> None:
    headers = dict(make_limiter(per_second, burst).check("key", 7.0).headers)
    assert headers[b"ratelimit-policy"].decode() == f'"default";{policy}'
    assert re.fullmatch(rb'"default";r=\d+;t=\d+', headers[b"ratelimit"])


def test_a_refunded_request_does_not_count() -> None:
    limiter = make_limiter(per_second=1, burst=2)
    for _ in range(5):
        assert is_admitted(limiter, 3)
        limiter.refund("key")
    assert count_admitted(limiter, 3) == 2


def test_a_rate_of_zero_means_no_limit_and_no_header() -> None:
    limiter = make_limiter(per_second=0, burst=1)
    assert {limiter.check("key", 0) for _ in range(100)} == {RateLimitStatus()}
    limiter.refund("key")
    assert RateLimitStatus().headers == []


@pytest.mark.parametrize(("per_second", "burst"), [(-1, 1), (1, 0)])
def test_a_meaningless_rate_is_rejected(per_second: float, burst: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        make_limiter(per_second, burst)


PROCESSES = 3
PER_SECOND, BURST = 200.0, 40

Processes = list[LimitingProcess]


@pytest.fixture(scope="module")
def memory() -> Iterator[int]:
    descriptor = create_shared_memory()
    yield descriptor
    os.close(descriptor)


@pytest.fixture(scope="module")
def processes(memory: int) -> Iterator[Processes]:
    started = [LimitingProcess(memory, PER_SECOND, BURST) for _ in range(PROCESSES)]
    yield started
    for process in started:
        process.stop()


def assert_no_window_exceeds(admitted: list[float], per_second: float, burst: int) -> None:
    """Assert that no window of time holds more than the burst and the rate."""
    times = sorted(admitted)
    surplus = [count - per_second * (at - times[0]) for count, at in enumerate(times)]
    before = itertools.accumulate(surplus, min)  # least surplus of a window's beginning
    worst = max((now - least for now, least in zip(surplus, before, strict=True)), default=0)
    assert worst + 1 <= burst + 0.011


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.integers(0, PROCESSES - 1), st.floats(0, 0.3), st.integers(1, 30)),
        min_size=1,
        max_size=15,
    )
)
def test_processes_count_into_one_bucket(
    processes: Processes, rounds: list[tuple[int, float, int]]
) -> None:
    name = str(uuid.uuid4())
    now, admitted = 1000.0, list[float]()
    alone = RateLimiter(PER_SECOND, BURST, ArrivalTables.for_single_process().keys)
    expected = list[float]()
    for number, pause, requests in rounds:
        now += pause
        processes[number].begin(name, requests, now)
        admitted += processes[number].admitted()
        statuses = [alone.check("key", now) for _ in range(requests)]
        expected += [now for status in statuses if status.wait_seconds is None]
    assert admitted == expected  # as one process would
    assert_no_window_exceeds(admitted, PER_SECOND, BURST)


def test_processes_that_race_admit_no_more_than_one(memory: int) -> None:
    per_second, burst = 100_000.0, 5  # so fast that most requests change the number
    racing = [LimitingProcess(memory, per_second, burst) for _ in range(PROCESSES)]
    for process in racing:
        process.begin("race", 20_000)
    admitted = [at for process in racing for at in process.admitted()]
    for process in racing:
        process.stop()
    assert len(admitted) >= burst
    assert_no_window_exceeds(admitted, per_second, burst)


def test_a_process_that_dies_holding_a_lock_holds_up_no_other(memory: int) -> None:
    process_id = os.fork()
    if not process_id:  # a child that never returns
        ArrivalTables.attach(memory).keys.lock_slot("dying")
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(process_id, 0)
    tables = ArrivalTables.attach(memory)
    assert tables.keys._lock(0)
    assert tables.keys.times[tables.keys.lock_slot("dying")] == 0


def test_a_stopped_process_that_holds_a_lock_holds_up_no_other(
    memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    process_id = os.fork()
    if not process_id:
        ArrivalTables.attach(memory).keys.lock_slot("stopped")
        os.write(writing, b"locked")
        os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(0)
    os.read(reading, 6)
    try:
        monkeypatch.setattr(rate_limits, "_LOCK_ATTEMPTS", 3)
        limiter = RateLimiter(1, 2, ArrivalTables.attach(memory).keys)
        statuses = [limiter.check("stopped", 9.0) for _ in range(3)]
        assert [status.remaining for status in statuses] == [1, 0, 0]  # still counts
    finally:
        os.kill(process_id, signal.SIGKILL)
        os.waitpid(process_id, 0)
        os.close(reading)
        os.close(writing)


def test_keys_and_addresses_are_counted_apart() -> None:
    tables = ArrivalTables.for_single_process()
    for table, value in zip(tables, (1.0, 2.0), strict=True):
        table.times[table.lock_slot("name")] = value
    for table, value in zip(tables, (1.0, 2.0), strict=True):
        assert table.times[table.lock_slot("name")] == value


def test_the_memory_does_not_grow_and_busy_clients_stay() -> None:
    table = ArrivalTables.for_single_process().keys
    limiter = RateLimiter(1, 1, table)
    now = time.monotonic()
    assert limiter.check("busy", now + 100).wait_seconds is None  # the latest of all
    for number in range(20_000):
        limiter.check(f"client {number}", now)
    assert len(table.times) == SLOTS
    assert limiter.check("busy", now + 100).wait_seconds is not None


def test_a_slot_of_the_past_is_used_before_one_that_still_counts() -> None:
    table = ArrivalTables.for_single_process().keys
    first, *others = _names_of_one_set(9)
    for age, name in enumerate([first, *others]):
        table.times[table.lock_slot(name)] = 10.0 + age
    assert table.times[table.lock_slot(others[0])] == 11.0
    assert table.times[table.lock_slot(first)] == 0  # evicted for the ninth


def _names_of_one_set(count: int) -> list[str]:
    """Names whose digests select the same slots."""
    numbers = (str(number) for number in itertools.count())
    in_first_set = (name for name in numbers if rate_limits.compute_tag(name) % SETS == 0)
    return [*itertools.islice(in_first_set, count)]


FEW = 5


def scope(key: str | None = None, path: str = "/v1/units", address: str = "192.0.2.1") -> Scope:
    headers = [] if key is None else [(b"api-key", key.encode())]
    return {
        "type": "http", "path": path, "query_string": b"", "headers": headers,
        "client": (address, 50_000),
    }  # fmt: skip


def take_all_slots(gateway: Gateway, key: str | None) -> None:
    """Hold every slot that requests without a valid key can get."""
    while isinstance(gateway.admission.admit(scope(key)), Permit):
        pass


@pytest.mark.parametrize(
    "invented", [api_keys.generate_key(), "malformed", None], ids=["unknown", "malformed", "none"]
)
async def test_the_first_request_of_a_new_key_is_served_during_a_flood(
    own_world: World, monkeypatch: pytest.MonkeyPatch, invented: str | None
) -> None:
    monkeypatch.setattr(api_key_cache, "REREAD_SECONDS", 0.0)
    read = asyncio.Event()
    read_key_summary = api_keys.read_key_summary
    created = list[bytes]()

    async def read_and_tell(*arguments: Any) -> KeySummary:
        summary = await read_key_summary(*arguments)
        if summary.digests.issuperset(created):
            asyncio.get_running_loop().call_soon(read.set)
        return summary

    monkeypatch.setattr(api_keys, "read_key_summary", read_and_tell)
    async with run_gateway(own_world.settings()) as gateway, open_database(own_world) as database:
        take_all_slots(gateway, invented)
        _, key = await make_key(database, "new")
        created.append(api_keys.hash_key(key))
        read.clear()
        while not read.is_set():  # the flood goes on
            assert isinstance(gateway.admission.admit(scope(invented)), Rejection)
            await asyncio.sleep(0.01)
        async with open_client(gateway, key) as client:
            assert (await client.get("/v1/units")).status_code == 200


async def test_a_flood_that_the_database_cannot_be_asked_about_is_rejected_all_the_same(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*_: object) -> None:
        raise UnavailableError("down", UnavailableCause.DATABASE_UNREACHABLE)

    monkeypatch.setattr(api_keys, "read_key_summary", fail)
    async with run_gateway(world.settings()) as gateway:
        take_all_slots(gateway, api_keys.generate_key())
        await asyncio.sleep(0)
        assert isinstance(gateway.admission.admit(scope()), Rejection)
    assert "exception was never retrieved" not in caplog.text


def small_gateway(arrivals: ArrivalTables | None = None) -> Gateway:
    """A gateway that admits few requests without a valid key, and forgives nothing."""
    arrivals = arrivals or ArrivalTables.for_single_process()
    shared = SharedMemory(WriteCounter.for_single_process(), arrivals)
    gateway = Gateway(Settings(rate_burst=FEW), shared)
    limiter = gateway.admission._address_limiter
    assert limiter is not None
    limiter._interval_seconds, limiter._tolerance_seconds = 900.0, (FEW - 1) * 900.0
    return gateway


def admit(gateway: Gateway, **sent: str) -> Decision:
    """Ask for a slot, and give it back at once."""
    decision = gateway.admission.admit(scope(**sent))
    if isinstance(decision, Permit):
        decision.release()
    return decision


def rejections(gateway: Gateway, count: int, **sent: str) -> int:
    return sum(isinstance(admit(gateway, **sent), Rejection) for _ in range(count))


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"key": "invented"},
        {"path": "/v1/nothing", "key": "invented"},
        {"path": "/graphql"},  # also a handshake of a WebSocket
        {"path": "/v1/openapi.json", "key": "any"},
        {"path": "/pages/chunk.js"},
    ],
)
def test_an_address_may_send_so_many_requests_without_a_valid_key(sent: dict[str, str]) -> None:
    gateway = small_gateway()
    assert rejections(gateway, FEW, **sent) == 0
    assert rejections(gateway, 20, **sent) == 20
    assert rejections(gateway, 1, path="/v1/openapi.yaml") == 1  # they count together
    assert rejections(gateway, FEW, address="192.0.2.2", **sent) == 0
    assert gateway.admission.in_flight == 0


def test_health_and_known_keys_are_not_limited_by_the_address() -> None:
    gateway = small_gateway()
    assert rejections(gateway, FEW + 1) == 1
    gateway.admission._is_known_key = lambda key: key.text == "known"
    assert rejections(gateway, 50, key="known") == 0
    assert rejections(gateway, 50, path="/health/ready") == 0


def test_workers_of_a_gateway_count_together() -> None:
    arrivals = ArrivalTables.for_single_process()
    workers = [small_gateway(arrivals) for _ in range(2)]
    counts = [rejections(worker, FEW) for worker in workers]
    assert counts == [0, FEW]


def test_the_limit_of_an_address_can_be_turned_off() -> None:
    assert rejections(Gateway(Settings(rate_limit=0)), 5_000) == 0


def flood(raw: bytes, proxy_hops: int = 0) -> bytes:
    """What a gateway sends to a client that sends this on one connection."""
    gateway = small_gateway()
    return exchange(
        raw, gateway.build_app(), ConnectionLimits(keep_alive_seconds=1),
        admission=gateway.admission, proxy_hops=proxy_hops,
        websocket_paths=frozenset({b"/graphql"}),
    )  # fmt: skip


@pytest.mark.parametrize("header", [b"", b"Origin: https://a.example\r\n"])
def test_a_flood_gets_429_and_one_line_in_the_log(header: bytes) -> None:
    access, admission = (logging.getLogger(f"floorgate.{name}") for name in ("access", "admission"))
    with (
        capture_log_lines(access, logging.INFO) as requests,
        capture_log_lines(admission, logging.INFO) as limits,
    ):
        received = flood((GET[:-2] + header + b"\r\n") * 40)
    assert statuses(received) == [200] * FEW + [429] * (40 - FEW)
    assert len(requests.texts) == FEW
    assert len(limits.texts) == 1
    fields = limits.last()
    assert (fields["limit"], fields["client"]) == ("requests_per_address", "127.0.0.1")
    assert fields["errors"] == ["ADDRESS_RATE_LIMITED"]
    head, _, body = received.rpartition(b"HTTP/1.1 429")[2].partition(b"\r\n\r\n")
    assert body.startswith(b'{"message":"Too many requests from this address","code":"ADDR')
    for line in (b"retry-after: 900", b'ratelimit: "default";r=0;t=900', b"ratelimit-policy: "):
        assert b"\r\n" + line in head


def test_a_websocket_over_the_limit_is_refused_and_its_connection_closed() -> None:
    upgrade = b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
    handshake = b"GET /graphql HTTP/1.1\r\n" + HOST + upgrade + b"\r\n"
    received = flood(GET * FEW + handshake + GET)
    assert statuses(received) == [200] * FEW + [429]


def test_behind_a_proxy_the_address_is_the_one_that_it_vouches_for() -> None:
    requests = (
        b"GET / HTTP/1.1\r\n" + HOST + b"X-Forwarded-For: 192.0.2.%d\r\n\r\n" % (number % 2)
        for number in range(2 * FEW + 2)
    )
    assert statuses(flood(b"".join(requests), 1)) == [200] * 2 * FEW + [429] * 2
