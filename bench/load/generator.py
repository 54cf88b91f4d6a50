"""The load generator: keep-alive connections that send requests, in a process of their own.

`python -m bench.load.generator` reads a `LoadOrder` per line as JSON and writes a `LoadOutcome` for
each. Without a rate each connection sends as soon as it has its answer, which finds the saturation
(closed loop). With a rate, requests fall due at random (Poisson), like those of independent
clients, and waiting for a free connection counts as latency (open loop). Every request sent is
awaited, so CPU per request is exact for slow peers too.

In every request, `UNIQUE_TOKEN` is replaced by a number that is never sent again.
"""

import asyncio
import os
import random
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count, cycle, islice
from typing import cast

import httptools
import msgspec
import uvloop

from bench.data.workloads import UNIQUE_TOKEN, LoadRequest
from bench.load.machine import LOAD_CORE, pin_to_cores

SEED = 20260731
EXTRA_SECONDS = 120.0
"""A load that takes so much longer than ordered is treated as hanging."""
OVERLOAD_NICENESS = 15
REFUSED_STATUSES = (429, 503)
_TOKEN = UNIQUE_TOKEN.encode()
_numbers = count()


class LoadOrder(msgspec.Struct, frozen=True, kw_only=True):
    """Requests to send to a server, and for how long."""

    host: str
    port: int
    headers: dict[str, str]
    """Headers of every request."""
    requests: list[LoadRequest]
    """Sent in turn."""
    seconds: float
    connections: int
    status: int = 200
    """Status of every answer; any other fails the order."""
    max_requests: int | None = None
    """Limits the number of requests, if there is time for as many."""
    rate: float | None = None
    """Requests per second in total; None sends as fast as answers arrive."""
    may_refuse: bool = False
    """Allows 429 and 503, which are counted separately. Waiting for a connection is then not
    counted, because more requests fall due than can be answered."""


class LatencySummary(msgspec.Struct, frozen=True, kw_only=True):
    """The number of requests of a kind, and their latencies."""

    requests: int
    p50_ms: float = 0.0
    p99_ms: float = 0.0
    max_ms: float = 0.0

    @classmethod
    def from_seconds(cls, seconds: list[float]) -> "LatencySummary":
        """Summarize any number of latencies."""
        ordered = sorted(latency * 1000 for latency in seconds)
        if not ordered:
            return cls(requests=0)
        p50, p99 = percentile(ordered, 0.5), percentile(ordered, 0.99)
        return cls(requests=len(ordered), p50_ms=p50, p99_ms=p99, max_ms=ordered[-1])


class LoadOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an order."""

    seconds: float
    answered: LatencySummary
    refused: LatencySummary
    error: str | None = None


class LoadError(Exception):
    """The load could not be run."""


class _Connection(asyncio.Protocol):
    """A connection that sends one request at a time."""

    def __init__(self) -> None:
        self._answered: asyncio.Future[int] | None = None
        self._parser = httptools.HttpResponseParser(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def connection_lost(self, error: Exception | None) -> None:
        if self._answered is not None and not self._answered.done():
            self._answered.set_exception(LoadError("the server closed a connection"))

    def on_message_complete(self) -> None:
        if self._answered is not None and not self._answered.done():
            self._answered.set_result(self._parser.get_status_code())

    async def send(self, request: bytes) -> int:
        self._answered = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answered

    def close(self) -> None:
        self._transport.close()


def due_times(
    rate: float | None,
    seconds: float,
    clock: Callable[[], float] = time.perf_counter,
    seed: int = SEED,
) -> Iterator[float]:
    """Yield when each request falls due: at once, or at random at `rate`, for `seconds`.

    With a rate the first falls due at once, so that there is at least one.
    """
    start = clock()
    if rate is None:
        while (now := clock()) < start + seconds:
            yield now
        return
    arrivals = random.Random(seed)
    due = start
    while due < start + seconds:
        yield due
        due += arrivals.expovariate(rate)


def percentile(ordered: list[float], share: float) -> float:
    """Return the smallest value that at least `share` of the ordered values do not exceed.

    >>> percentile([1.0, 2.0, 3.0, 4.0], 0.5)
    2.0
    """
    return ordered[max(0, -(-len(ordered) * round(share * 1000) // 1000) - 1)]


class _LoadRun:
    """State shared by all connections while an order runs."""

    def __init__(self, order: LoadOrder) -> None:
        self._order = order
        self._requests = cycle([_serialize_request(order, request) for request in order.requests])
        self._due = islice(due_times(order.rate, order.seconds), order.max_requests)
        self.answered: list[float] = []
        self.refused: list[float] = []

    async def send_requests(self, connection: _Connection) -> None:
        for moment in self._due:
            begun = moment
            early = moment - time.perf_counter()
            if early > 0:
                await asyncio.sleep(early)
            if early > 0 or self._order.may_refuse:
                begun = time.perf_counter()  # the server is not to blame for a late timer
            status = await connection.send(_make_unique(next(self._requests)))
            self._latencies_for(status).append(time.perf_counter() - begun)

    def _latencies_for(self, status: int) -> list[float]:
        if status == self._order.status:
            return self.answered
        if status in REFUSED_STATUSES and self._order.may_refuse:
            return self.refused
        raise LoadError(f"{self._order.requests[0].path}: the server answered {status}")


async def _run_load(order: LoadOrder) -> LoadOutcome:
    loop = asyncio.get_running_loop()
    opened = [
        (await loop.create_connection(_Connection, order.host, order.port))[1]
        for _ in range(order.connections)
    ]
    start = time.perf_counter()
    work = _LoadRun(order)
    try:
        await asyncio.gather(*(work.send_requests(connection) for connection in opened))
    finally:
        for connection in opened:
            connection.close()
    return LoadOutcome(
        seconds=time.perf_counter() - start,
        answered=LatencySummary.from_seconds(work.answered),
        refused=LatencySummary.from_seconds(work.refused),
    )


def _serialize_request(order: LoadOrder, request: LoadRequest) -> bytes:
    headers = {"Host": f"{order.host}:{order.port}", **order.headers, **request.headers}
    if request.method != "GET":
        headers["Content-Length"] = str(len(request.body))
    lines = [
        f"{request.method} {request.path} HTTP/1.1",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode() + request.body


def _make_unique(request: bytes) -> bytes:
    if _TOKEN not in request:
        return request
    return request.replace(_TOKEN, b"%0*d" % (len(_TOKEN), next(_numbers)))


class LoadGenerator:
    """A process that runs loads, on another core than the servers."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def yield_to_others(self) -> None:
        """Give mongod, on the same core, its CPU time before the load: a load that is far more than
        the servers answer would otherwise slow them down by taking it.
        """
        nice = os.getpriority(os.PRIO_PROCESS, self._process.pid)
        os.setpriority(os.PRIO_PROCESS, self._process.pid, nice + OVERLOAD_NICENESS)

    def run(self, order: LoadOrder) -> LoadOutcome:
        """Run an order. Raises LoadError."""
        orders, outcomes = self._process.stdin, self._process.stdout
        assert orders is not None and outcomes is not None
        with suppress(BrokenPipeError):  # it has died: there is no outcome to read either
            orders.write(msgspec.json.encode(order) + b"\n")
            orders.flush()
        if not select.select([outcomes], [], [], order.seconds + EXTRA_SECONDS)[0]:
            raise LoadError(f"{order.requests[0].path}: not answered for {EXTRA_SECONDS:.0f} s")
        line = outcomes.readline()
        if not line:
            raise LoadError(f"{order.requests[0].path}: the load's process has died")
        outcome = msgspec.json.decode(line, type=LoadOutcome)
        if outcome.error is not None:
            raise LoadError(outcome.error)
        return outcome


@contextmanager
def start_load_generator() -> Iterator[LoadGenerator]:
    """Start the process, and kill it at the end."""
    with pin_to_cores(LOAD_CORE):
        process = subprocess.Popen(
            [sys.executable, "-m", "bench.load.generator"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
    try:
        yield LoadGenerator(process)
    finally:
        process.kill()
        process.communicate()


def main() -> None:
    """Run orders from standard input until it ends."""
    for line in sys.stdin.buffer:
        order = msgspec.json.decode(line, type=LoadOrder)
        try:
            outcome = uvloop.run(_run_load(order))
        except (LoadError, OSError) as error:
            nothing = LatencySummary(requests=0)
            outcome = LoadOutcome(seconds=0.0, answered=nothing, refused=nothing, error=str(error))
        sys.stdout.buffer.write(msgspec.json.encode(outcome) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
