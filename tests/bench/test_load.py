"""The load generator counts only expected answers, and a round runs every peer."""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest

from bench.comparison import find_workloads, measure_rounds
from bench.data.workloads import (
    LIST,
    NOT_MODIFIED,
    UNIQUE_TOKEN,
    UNIT,
    LoadRequest,
    Workload,
)
from bench.harness import Row
from bench.load import machine
from bench.load.generator import LoadError, LoadGenerator, LoadOrder, start_load_generator
from bench.load.servers import PeerError, check_same_answers
from tests.bench.canned import CannedLoad, CannedServer, build_outcome, build_server

T = TypeVar("T")

LONG = 60.0
"""Seconds for orders that end earlier: at an error, or after a number of requests."""


@dataclass
class Server:
    """Answers requests with these statuses in turn, and keeps what it got."""

    statuses: list[int]
    port: int = 0
    received: list[bytes] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
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
    """Run a server in a thread of this process."""
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


def order(server: Server, **given: Any) -> LoadOrder:
    settings: dict[str, Any] = {
        "host": "127.0.0.1",
        "port": server.port,
        "headers": {"API-Key": "k"},
        "requests": [LoadRequest("/a")],
        "seconds": LONG,
        "connections": 2,
        "max_requests": 9,
    }
    return LoadOrder(**{**settings, **given})


def test_every_answer_is_counted(load: LoadGenerator) -> None:
    with run_server(200) as server:
        outcome = load.run(order(server))
    assert outcome.answered.requests == len(server.received) == 9
    assert outcome.refused.requests == 0
    assert 0 < outcome.answered.p50_ms <= outcome.answered.p99_ms <= outcome.seconds * 1000


def test_requests_are_sent_in_turn_as_they_are(load: LoadGenerator) -> None:
    post = LoadRequest("/b?c=%20", "POST", b'{"d": 1}', {"Content-Type": "application/json"})
    with run_server(200) as server:
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


def test_refusals_are_counted_apart_where_they_are_allowed(load: LoadGenerator) -> None:
    with run_server(200, 503, 429) as server:
        outcome = load.run(order(server, connections=1, may_refuse=True))
    assert (outcome.refused.requests, outcome.answered.requests) == (6, 3)


@pytest.mark.parametrize(
    ("statuses", "given", "message"),
    [
        ((200, 200, 500), {}, "^/a: the server answered 500$"),
        ((200, 503), {}, "answered 503"),
        ((200, 500), {"may_refuse": True}, "answered 500"),
        ((200,), {"status": 304}, "answered 200"),
        ((304,), {}, "answered 304"),
        ((200, 0), {}, "closed a connection"),
    ],
)
def test_an_unexpected_answer_fails_the_order_and_not_the_next(
    load: LoadGenerator, statuses: tuple[int, ...], given: dict[str, Any], message: str
) -> None:
    """Errors are quick to send: counted as answers, they would make a server look fast."""
    with run_server(*statuses) as server, pytest.raises(LoadError, match=message):
        load.run(order(server, **given))
    with run_server(304) as server:
        assert load.run(order(server, status=304)).answered.requests == 9


def test_a_server_or_a_load_that_is_not_there_fails_the_order(load: LoadGenerator) -> None:
    with run_server(200) as server:
        pass
    with pytest.raises(LoadError, match="Connection refused"):
        load.run(order(server))
    with start_load_generator() as own, run_server(200) as server:
        own._process.kill()
        own._process.wait()
        with pytest.raises(LoadError, match="/a: the load's process has died"):
            own.run(order(server))


def test_every_request_has_its_own_number_also_in_later_orders(load: LoadGenerator) -> None:
    unique = LoadRequest(f"/{UNIQUE_TOKEN}", "POST", UNIQUE_TOKEN.encode())
    with run_server(200) as server:
        for _ in range(2):
            load.run(order(server, requests=[unique], max_requests=3))
    numbers = {request.split()[1] for request in server.received}
    assert len(numbers) == len(server.received) == 6
    assert all(request.endswith(request.split()[1].lstrip(b"/")) for request in server.received)


# Rounds


def measure(
    load: CannedLoad, *servers: CannedServer, workloads: tuple[str, ...] = (UNIT,), rounds: int = 1
) -> list[Row]:
    return [*measure_rounds(servers, find_workloads(workloads), load, rounds, 1.0)]


