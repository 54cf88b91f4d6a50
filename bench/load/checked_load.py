"""Reads and writes of a portfolio at a rate, over connections that look at each response."""

import asyncio
import re
import time
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from bench.data.portfolio import ATTRIBUTE_IDS
from bench.data.portfolio_requests import Address, Assigned, build_assignment
from bench.data.requests import LoadRequest
from bench.load.assignment_history import AssignmentHistory, Place, ResponseJudge
from bench.load.generator import LoadError
from bench.load.servers import PeerServer
from bench.peers.peer import HOST

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.I)


class HttpConnection:
    """A keep-alive connection that sends one request at a time."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, headers: dict[str, str]
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._headers = headers

    @classmethod
    async def open(cls, server: PeerServer) -> "HttpConnection":
        """Connect to a server."""
        reader, writer = await asyncio.open_connection(HOST, server.port)
        return cls(reader, writer, {"Host": f"{HOST}:{server.port}", **server.headers})

    async def send(self, request: LoadRequest) -> bytes:
        """Return the body of the response. Raises LoadError if its status is not 200."""
        headers = self._headers | request.headers
        if request.body:
            headers["Content-Length"] = str(len(request.body))
        lines = [f"{request.method} {request.path} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self._writer.write("\r\n".join([*lines, "", ""]).encode() + request.body)
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = _LENGTH.search(head)
        body = await self._reader.readexactly(int(length[1]) if length else 0)
        if head.split(maxsplit=2)[1] != b"200":
            raise LoadError(f"{request.method} {request.path}: {head[:50]!r} {body[:300]!r}")
        return body

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()


class ReadTally:
    """How many responses were read, and for how long newer ones were due."""

    def __init__(self) -> None:
        self.by_kind = Counter[str]()
        self.delays = list[float]()
        """In seconds, of each response that did not show all that it had to."""

    def add(self, address: Address, delay: float) -> None:
        """Count a response."""
        self.by_kind[address.kind.name] += 1
        if delay > 0:
            self.delays.append(delay)


class WriteTarget(NamedTuple):
    """Where to write, and the asset that it belongs to."""

    place: Place
    asset: int


async def send_reads(
    connection: HttpConnection,
    due: Iterator[float],
    addresses: Iterator[Address],
    judge: ResponseJudge,
    tally: ReadTally,
) -> None:
    """Read addresses when they fall due, and judge the responses."""
    for moment in due:
        await _sleep_until(moment)
        address, sent_at = next(addresses), time.perf_counter()
        body = await connection.send(address.request)
        tally.add(address, judge.compute_delay(address, body, sent_at))


async def send_writes(
    connection: HttpConnection,
    due: Iterator[float],
    targets: Iterator[WriteTarget],
    history: AssignmentHistory,
    latencies: list[float],
) -> None:
    """Assign to each target its next attribute when it falls due."""
    for moment in due:
        await _sleep_until(moment)
        place, asset = next(targets)
        assigned = choose_next(history, place)
        write, sent_at = history.begin(assigned), time.perf_counter()
        await connection.send(build_assignment(assigned, asset))
        write.answered_at = time.perf_counter()
        latencies.append(write.answered_at - sent_at)


def choose_next(history: AssignmentHistory, place: Place) -> Assigned:
    """Return the attribute to write next, so that each is written in turn."""
    at = ATTRIBUTE_IDS.index(history.current(place)) + 1
    return Assigned(*place, ATTRIBUTE_IDS[at % len(ATTRIBUTE_IDS)])


async def _sleep_until(moment: float) -> None:
    early = moment - time.perf_counter()
    if early > 0:
        await asyncio.sleep(early)
