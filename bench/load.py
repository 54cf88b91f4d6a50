"""The load: keep-alive connections that ask again and again, in a process of their own.

`python -m bench.load` reads an `Order` as JSON and writes an `Outcome`. Without a rate each
connection asks as soon as it is answered, which finds the saturation. With one, requests fall due
at random (Poisson) as those of independent clients do, and waiting for a free connection counts.
"""

import asyncio
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import cast

import httptools
import msgspec
import uvloop

from bench.machine import LOAD_CORE, pinned_to

SEED = 20260731
EXTRA_SECONDS = 60.0
"""How much longer than ordered a load may take before it counts as hanging."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What to ask whom for how long."""

    host: str
    port: int
    headers: dict[str, str]
    paths: list[str]
    """Asked for in turn."""
    seconds: float
    connections: int
    rate: float | None = None
    """Requests per second in all; None asks as fast as it is answered."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of an order. A status other than 200 is no outcome but a failure."""

    requests: int
    seconds: float
    p50_ms: float
    p99_ms: float


class LoadError(Exception):
    """The load could not be put on the server."""


class _Connection(asyncio.Protocol):
    """One request at a time."""

    def __init__(self) -> None:
        self._answered: asyncio.Future[None] | None = None
        self._parser = httptools.HttpResponseParser(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def connection_lost(self, error: Exception | None) -> None:
        self._settle(LoadError("the server closed a connection"))

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        self._settle(None if status == 200 else LoadError(f"the server answered {status}"))

    async def ask(self, request: bytes) -> None:
        self._answered = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        await self._answered

    def _settle(self, error: LoadError | None) -> None:
        if self._answered is None or self._answered.done():
            return
        if error is None:
            self._answered.set_result(None)
        else:
            self._answered.set_exception(error)

    def close(self) -> None:
        self._transport.close()


def due_times(
    rate: float | None, seconds: float, clock: Callable[[], float] = time.perf_counter
) -> Iterator[float]:
    """When each request falls due, until the time is over: now, or at random at the rate."""
    start = clock()
    if rate is None:
        while (now := clock()) < start + seconds:
            yield now
        return
    arrivals = random.Random(SEED)
    due = start + arrivals.expovariate(rate)
    while due < start + seconds:
        yield due
        due += arrivals.expovariate(rate)


def percentile(ordered: list[float], share: float) -> float:
    """The smallest of the ordered values that at least the share of them do not exceed."""
    return ordered[max(0, -(-len(ordered) * round(share * 1000) // 1000) - 1)]


async def _work(
    connection: _Connection, due: Iterator[float], requests: Iterator[bytes], waited: list[float]
) -> None:
    for moment in due:
        begun = moment
        if (early := moment - time.perf_counter()) > 0:
            await asyncio.sleep(early)
            begun = time.perf_counter()  # the timer's own lateness is not the server's
        await connection.ask(next(requests))
        waited.append(time.perf_counter() - begun)


async def _put(order: Order) -> Outcome:
    loop = asyncio.get_running_loop()
    opened = [
        (await loop.create_connection(_Connection, order.host, order.port))[1]
        for _ in range(order.connections)
    ]
    requests = cycle([_request(order, path) for path in order.paths])
    waited: list[float] = []
    start = time.perf_counter()
    due = due_times(order.rate, order.seconds)
    await asyncio.gather(*(_work(connection, due, requests, waited) for connection in opened))
    seconds = time.perf_counter() - start
    for connection in opened:
        connection.close()
    if not waited:
        raise LoadError("no request fell due: more seconds are needed")
    ordered_ms = sorted(each * 1000 for each in waited)
    return Outcome(
        requests=len(waited),
        seconds=seconds,
        p50_ms=percentile(ordered_ms, 0.5),
        p99_ms=percentile(ordered_ms, 0.99),
    )


def _request(order: Order, path: str) -> bytes:
    headers = {"Host": f"{order.host}:{order.port}", **order.headers}
    lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode()


def put(order: Order) -> Outcome:
    """Puts the load on a server, from another process on another core. Raises LoadError."""
    with pinned_to(LOAD_CORE):
        done = subprocess.run(
            [sys.executable, "-m", "bench.load"],
            input=msgspec.json.encode(order),
            capture_output=True,
            timeout=order.seconds + EXTRA_SECONDS,
        )
    if done.returncode:
        raise LoadError(f"{order.paths[0]}: {done.stderr.decode().strip()}")
    return msgspec.json.decode(done.stdout, type=Outcome)


def main() -> None:
    """The process that puts the load."""
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=Order)
    try:
        outcome = uvloop.run(_put(order))
    except (LoadError, OSError) as error:
        sys.exit(str(error))
    sys.stdout.buffer.write(msgspec.json.encode(outcome))


if __name__ == "__main__":
    main()
