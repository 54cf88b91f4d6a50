"""Measure what writes cost the cache: `python -m bench.invalidation`.

A portfolio of a thousand assets, and ten responses of each in the cache of a gateway, read by keys
that see one asset, ten, half or all of them. Reads fall due at random; each response is compared
with what it has to be. Meanwhile attributes are assigned: to the units of one asset, through
another gateway and through the same, then to units of all assets. A miss is a response that the
worker makes: it is counted there, see `bench.load.worker_log`.

Before that, attributes are written to MongoDB, and the response that shows them is read again and
again until one shows the write: the time from MongoDB's answer until that read was sent.

The gateway that is read has one core, mongod and the load another. The other gateway may use both:
mongod and a gateway take some 10 ms of CPU for a write.
"""

import asyncio
import math
import random
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from itertools import cycle, product, repeat
from pathlib import Path
from typing import Any, NamedTuple

import click
import uvloop
from pymongo import MongoClient
from rich.console import Console

from bench.data.portfolio import (
    DATABASE,
    FIRST_ATTRIBUTE,
    GROUP_IDS,
    UNITS_PER_ASSET,
    Portfolio,
    load_portfolio,
    unit_id,
)
from bench.data.portfolio_requests import ASSET_KINDS, KINDS, Address, list_addresses
from bench.load import machine
from bench.load.assignment_history import AssignmentHistory, Place, ResponseJudge
from bench.load.checked_load import (
    HttpConnection,
    ReadTally,
    WriteTarget,
    choose_next,
    send_reads,
    send_writes,
)
from bench.load.generator import LatencySummary, LoadError, due_times, percentile
from bench.load.servers import PeerError, PeerServer, start_peer
from bench.load.start_time import scratch_directory
from bench.load.worker_log import WorkerLog, with_worker_log
from bench.peers.floorgate import with_settings
from bench.report import pages
from bench.report.invalidation_table import (
    MAX_COMMIT_MS,
    CommitSample,
    Invalidation,
    KindSample,
    RoundSample,
    build_tables,
)
from storage.catalog import ASSIGNMENTS
from storage.embedded import embedded_mongo
from storage.records.kinds import KEY_SEPARATOR

SEED = 11
READS, CHECKS = 500.0, 50.0
"""A second: of the mix or of other assets, and of the asset that is written."""
WRITES_TO_ONE, WRITES_TO_ALL = 100.0, 10.0
READERS, WRITERS = 12, 4
WRITTEN_ASSET = 0
MAX_FILLS = 3
MAX_WAIT_SECONDS = 10.0
SHOWN_MISSES = 10
ROOMY = with_settings("roomy", "Floorgate", FLOORGATE_CACHE_MB="512")


class Owner(NamedTuple):
    """What a cached response is of."""

    kind: str
    is_written: bool
    """Whether it is of the asset that is written alone."""


class Gateway(NamedTuple):
    """A gateway and what its worker logs."""

    server: PeerServer
    log: WorkerLog