def test_a_sample_is_cpu_per_request_at_saturation_and_latency_at_half_of_it() -> None:
    load = CannedLoad(build_outcome(1.0, 9), build_outcome(2.0, 1000), build_outcome(2.0, 500))
    [sample] = measure(load, build_server(0.0, 0.0, 10.0, 11.5, 20.0, 21.0))
    assert (sample["round"], sample["workload"], sample["peer"]) == (0, UNIT, "peer")
    assert (sample["requests"], sample["requests_per_second"]) == (1000, 500.0)
    assert sample["cpu_ms"] == pytest.approx(1.5)  # 1.5 s for 1,000 requests
    assert sample["busy"] == pytest.approx(0.75)
    assert (sample["p50_ms"], sample["p99_ms"]) == (501.0, 502.0)
    _, saturating, paced = load.orders
    assert (saturating.rate, saturating.connections, saturating.seconds) == (None, 8, 1.0)
    assert (paced.rate, paced.connections, paced.seconds) == (250.0, 32, 1.0)


def test_every_second_round_goes_backwards_through_what_each_peer_serves() -> None:
    partial = build_server(*range(99), name="partial", workloads=frozenset({LIST}))
    load = CannedLoad(*[build_outcome(1.0, 10)] * 21)
    server = build_server(*range(99))
    samples = measure(load, server, partial, workloads=(UNIT, LIST), rounds=3)
    assert len(load.orders) == 3 + 2 * len(samples)
    forwards = [(UNIT, "peer"), (LIST, "peer"), (LIST, "partial")]
    assert [(sample["workload"], sample["peer"]) for sample in samples] == [
        *forwards,
        *forwards[::-1],
        *forwards,
    ]


def test_conditional_requests_carry_the_etag_of_their_own_server() -> None:
    load = CannedLoad(*[build_outcome(1.0, 10)] * 3)
    assert measure(load, build_server(*range(6)), workloads=(NOT_MODIFIED,))
    for sent in load.orders:
        [request] = sent.requests
        assert (sent.status, request.headers) == (304, {"If-None-Match": f'"{request.path}"'})


def test_peers_that_answer_differently_are_not_compared() -> None:
    one, same, other = (build_server(body=text) for text in ('{"id":1}', '{ "id" : 1 }', "{}"))
    unit = Workload("unit", "one unit", lambda _: [LoadRequest("/v1/units/a")])
    check_same_answers([one, same], unit)
    with pytest.raises(PeerError, match="/v1/units/a"):
        check_same_answers([one, other], unit)
    conditional = Workload("", "", lambda _: [LoadRequest("/a")], is_conditional=True)
    with pytest.raises(PeerError, match="status 200, not 304"):
        check_same_answers([one], conditional)


def test_page_tokens_are_each_peers_own() -> None:
    pages = [f'{{"paging":{{"next_url":"https://a/v1?page=2&after={x}"}}}}' for x in ("aZ_-", "b")]
    first_page = Workload("units", "units", lambda _: [LoadRequest("/v1/units")])
    check_same_answers([build_server(body=page) for page in pages], first_page)


# What is read of processes


def test_a_process_is_measured_with_its_children() -> None:
    with subprocess.Popen(["true"]) as ended, subprocess.Popen(["sleep", "600"]) as child:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)  # it stays in the list
        try:
            assert {os.getpid(), child.pid} <= {*machine.list_process_tree(os.getpid())}
            assert machine.list_process_tree(child.pid) == [child.pid]
            alone = machine.memory_mb(child.pid)
            assert 0 < alone["pss"] <= alone["rss"]
            assert machine.sum_memory_mb(os.getpid())["rss"] > alone["rss"]
            assert machine.sum_cpu_seconds(os.getpid()) > 0
        finally:
            child.kill()


def test_a_process_is_pinned_with_those_that_it_starts_and_then_let_go() -> None:
    core = machine.CORES[-1]
    show = [sys.executable, "-c", "import os; print(os.sched_getaffinity(0))"]
    with pytest.raises(LookupError), machine.pin_to_cores(core):
        assert subprocess.run(show, capture_output=True, text=True).stdout == f"{ {core} }\n"
        raise LookupError
    assert os.sched_getaffinity(0) == {*machine.CORES}
