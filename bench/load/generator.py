"""The load: keep-alive connections that ask again and again, in a process of their own.

`python -m bench.load.generator` reads an `Order` a line as JSON and writes an `Outcome` for each. Without a
rate each connection asks as soon as it is answered, which finds the saturation. With one, requests
fall due at random (Poisson) as those of independent clients do, and waiting for a free connection
counts. Every request that is sent is awaited, so that CPU per request is exact for slow peers too.
"""

import asyncio
import random
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from typing import cast

import httptools
import msgspec
import uvloop

from bench.data.requests import LoadRequest
from bench.load.machine import LOAD_CORE, pin_to_cores

SEED = 20260731
EXTRA_SECONDS = 120.0
"""How much longer than ordered a load may take before it counts as hanging."""
REFUSED_STATUS = 503


class LoadOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What to ask whom for how long."""

    host: str
    port: int
    headers: dict[str, str]
    """Of every request."""
    requests: list[LoadRequest]
    """Asked in turn."""
    seconds: float
    connections: int
    status: int = 200
    """What every answer must have; any other is no outcome but a failure."""
    rate: float | None = None
    """Requests per second in all; None asks as fast as it is answered."""
    may_refuse: bool = False
    """Whether 503 is an answer too, counted by itself. Waiting for a connection is not counted
    then: there is more to ask than can be answered."""


class LatencySummary(msgspec.Struct, frozen=True, kw_only=True):
    """How many requests of a sort there were, and how long they waited."""

    requests: int
    p50_ms: float = 0.0
    p99_ms: float = 0.0

    @classmethod
    def from_seconds(cls, seconds: list[float]) -> "LatencySummary":
        """Of any number of requests."""
        ordered = sorted(each * 1000 for each in seconds)
        if not ordered:
            return cls(requests=0)
        p50, p99 = percentile(ordered, 0.5), percentile(ordered, 0.99)
        return cls(requests=len(ordered), p50_ms=p50, p99_ms=p99)


class LoadOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of an order."""

    seconds: float
    answered: LatencySummary
    refused: LatencySummary
    error: str | None = None


class LoadError(Exception):
    """The load could not be put on the server."""


class _Connection(asyncio.Protocol):
    """One request at a time."""

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
    rate: float | None, seconds: float, clock: Callable[[], float] = time.perf_counter
) -> Iterator[float]:
    """When each request falls due: now, until the time is over, or at random at the rate.

    The first falls due at once, so that there always is one.
    """
    start = clock()
    if rate is None:
        while (now := clock()) < start + seconds:
            yield now
        return
    arrivals = random.Random(SEED)
    due = start
    while due < start + seconds:
        yield due
        due += arrivals.expovariate(rate)


def percentile(ordered: list[float], share: float) -> float:
    """The smallest of the ordered values that at least the share of them do not exceed."""
    return ordered[max(0, -(-len(ordered) * round(share * 1000) // 1000) - 1)]


class _LoadRun:
    """What all connections share while an order is carried out."""

    def __init__(self, order: LoadOrder) -> None:
        self._order = order
        self._requests = cycle([_serialize_request(order, request) for request in order.requests])
        self._due = due_times(order.rate, order.seconds)
        self.answered: list[float] = []
        self.refused: list[float] = []

    async def send_requests(self, connection: _Connection) -> None:
        for moment in self._due:
            begun = moment
            early = moment - time.perf_counter()
            if early > 0:
                await asyncio.sleep(early)
            if early > 0 or self._order.may_refuse:
                begun = time.perf_counter()  # the timer's own lateness is not the server's
            status = await connection.send(next(self._requests))
            self._latencies_for(status).append(time.perf_counter() - begun)

    def _latencies_for(self, status: int) -> list[float]:
        if status == self._order.status:
            return self.answered
        if status == REFUSED_STATUS and self._order.may_refuse:
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


class LoadGenerator:
    """A process that puts loads on servers, from another core than theirs."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def run(self, order: LoadOrder) -> LoadOutcome:
        """Carries out an order. Raises LoadError."""
        given, answers = self._process.stdin, self._process.stdout
        assert given is not None and answers is not None
        given.write(msgspec.json.encode(order) + b"\n")
        given.flush()
        if not select.select([answers], [], [], order.seconds + EXTRA_SECONDS)[0]:
            raise LoadError(f"{order.requests[0].path}: not answered for {EXTRA_SECONDS:.0f} s")
        line = answers.readline()
        if not line:
            raise LoadError(f"{order.requests[0].path}: the load's process has died")
        outcome = msgspec.json.decode(line, type=LoadOutcome)
        if outcome.error is not None:
            raise LoadError(outcome.error)
        return outcome


@contextmanager
def start_load_generator() -> Iterator[LoadGenerator]:
    """The process, for as long as it is needed."""
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
    """The process that puts the load."""
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