class Measurement:
    """A portfolio, a gateway that is read, and another one."""

    def __init__(self, portfolio: Portfolio, read: Gateway, other: Gateway) -> None:
        self.portfolio = portfolio
        self.read, self.other = read, other
        self.history = AssignmentHistory(FIRST_ATTRIBUTE)
        self.judge = ResponseJudge(self.history)
        self.addresses = list_addresses(portfolio)
        self.owners: dict[int, Owner] = {}
        self.random = random.Random(SEED)
        self.commit_limit = MAX_COMMIT_MS / 1000
        """After that many seconds a write has to show through the other gateway."""

    async def run(self, seconds: float, commits: int) -> Invalidation:
        """Fill the cache and measure everything."""
        cached = await self.fill()
        sample = await self.measure_commits(commits)
        self.commit_limit = max(MAX_COMMIT_MS, sample.p99_ms) / 1000
        return Invalidation(
            assets=self.portfolio.assets,
            cached=cached,
            commits=sample,
            other=await self.write_to_one(self.other, "through another gateway", seconds),
            same=await self.write_to_one(self.read, "through the same gateway", seconds),
            spread=await self.write_to_all(2 * seconds),
            load=machine.load_average(),
        )

    async def fill(self) -> int:
        """Read every address until all are cached, and return how many are."""
        self.read.log.read()
        for kind in KINDS:
            for is_written in (True, False):
                own = [
                    address
                    for address in self.addresses[kind.name]
                    if (address.asset == WRITTEN_ASSET) == is_written
                ]
                await self._read_all(own)
                made, _ = self.read.log.read()
                self.owners |= {each.key: Owner(kind.name, is_written) for each in made}
        every = [address for own in self.addresses.values() for address in own]
        missing = len(every)
        for _ in range(MAX_FILLS):
            await self._read_all(every)
            missing = len(self.read.log.read()[0])
            if not missing:
                break
        return len(every) - missing

    async def _read_all(self, addresses: Sequence[Address]) -> None:
        due, tally, following = repeat(0.0, len(addresses)), ReadTally(), iter(addresses)
        async with _connect(self.read.server, READERS) as connections:
            await asyncio.gather(
                *(send_reads(each, due, following, self.judge, tally) for each in connections)
            )
        if tally.delays:
            raise LoadError(f"{len(tally.delays)} responses are not what was written")

    async def measure_commits(self, writes: int) -> CommitSample:
        """Measure how soon a write to MongoDB shows. Raises LoadError if one never does."""
        address = self.addresses["assignments"][WRITTEN_ASSET]
        targets = _iter_targets(WRITTEN_ASSET, range(UNITS_PER_ASSET), GROUP_IDS[:1])
        url = self.portfolio.directory.mongo_url
        waited_ms = []
        with MongoClient[dict[str, Any]](url, w="majority") as client:
            collection = client[DATABASE][ASSIGNMENTS.name]
            async with _connect(self.read.server, 1) as (connection,):
                for _, (place, _) in zip(range(writes), targets, strict=False):
                    for _ in range(2):
                        await connection.send(address.request)
                    assigned = choose_next(self.history, place)
                    write = self.history.begin(assigned)
                    collection.update_one(
                        {"_id": KEY_SEPARATOR.join(place)},
                        {"$set": {"attribute_id": assigned.attribute}},
                    )
                    write.answered_at = sent_at = time.perf_counter()
                    while True:
                        body = await connection.send(address.request)
                        if not self.judge.compute_delay(address, body, time.perf_counter()):
                            break
                        sent_at = time.perf_counter()
                        if sent_at > write.answered_at + MAX_WAIT_SECONDS:
                            raise LoadError(f"{assigned} was written and does not show")
                    waited_ms.append(1000 * (sent_at - write.answered_at))
        waited_ms.sort()
        return CommitSample(
            writes=writes,
            p50_ms=percentile(waited_ms, 0.5),
            p99_ms=percentile(waited_ms, 0.99),
            max_ms=waited_ms[-1],
        )

    async def write_to_one(self, through: Gateway, title: str, seconds: float) -> RoundSample:
        """Write to one asset and read all others."""
        others = [
            address
            for kind in ASSET_KINDS
            for address in self.addresses[kind.name]
            if address.asset != WRITTEN_ASSET
        ]
        written = [
            self.addresses[kind.name][WRITTEN_ASSET]
            for kind in ASSET_KINDS
            if kind.read_assigned is not None
        ]
        targets = [
            _iter_targets(WRITTEN_ASSET, range(first, UNITS_PER_ASSET, WRITERS), GROUP_IDS)
            for first in range(WRITERS)
        ]
        return await self._run_round(
            f"{WRITES_TO_ONE:.0f} writes/s to one asset {title}",
            through,
            reads=iter(lambda: self.random.choice(others), None),
            checks=cycle(written),
            targets=targets,
            writes_per_second=WRITES_TO_ONE,
            seconds=seconds,
        )

    async def write_to_all(self, seconds: float) -> RoundSample:
        """Write to random units and read the mix.

        As many writes as an address of the least read kind has seen since its last read, after a
        long time, come before: else the cache would be fuller than it stays.
        """
        least = min(kind.share for kind in ASSET_KINDS) / 100 * READS
        writes_before = self.portfolio.assets * math.log1p(WRITES_TO_ALL / least)
        async with _connect(self.other.server, 1) as (connection,):
            due = repeat(0.0, round(writes_before))
            await send_writes(connection, due, self._iter_random_targets(), self.history, [])
        self.other.log.read()
        return await self._run_round(
            f"{WRITES_TO_ALL:.0f} writes/s to all assets through another gateway",
            self.other,
            reads=self._iter_mix(),
            checks=None,
            targets=[self._iter_random_targets()],
            writes_per_second=WRITES_TO_ALL,
            seconds=seconds,
        )

    def _iter_mix(self) -> Iterator[Address]:
        shares = [kind.share for kind in KINDS]
        while True:
            [kind] = self.random.choices(KINDS, shares)
            yield self.random.choice(self.addresses[kind.name])

    def _iter_random_targets(self) -> Iterator[WriteTarget]:
        while True:
            asset = self.random.randrange(self.portfolio.assets)
            unit = unit_id(asset, self.random.randrange(UNITS_PER_ASSET))
            yield WriteTarget(Place(self.random.choice(GROUP_IDS), unit), asset)

    async def _run_round(
        self,
        title: str,
        through: Gateway,
        *,
        reads: Iterator[Address],
        checks: Iterator[Address] | None,
        targets: Sequence[Iterator[WriteTarget]],
        writes_per_second: float,
        seconds: float,
    ) -> RoundSample:
        tally, checked = ReadTally(), ReadTally()
        latencies = list[float]()
        began = time.perf_counter()
        async with (
            _connect(self.read.server, READERS + 1) as (checker, *readers),
            _connect(through.server, len(targets)) as writers,
        ):
            due_reads = due_times(READS, seconds)
            due_writes = due_times(writes_per_second, seconds)
            work: list[Awaitable[None]] = [
                send_reads(each, due_reads, reads, self.judge, tally) for each in readers
            ]
            work += [
                send_writes(each, due_writes, own, self.history, latencies)
                for each, own in zip(writers, targets, strict=True)
            ]
            if checks is not None:
                due_checks = due_times(CHECKS, seconds)
                work.append(send_reads(checker, due_checks, checks, self.judge, checked))
            await asyncio.gather(*work)
        made, waits = self.read.log.read()
        if through is not self.read:
            _, waits = through.log.read()
        if unknown := [each.text for each in made if each.key not in self.owners]:
            raise LoadError(f"the worker made responses of no address: {unknown[:3]}")
        missed = [each for each in made if checks is None or not self.owners[each.key].is_written]
        misses = Counter(self.owners[each.key].kind for each in missed)
        delays = tally.delays + checked.delays
        limit = 0.0 if through is self.read else self.commit_limit
        return RoundSample(
            title=title,
            kinds=[
                KindSample(
                    title=kind.title,
                    reader=kind.reader,
                    share=kind.share,
                    reads=tally.by_kind[kind.name],
                    misses=misses[kind.name],
                )
                for kind in KINDS
            ],
            unconfirmed=sum(each.is_cached for each in missed),
            made=[] if checks is None else [each.text for each in missed],
            seconds=time.perf_counter() - began,
            checked=tally.by_kind.total() + checked.by_kind.total(),
            stale=sum(delay > limit for delay in delays),
            limit_ms=1000 * limit,
            latest_ms=1000 * max(delays, default=0.0),
            ordered_per_second=writes_per_second,
            writes=LatencySummary.from_seconds(latencies),
            waits=LatencySummary.from_seconds(waits),
        )


