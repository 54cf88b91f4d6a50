"""The load generator sends the requests of its order, and counts only the expected answers."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.data.requests import UNIQUE_TOKEN, LoadRequest
from bench.load.generator import (
    LatencySummary,
    LoadError,
    LoadGenerator,
    LoadOrder,
    due_times,
    percentile,
    start_load_generator,
)

pytestmark = pytest.mark.slow

T = TypeVar("T")

SECONDS = 0.05
LONG = 60.0
"""For orders that end earlier: at an error, or after a number of requests."""


@dataclass
class Server:
    """Answers requests with these statuses in turn, and keeps what it got."""

    statuses: list[int]
    port: int = 0
    received: list[bytes] = field(default_factory=list)
    connections: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while request := await self._read_request(reader):
                self.received.append(request)
                status = self.statuses[(len(self.received) - 1) % len(self.statuses)]
                if status == 0:  # hangs up instead
                    break
                body = b"\r\n" if status == 304 else b"Content-Length: 2\r\n\r\nok"
                writer.write(b"HTTP/1.1 %d Word\r\n%b" % (status, body))
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _read_request(self, reader: asyncio.StreamReader) -> bytes:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return b""
        _, _, length = head.lower().partition(b"content-length: ")
        return head + await reader.readexactly(int(length.split(b"\r")[0] or 0))


@contextmanager
def run_server(*statuses: int) -> Iterator[Server]:
    """A server in a thread of this process."""
    server, loop = Server([*statuses]), asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    listening = _run_on(loop, asyncio.start_server(server.serve, "127.0.0.1", 0))
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(listening.close)
        _run_on(loop, _cancel_all())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def _run_on(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run_coroutine_threadsafe(work, loop).result()


async def _cancel_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture(scope="module")
def load() -> Iterator[LoadGenerator]:
    """One process for all tests: an order that fails must not harm the next one."""
    with start_load_generator() as load:
        yield load


def order(server: Server, **given: object) -> LoadOrder:
    settings = {
        "host": "127.0.0.1",
        "port": server.port,
        "headers": {"API-Key": "k"},
        "requests": [LoadRequest("/a")],
        "seconds": SECONDS,
        "connections": 2,
    }
    return LoadOrder(**{**settings, **given})  # type: ignore[arg-type]


def test_every_answer_is_counted(load: LoadGenerator) -> None:
    with run_server(200) as server:
        outcome = load.run(order(server, connections=3))
    assert outcome.answered.requests == len(server.received) > 0
    assert outcome.refused == LatencySummary(requests=0)
    assert outcome.seconds >= SECONDS
    assert server.connections == 3


def test_latencies_are_within_the_time_of_the_load(load: LoadGenerator) -> None:
    with run_server(200) as server:
        outcome = load.run(order(server))
    assert 0 < outcome.answered.p50_ms <= outcome.answered.p99_ms <= outcome.seconds * 1000


def test_requests_are_sent_in_turn_as_they_are(load: LoadGenerator) -> None:
    post = LoadRequest("/b?c=%20", "POST", b'{"d": 1}', {"Content-Type": "application/json"})
    with run_server(200) as server:
        while len(server.received) <= 2:  # a busy machine takes all of the time for one
            server.received.clear()
            load.run(order(server, requests=[LoadRequest("/a"), post], connections=1))
    host = b"Host: 127.0.0.1:%d\r\nAPI-Key: k\r\n" % server.port
    for at, received in enumerate(server.received):
        assert received == (
            b"POST /b?c=%20 HTTP/1.1\r\n"
            + host
            + b'Content-Type: application/json\r\nContent-Length: 8\r\n\r\n{"d": 1}'
            if at % 2
            else b"GET /a HTTP/1.1\r\n" + host + b"\r\n"
        )


def test_an_unexpected_status_fails_the_order(load: LoadGenerator) -> None:
    """Errors are quick to send: counted as answers, they would make a server look fast."""
    with run_server(200, 200, 500) as server, pytest.raises(LoadError) as raised:
        load.run(order(server, seconds=LONG))
    assert str(raised.value) == "/a: the server answered 500"


@pytest.mark.parametrize(("expected", "other"), [(304, 200), (200, 304)])
def test_a_304_is_an_answer_only_where_one_is_expected(
    load: LoadGenerator, expected: int, other: int
) -> None:
    with run_server(expected) as server:
        outcome = load.run(order(server, status=expected))
        assert outcome.answered.requests == len(server.received)
    with run_server(other) as server, pytest.raises(LoadError, match=f"answered {other}"):
        load.run(order(server, status=expected, seconds=LONG))


def test_refusals_are_counted_apart_where_they_are_allowed(load: LoadGenerator) -> None:
    with run_server(200, 503, 429) as server:
        limits = {"max_requests": 9, "seconds": LONG}
        outcome = load.run(order(server, connections=1, may_refuse=True, **limits))
    assert (outcome.refused.requests, outcome.answered.requests) == (6, 3)
    assert outcome.refused.p99_ms > 0
    with run_server(200, 503) as server, pytest.raises(LoadError, match="answered 503"):
        load.run(order(server, seconds=LONG))
    with run_server(200, 500) as server, pytest.raises(LoadError, match="answered 500"):
        load.run(order(server, may_refuse=True, seconds=LONG))


def test_a_server_that_hangs_up_fails_the_order(load: LoadGenerator) -> None:
    with run_server(200, 0) as server, pytest.raises(LoadError, match="closed a connection"):
        load.run(order(server, seconds=LONG))


def test_a_server_that_is_not_there_fails_the_order(load: LoadGenerator) -> None:
    with run_server(200) as server:
        pass
    with pytest.raises(LoadError, match="Connection refused"):
        load.run(order(server))


def test_the_process_goes_on_after_an_order_that_failed(load: LoadGenerator) -> None:
    with run_server(500) as server, pytest.raises(LoadError):
        load.run(order(server))
    with run_server(200) as server:
        assert load.run(order(server)).answered.requests == len(server.received)


def test_with_a_rate_as_many_requests_are_sent_as_fall_due(load: LoadGenerator) -> None:
    with run_server(200) as server:
        outcome = load.run(order(server, rate=400.0))
    due = len([*due_times(400.0, SECONDS)])
    assert outcome.answered.requests == len(server.received) == due


def test_a_process_that_died_is_an_error_of_the_load() -> None:
    with start_load_generator() as own, run_server(200) as server:
        own._process.kill()
        own._process.wait()
        with pytest.raises(LoadError, match="/a: the load's process has died"):
            own.run(order(server))


@pytest.mark.parametrize(
    ("share", "expected"), [(0.0, 1), (0.5, 2), (0.51, 3), (0.75, 3), (0.99, 4), (1.0, 4)]
)
def test_percentiles_are_values_that_were_measured(share: float, expected: float) -> None:
    assert percentile([1, 2, 3, 4], share) == expected


@given(st.lists(st.floats(0, 1e6), min_size=1), st.integers(0, 1000))
def test_a_percentile_is_the_least_value_that_enough_others_do_not_exceed(
    values: list[float], thousandths: int
) -> None:
    ordered = sorted(values)

    def is_enough(value: float) -> bool:
        return sum(other <= value for other in ordered) * 1000 >= thousandths * len(ordered)

    found = percentile(ordered, thousandths / 1000)
    assert found == next(value for value in ordered if is_enough(value))


def test_latencies_are_summarized_in_milliseconds_in_any_order() -> None:
    seconds = [at / 1000 for at in range(100, 0, -1)]
    summary = LatencySummary.from_seconds(seconds)
    assert (summary.requests, summary.p50_ms, summary.p99_ms) == (100, 50.0, 99.0)
    assert LatencySummary.from_seconds([]) == LatencySummary(requests=0)


def test_requests_fall_due_at_the_rate_and_not_after_the_end() -> None:
    due = list(due_times(1000, 10, clock=lambda: 5.0))
    assert due == sorted(due)
    assert due[0] == 5.0 and due[-1] < 15.0
    assert len(due) == pytest.approx(10_000, rel=0.05)


def test_requests_fall_due_at_the_same_times_in_every_run() -> None:
    first, second = (list(due_times(50, 2, clock=lambda: 0.0)) for _ in range(2))
    assert first == second
    gaps = {later - earlier for earlier, later in pairwise(first)}
    assert len(gaps) == len(first) - 1  # random, as clients of their own are


def test_at_any_rate_one_request_is_sent() -> None:
    assert list(due_times(0.001, 0.1, clock=lambda: 5.0)) == [5.0]


def test_without_a_rate_requests_fall_due_at_once_until_the_time_is_over() -> None:
    clock = iter([0.0, 0.1, 0.6, 1.0]).__next__
    assert list(due_times(None, 1.0, clock)) == [0.1, 0.6]


def test_every_request_has_its_own_number_also_in_later_orders(load: LoadGenerator) -> None:
    unique = LoadRequest(f"/{UNIQUE_TOKEN}", "POST", UNIQUE_TOKEN.encode())
    with run_server(200) as server:
        for _ in range(2):
            load.run(order(server, requests=[unique], max_requests=3, seconds=60.0))
    assert len(server.received) == 6
    numbers = {request.split()[1] for request in server.received}
    assert len(numbers) == 6
    assert all(request.endswith(request.split()[1].lstrip(b"/")) for request in server.received)
    assert all(len(number) == 1 + len(UNIQUE_TOKEN) for number in numbers)
