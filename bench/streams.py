"""Streams of changes: a thousand followers on one worker."""

import asyncio
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from functools import partial
from typing import TypeAlias
from urllib.parse import urlsplit

import orjson
import uvloop
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from bench.data.directory import (
    ATTRIBUTE_IDS,
    FIRST_ASSET_ID,
    SCOPED_KEYS,
    UNITS_PER_ASSET,
    get_asset_id,
)
from bench.harness import Row, Run, experiment
from bench.load.generator import LatencySummary
from bench.load.servers import Client, PeerError, PeerServer, start_peer
from bench.peers.peer import HOST, with_settings

MAX_OPENING = 50
"""Streams that are opened at a time."""
SETTLE_SECONDS = 2.0
PROTOCOL = "graphql-transport-ws"
HEADERS = {
    "X-Forwarded-Proto": "https",
    "Experimental-Flags": "changes, unit-attributes-resource",
}
Receive: TypeAlias = Callable[[], Awaitable[bytes]]
"""Returns the next message or event of a stream."""


async def open_websocket(stack: AsyncExitStack, url: str, key: str) -> Receive:
    """Open a WebSocket with one subscription."""
    address = f"{url.replace('http', 'ws', 1)}/graphql"
    socket: ClientConnection = await stack.enter_async_context(
        connect(
            address,
            subprotocols=[PROTOCOL],  # type: ignore[list-item]
            compression=None,
            additional_headers=HEADERS,
        )
    )
    await socket.send(_dump({"type": "connection_init", "payload": {"apiKey": key}}))
    if b"connection_ack" not in (answer := await socket.recv(decode=False)):
        raise PeerError(answer.decode())
    await socket.send(_dump({"id": "1", "type": "subscribe", "payload": {"query": CHANGES}}))
    await socket.send(_dump({"type": "ping"}))
    if b"pong" not in (answer := await socket.recv(decode=False)):
        raise PeerError(answer.decode())

    async def receive() -> bytes:
        return await socket.recv(decode=False)

    return receive


async def open_event_stream(stack: AsyncExitStack, url: str, key: str) -> Receive:
    """Open a stream of server-sent events."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    stack.callback(writer.close)
    body = _dump({"query": CHANGES})
    headers = HEADERS | {
        "Host": parts.netloc,
        "API-Key": key,
        "Accept": "text/event-stream",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
    }
    head = "\r\n".join(f"{name}: {value}" for name, value in headers.items())
    writer.write(f"POST /graphql HTTP/1.1\r\n{head}\r\n\r\n{body}".encode())
    answer = await reader.readuntil(b"\r\n\r\n")
    if b" 200 " not in answer.partition(b"\r\n")[0]:
        raise PeerError(answer.decode())
    await reader.readuntil(b":\n\n")
    return partial(reader.readuntil, b"\n\n")


Open: TypeAlias = Callable[[AsyncExitStack, str, str], Awaitable[Receive]]
OPENERS: dict[str, Open] = {"websocket": open_websocket, "sse": open_event_stream}


def _dump(message: object) -> str:
    return orjson.dumps(message).decode()


# A thousand followers

UNIT_COUNT = UNITS_PER_ASSET * SCOPED_KEYS
"""There are four properties, of which the first scoped key sees the first."""
OTHER_ASSET_ID = get_asset_id(1)
WARM_UP_WRITES = 2
CHANGES = "subscription { changes { cursor operation kind recordId assetId at } }"
FOLLOWED = with_settings(
    "followed", "Floorgate", FLOORGATE_STREAMS="10000", FLOORGATE_STREAMS_PER_KEY="10000",
    FLOORGATE_MAX_CONNECTIONS="11000",
)  # fmt: skip
_UNIT = re.compile(rb"unit-\d+")


class Followers:
    """Open streams, and how many of them have been told of each unit's change."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.told = Counter[str]()
        """The number of followers that know of the change of each unit."""
        self._reached: dict[str, asyncio.Event] = {}

    async def wait_for(self, unit: str) -> None:
        """Wait until all have been told of a unit's change."""
        await self._reached.setdefault(unit, asyncio.Event()).wait()

    @asynccontextmanager
    async def open(self, open_stream: Open, url: str, key: str) -> AsyncIterator[None]:
        """Open the streams, and let them listen inside the block."""
        turns = asyncio.Semaphore(MAX_OPENING)
        async with AsyncExitStack() as stack:

            async def open_one() -> Receive:
                async with turns:
                    return await open_stream(stack, url, key)

            streams = await asyncio.gather(*(open_one() for _ in range(self._count)))
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._listen(receive)) for receive in streams]
                yield
                for task in tasks:
                    task.cancel()

    async def _listen(self, receive: Receive) -> None:
        while True:
            try:
                content = await receive()
            except (EOFError, WebSocketException) as error:
                raise PeerError("the gateway ended it") from error
            if found := _UNIT.search(content):
                unit = found[0].decode()
                self.told[unit] += 1
                if self.told[unit] == self._count:
                    self._reached.setdefault(unit, asyncio.Event()).set()


