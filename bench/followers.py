"""Measure a thousand followers of changes on one worker: `python -m bench.followers`.

All keys see the first property and no other. A write there is an event for every follower, and one
in another property for none. For each transport there is a new gateway, which has a core to itself;
followers, writer and mongod share another, so the times include what a thousand clients take.
"""

import asyncio
import re
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing

import click
from rich.console import Console
from websockets.exceptions import WebSocketException

from bench.data.bundle import UNITS_PER_ASSET
from bench.data.directory import ATTRIBUTE_IDS, FIRST_ASSET_ID, Directory, load_directory
from bench.load import machine
from bench.load.generator import percentile
from bench.load.servers import PeerError, PeerServer, start_peer
from bench.load.start_time import scratch_directory
from bench.peers.floorgate import with_settings
from bench.peers.peer import HOST
from bench.report import pages
from bench.report.followers_table import FollowersSample, build_table
from bench.staleness import GatewayClient
from bench.streams import MAX_OPENING, OPENERS, SETTLE_SECONDS, Open, Receive, StreamError
from gateway.server.worker import EventLoop
from resolvers.request.caller import READ_UNIT_ATTRIBUTES_PERMISSION
from storage.administration import api_keys
from storage.embedded import embedded_mongo
from storage.mongo import driver

UNIT_COUNT = 1_000
KEY_COUNT = 10
OTHER_ASSET_ID = "asset-000001"
WARM_UP_WRITES = 2
SUBSCRIPTION = "subscription { changes { cursor operation kind recordId assetId at } }"
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
        """By unit, how many followers know of its change."""
        self._reached: dict[str, asyncio.Event] = {}

    async def wait_for(self, unit: str) -> None:
        """Wait until all have been told of a unit's change."""
        await self._reached.setdefault(unit, asyncio.Event()).wait()

    @asynccontextmanager
    async def open(self, open_stream: Open, url: str, keys: list[str]) -> AsyncIterator[None]:
        """Open the streams, and let them listen inside the block."""
        turns = asyncio.Semaphore(MAX_OPENING)
        async with AsyncExitStack() as stack:

            async def open_one(number: int) -> Receive:
                async with turns:
                    key = keys[number % len(keys)]
                    return await open_stream(stack, url, key, SUBSCRIPTION)

            streams = await asyncio.gather(*(open_one(number) for number in range(self._count)))
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
                raise StreamError("the gateway ended it") from error
            if found := _UNIT.search(content):
                unit = found[0].decode()
                self.told[unit] += 1
                if self.told[unit] == self._count:
                    self._reached.setdefault(unit, asyncio.Event()).set()


class Writer:
    """Writes one change at a time, of a unit that had none, through the gateway."""

    def __init__(self, client: GatewayClient, directory: Directory) -> None:
        self._client = client
        self._seen = iter(directory.unit_ids[:UNITS_PER_ASSET])
        self._hidden = iter(directory.unit_ids[UNITS_PER_ASSET:])

    async def write(self) -> str:
        """Change a unit that all followers see, and return its id."""
        return await self._assign(next(self._seen), FIRST_ASSET_ID)

    async def write_hidden(self) -> str:
        """Change a unit that no follower may see, and return its id."""
        return await self._assign(next(self._hidden), OTHER_ASSET_ID)

    async def _assign(self, unit: str, asset: str) -> str:
        await asyncio.to_thread(self._client.assign, unit, ATTRIBUTE_IDS[0], asset)
        return unit


async def measure(
    server: PeerServer, writer: Writer, keys: list[str], transport: str, count: int, writes: int
) -> FollowersSample:
    """Measure one transport. Raises PeerError if a follower receives what it may not see."""
    url, open_stream = f"http://{HOST}:{server.port}", OPENERS[transport]
    first, followers = Followers(1), Followers(count)
    async with first.open(open_stream, url, keys):
        for _ in range(WARM_UP_WRITES):  # loads what all streams share
            await first.wait_for(await writer.write())
        before = _read_memory_kb(server)
        async with followers.open(open_stream, url, keys):
            await asyncio.sleep(SETTLE_SECONDS)
            idle = _read_memory_kb(server) - before
            used = server.cpu_seconds()
            hidden = [await writer.write_hidden() for _ in range(writes)]
            await followers.wait_for(await writer.write())
            hidden_cpu = (server.cpu_seconds() - used) / writes
            waited, used = list[float](), server.cpu_seconds()
            for _ in range(writes):
                began = time.perf_counter()
                await followers.wait_for(await writer.write())
                waited.append(time.perf_counter() - began)
            cpu = (server.cpu_seconds() - used) / writes
            began = time.perf_counter()
            burst = [await writer.write() for _ in range(writes)]
            await followers.wait_for(burst[-1])
            burst_seconds = time.perf_counter() - began
            grown = _read_memory_kb(server) - before
    if leaked := [unit for unit in hidden if unit in first.told + followers.told]:
        raise PeerError(f"followers were told of units that they may not see: {leaked}")
    waited.sort()
    return FollowersSample(
        transport=transport,
        followers=count,
        idle_kb=idle / count,
        used_kb=grown / count,
        p50_ms=1000 * percentile(waited, 0.5),
        p99_ms=1000 * percentile(waited, 0.99),
        max_ms=1000 * waited[-1],
        cpu_ms=1000 * cpu,
        hidden_cpu_ms=1000 * hidden_cpu,
        burst_per_second=writes * count / burst_seconds,
    )


def _read_memory_kb(server: PeerServer) -> float:
    return 1000 * machine.sum_memory_mb(server.pid)["rss"]


async def _create_keys(directory: Directory) -> list[str]:
    client = driver.connect(directory.mongo_url)
    try:
        return [
            (
                await api_keys.create_api_key(
                    client[directory.database],
                    name=f"follower {number}",
                    permissions=[READ_UNIT_ATTRIBUTES_PERMISSION],
                    asset_ids=[FIRST_ASSET_ID],
                    expires_at=None,
                )
            )[1]
            for number in range(KEY_COUNT)
        ]
    finally:
        await driver.close(client)


@click.command()
@click.option("--followers", type=click.IntRange(1), default=1_000, show_default=True)
@click.option(
    "--writes", type=click.IntRange(1, 80), default=50, show_default=True,
    help="Writes of each kind: waited for, hidden, at once.",
)  # fmt: skip
@click.option("--write-docs", is_flag=True, help="Write the table into docs/performance.md.")
def main(followers: int, writes: int, write_docs: bool) -> None:
    """Measure what followers of changes cost a worker, and how soon they know of a write."""
    samples = list[FollowersSample]()
    with (
        scratch_directory() as scratch,
        machine.pin_to_cores(machine.LOAD_CORE),
        embedded_mongo.run_embedded_mongo(scratch / "data") as mongo_url,
    ):
        for transport in OPENERS:
            directory = load_directory(mongo_url, transport, UNIT_COUNT, scratch)
            keys = asyncio.run(_create_keys(directory))
            with (
                start_peer(FOLLOWED, directory) as server,
                closing(GatewayClient(server)) as client,
                asyncio.Runner(loop_factory=EventLoop) as runner,
            ):
                writer = Writer(client, directory)
                samples.append(
                    runner.run(measure(server, writer, keys, transport, followers, writes))
                )
    table = build_table(samples)
    Console().print(table.to_rich_table())
    if write_docs:
        pages.rewrite_section(pages.PERFORMANCE_PAGE, "followers", table.to_markdown())


if __name__ == "__main__":
    main()