def _iter_targets(asset: int, units: Iterable[int], groups: Iterable[str]) -> Iterator[WriteTarget]:
    places = product(groups, (unit_id(asset, unit) for unit in units))
    return cycle(WriteTarget(Place(*place), asset) for place in places)


@asynccontextmanager
async def _connect(server: PeerServer, count: int) -> AsyncIterator[list[HttpConnection]]:
    connections = [await HttpConnection.open(server) for _ in range(count)]
    try:
        yield connections
    finally:
        for connection in connections:
            connection.close()


@contextmanager
def _start_gateway(portfolio: Portfolio, log_path: Path, cores: Sequence[int]) -> Iterator[Gateway]:
    log = WorkerLog(log_path)
    with start_peer(with_worker_log(ROOMY, log), portfolio.directory, cores) as server:
        yield Gateway(server, log)


@click.command()
@click.option("--assets", type=click.IntRange(2), default=1_000, show_default=True)
@click.option(
    "--seconds", type=click.FloatRange(0.1), default=10.0, show_default=True,
    help="Of a round of writes to one asset; that of writes to all takes twice as long.",
)  # fmt: skip
@click.option("--commits", type=click.IntRange(1), default=300, show_default=True)
@click.option("--write-docs", is_flag=True, help="Write the tables into docs/performance.md.")
def main(assets: int, seconds: float, commits: int, write_docs: bool) -> None:
    """Measure which cached responses writes end, and how soon."""
    with (
        scratch_directory() as scratch,
        machine.pin_to_cores(machine.LOAD_CORE),
        embedded_mongo.run_embedded_mongo(scratch / "data") as mongo_url,
    ):
        portfolio = load_portfolio(mongo_url, assets, scratch)
        try:
            with (
                _start_gateway(portfolio, scratch / "read.log", [machine.SERVER_CORE]) as read,
                _start_gateway(portfolio, scratch / "other.log", machine.CORES) as other,
            ):
                measurement = Measurement(portfolio, read, other)
                result = uvloop.run(measurement.run(seconds, commits))
        except (PeerError, LoadError) as error:
            raise click.ClickException(str(error)) from error
    for each in result.rounds:
        for text in each.made[:SHOWN_MISSES]:
            click.echo(f"{each.title}: a miss of {text}", err=True)
    tables = build_tables(result)
    for table in tables:
        Console(width=None if sys.stdout.isatty() else 180).print(table.to_rich_table())
    if write_docs:
        shown = [f"### {table.title}\n\n{table.to_markdown()}" for table in tables]
        pages.rewrite_section(pages.PERFORMANCE_PAGE, "invalidation", "\n\n".join(shown))


if __name__ == "__main__":
    main()