async def measure_followers(
    server: PeerServer, client: Client, transport: str, count: int, writes: int
) -> Row:
    """Measure one transport. Raises PeerError if a follower receives what it may not see."""
    url, open_stream = f"http://{HOST}:{server.port}", OPENERS[transport]
    key = server.directory.scoped_keys[0]
    first, followers, unit_ids = Followers(1), Followers(count), server.directory.unit_ids
    units = {FIRST_ASSET_ID: iter(unit_ids), OTHER_ASSET_ID: iter(unit_ids[UNITS_PER_ASSET:])}

    async def write(asset: str = FIRST_ASSET_ID) -> str:
        """Change a unit that had no attribute, by default one that all see, and return its id."""
        unit = next(units[asset])
        await asyncio.to_thread(client.assign, unit, ATTRIBUTE_IDS[0], asset)
        return unit

    async with first.open(open_stream, url, key):
        for _ in range(WARM_UP_WRITES):  # loads what all streams share
            await first.wait_for(await write())
        await asyncio.sleep(SETTLE_SECONDS)
        before = _read_memory_kb(server)
        async with followers.open(open_stream, url, key):
            await asyncio.sleep(SETTLE_SECONDS)
            idle = _read_memory_kb(server) - before
            used = server.cpu_seconds()
            hidden = [await write(OTHER_ASSET_ID) for _ in range(writes)]
            await followers.wait_for(await write())
            hidden_cpu = (server.cpu_seconds() - used) / writes
            waited, used = list[float](), server.cpu_seconds()
            for _ in range(writes):
                began = time.perf_counter()
                await followers.wait_for(await write())
                waited.append(time.perf_counter() - began)
            cpu = (server.cpu_seconds() - used) / writes
            grown = _read_memory_kb(server) - before
    if leaked := [unit for unit in hidden if unit in first.told + followers.told]:
        raise PeerError(f"followers were told of units that they may not see: {leaked}")
    summary = LatencySummary.from_seconds(waited)
    return {
        "transport": transport,
        "followers": count,
        "KB each, idle": idle / count,
        "KB each, after": grown / count,
        "p50 ms": summary.p50_ms,
        "p99 ms": summary.p99_ms,
        "max ms": summary.max_ms,
        "CPU ms": 1000 * cpu,
        "CPU ms, hidden": 1000 * hidden_cpu,
    }


def _read_memory_kb(server: PeerServer) -> float:
    return 1000 * server.memory_mb()["rss"]


@experiment(
    "Followers of changes on one worker",
    note="ms: from sending a write to the last follower that has received it. CPU: of the worker "
    "for a write that all followers see, and for one that none may see.",
)
def followers(run: Run, followers: int = 1_000, writes: int = 50) -> Iterator[Row]:
    """Measure what followers of changes cost a worker, and how soon they know of a write.

    Their key sees the first property and no other. A write there is an event for every follower,
    and one in another property for none: those are `hidden`. For each transport there is a new
    gateway, which has a core to itself; followers, writer and mongod share another, so the times
    include what a thousand clients take. There are as many writes of each kind; at most 200.
    """
    for transport in OPENERS:
        directory = run.load_directory(UNIT_COUNT, name=transport)
        with (
            start_peer(FOLLOWED, directory) as server,
            closing(Client(server)) as client,
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        ):
            yield runner.run(measure_followers(server, client, transport, followers, writes))
