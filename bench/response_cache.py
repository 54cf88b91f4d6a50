"""What the response cache costs: stale reads, responses that writes invalidate, and memory."""

import math
import random
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import Any, TypeAlias

from pymongo import MongoClient

from bench.comparison import read_counters, with_counters
from bench.data.directory import (
    ATTRIBUTE_IDS,
    GROUP_ID,
    UNITS_PER_ASSET,
    Directory,
    get_asset_id,
)
from bench.data.workloads import SEED, LoadRequest, list_reads_of
from bench.harness import Results, Row, Run, describe_record, experiment
from bench.load import machine
from bench.load.generator import LoadOrder, due_times, percentile
from bench.load.servers import GatewayClient, PeerError, PeerServer, start_peer
from bench.peers.peer import CACHE_OFF, CACHED, HOST, UNCACHED, Peer, with_settings
from bench.report import ReportTable, format_figure, tabulate
from bench.targets import OTHER, OTHER_UNCACHED, SAME
from storage.catalog import ASSIGNMENTS as STORED_ASSIGNMENTS
from storage.records.kinds import KEY_SEPARATOR

MAX_WAIT_SECONDS = 10.0
READ_COUNT = 100
WARM_UP_READS = 3
"""Reads after which a cacheable response is in the response cache."""


@experiment(
    "From a write's answer to the first read that shows it",
    note="Queries: those sent to MongoDB while nothing is written; 0 means from the cache.",
)
def staleness(run: Run, units: int = 2_000, writes: int = 500) -> Iterator[Row]:
    """Measure how soon a write shows through another gateway, and through the same.

    Writes assign one attribute and another in turn to a unit; each is followed by reads until one
    shows the write. The staleness is the time from the answer to the write until the first read
    that shows it was sent; 0 if the first read did.
    """
    directory = run.load_directory(units)
    for through, peer, count in (
        (OTHER_UNCACHED, UNCACHED, 2),
        (OTHER, CACHED, 2),
        (SAME, CACHED, 1),
    ):
        with _connect_gateways(directory, peer, count) as gateways:
            row = measure_visibility_delay(gateways[0], gateways[-1], directory, writes)
            yield {"read through": through, **row}


@contextmanager
def _connect_gateways(
    directory: Directory, peer: Peer, count: int
) -> Iterator[list[GatewayClient]]:
    with ExitStack() as stack:
        servers = [stack.enter_context(start_peer(peer, directory)) for _ in range(count)]
        yield [stack.enter_context(closing(GatewayClient(server))) for server in servers]


def measure_visibility_delay(
    writer: GatewayClient, reader: GatewayClient, directory: Directory, writes: int
) -> Row:
    """Measure how soon a reader sees a writer's writes."""
    waited_ms = []
    unit_id = directory.unit_ids[0]
    for number in range(writes):
        for _ in range(WARM_UP_READS):
            reader.list_assigned()
        attribute = ATTRIBUTE_IDS[number % len(ATTRIBUTE_IDS)]
        writer.assign(unit_id, attribute)
        waited_ms.append(1000 * seconds_until_visible(reader, unit_id, attribute))
    ordered = sorted(waited_ms)
    return {
        "writes": writes,
        "stale at once": sum(wait > 0 for wait in ordered),
        "p50 ms": percentile(ordered, 0.5),
        "p99 ms": percentile(ordered, 0.99),
        "max ms": ordered[-1],
        "queries a read": _count_finds_per_read(reader, directory),
    }


def _count_finds_per_read(reader: GatewayClient, directory: Directory) -> float:
    with MongoClient[dict[str, Any]](directory.mongo_url) as client:

        def count() -> int:
            finds: int = client.admin.command("serverStatus")["opcounters"]["query"]
            return finds

        for _ in range(WARM_UP_READS):
            reader.list_assigned()
        before = count()
        for _ in range(READ_COUNT):
            reader.list_assigned()
        return (count() - before) / READ_COUNT


def seconds_until_visible(reader: GatewayClient, unit_id: str, attribute: str) -> float:
    """Read until a write that has just been answered shows. Raises PeerError if it does not.

    Only a read that was sent after the limit fails: one that was sent before may be answered late,
    when the machine stands still, and says nothing of what a read sees now.
    """
    written = sent = time.perf_counter()
    while (shown := reader.list_assigned().get(unit_id)) != attribute:
        if sent > written + MAX_WAIT_SECONDS:
            raise PeerError(
                f"{attribute!r} was written and does not show after {MAX_WAIT_SECONDS:.0f} s: "
                f"reads return {shown!r}"
            )
        sent = time.perf_counter()
    return sent - written


# What writes invalidate

READS_PER_SECOND, CHECKS_PER_SECOND = 500.0, 50.0
WRITES_TO_ONE, WRITES_TO_ALL = 100.0, 10.0
READERS, WRITERS = 12, 4
WRITTEN_UNITS = 20
"""Of each asset, whose assignments a response shows together."""
MIN_HITS_OF_OTHERS, MIN_HITS_OF_MIX = 0.999, 0.95
MIN_RATE_REACHED = 0.9
"""Of the writes that fell due: a busy machine makes fewer."""
MAX_COMMIT_MS = 10.0
FILLS = 3
SHOWN = ("writes", "reads", "misses", "hits", "checked", "stale", "latest ms", "writes/s")
Write: TypeAlias = tuple[str | None, float]
"""An attribute, and when the answer to its write came; infinity before that."""


def compute_delay(writes: Sequence[Write], shown: str | None, sent_at: float) -> float:
    """Return for how long a read, when it was sent, should have shown a newer write than it does.

    That is 0 if it need not, and infinity if what it shows was never written.

    >>> writes = [("oak", 1.0), ("stone", 5.0)]
    >>> compute_delay(writes, "oak", sent_at=4.0), compute_delay(writes, "oak", sent_at=7.0)
    (0.0, 2.0)
    """
    newer_answered_at = math.inf
    for attribute, answered_at in reversed(writes):
        if attribute == shown:
            return max(0.0, sent_at - newer_answered_at)
        newer_answered_at = answered_at
    return math.inf


class WriteHistory:
    """The writes to each unit, one at a time, in their order."""

    def __init__(self) -> None:
        self._writes = defaultdict[str, list[Write]](lambda: [(None, -math.inf)])

    def write(self, client: GatewayClient, unit_id: str, asset_id: str) -> None:
        """Assign to a unit the attribute that it does not have."""
        attribute = self.begin(unit_id)
        client.assign(unit_id, attribute, asset_id)
        self.end(unit_id)

    def begin(self, unit_id: str) -> str:
        """Return the attribute to write, which reads may show from now on."""
        writes = self._writes[unit_id]
        attribute = ATTRIBUTE_IDS[writes[-1][0] == ATTRIBUTE_IDS[0]]
        writes.append((attribute, math.inf))
        return attribute

    def end(self, unit_id: str) -> None:
        """Note that the write was answered: reads have to show it from now on."""
        attribute, _ = self._writes[unit_id][-1]
        self._writes[unit_id][-1] = attribute, time.perf_counter()

    def judge(self, assigned: dict[str, str], unit_ids: Sequence[str], sent_at: float) -> float:
        """Return the longest delay of the units in a response."""
        return max(compute_delay(self._writes[id], assigned.get(id), sent_at) for id in unit_ids)


class _Rounds:
    """A gateway that is read, and what was written so far."""

    def __init__(self, run: Run, directory: Directory, read: PeerServer, log: Path) -> None:
        self.run, self.directory, self.read, self.log = run, directory, read, log
        self.assets = range(len(directory.unit_ids) // UNITS_PER_ASSET)
        self.requests = [list_reads_of(directory, asset) for asset in self.assets]
        self.history = WriteHistory()
        self.random = random.Random(SEED)

    def fill(self) -> int:
        """Read every response until all are cached, and return how many are."""
        every = [request for own in self.requests for request in own]
        for _ in range(FILLS):
            before = read_counters(self.log) if self.log.exists() else (0, 0)
            self._send(every, None, 600.0, len(every))
            _, misses = (y - x for x, y in zip(before, read_counters(self.log), strict=True))
        return len(every) - misses

    def _list_units(self, asset: int) -> list[str]:
        first = asset * UNITS_PER_ASSET
        return self.directory.unit_ids[first : first + WRITTEN_UNITS]

    def _send(
        self, requests: list[LoadRequest], rate: float | None, seconds: float, count: int | None
    ) -> int:
        order = LoadOrder(
            host=HOST,
            port=self.read.port,
            headers=self.read.headers,
            requests=requests,
            seconds=seconds,
            connections=READERS,
            rate=rate,
            max_requests=count,
        )
        return self.run.load.run(order).answered.requests

    def measure(
        self, title: str, through: PeerServer, written: Sequence[int], seconds: float
    ) -> Row:
        """Read while some assets are written: hits of the others, or of all if all are written."""
        is_one = len(written) == 1
        rate = WRITES_TO_ONE if is_one else WRITES_TO_ALL
        read = [request for own in self.requests[is_one:] for request in own]
        chosen = self.random.choices(read, k=round(2 * READS_PER_SECOND * seconds))
        before = read_counters(self.log)
        with self._writing(through, written, rate, seconds) as answered:
            self._send(chosen, READS_PER_SECOND, seconds, None)
        hits, misses = (y - x for x, y in zip(before, read_counters(self.log), strict=True))
        with self._writing(through, written, rate, seconds):
            delays = [*self._check(written, seconds)]
        limit_ms = 0.0 if through is self.read else MAX_COMMIT_MS
        return {
            "writes": title,
            "least": MIN_HITS_OF_OTHERS if is_one else MIN_HITS_OF_MIX,
            "what": "responses of other assets" if is_one else "all responses",
            "reads": hits + misses,
            "misses": misses,
            "hits": hits / (hits + misses),
            "writes/s": len(answered) / seconds,
            "ordered_rate": rate,
            "limit_ms": limit_ms,
            "checked": len(delays),
            "stale": sum(1000 * delay > limit_ms for delay in delays),
            "latest ms": 1000 * max(delays),
        }

    def age(self, through: PeerServer) -> None:
        """Write what a cache that has long been in use has seen since the last read of a response.

        Else it would be fuller than it stays.
        """
        reads_of_each = READS_PER_SECOND / len(self.requests[0])
        writes = round(len(self.assets) * math.log1p(WRITES_TO_ALL / reads_of_each))
        with closing(GatewayClient(through)) as client:
            for asset in self.random.choices(self.assets, k=writes):
                unit_id = self.random.choice(self._list_units(asset))
                self.history.write(client, unit_id, get_asset_id(asset))

    @contextmanager
    def _writing(
        self, through: PeerServer, written: Sequence[int], rate: float, seconds: float
    ) -> Iterator[list[str]]:
        """Assign to units of assets meanwhile; yield the units, as their writes are answered."""
        answered: list[str] = []
        places = [(asset, id) for asset in written for id in self._list_units(asset)]
        self.random.shuffle(places)

        def write(own: list[tuple[int, str]], seed: int) -> None:
            due = due_times(rate / WRITERS, seconds, seed=seed)
            with closing(GatewayClient(through)) as client:
                for moment, (asset, unit_id) in zip(due, cycle(own), strict=False):
                    time.sleep(max(0.0, moment - time.perf_counter()))
                    self.history.write(client, unit_id, get_asset_id(asset))
                    answered.append(unit_id)

        with ThreadPoolExecutor(WRITERS) as threads:
            work = [threads.submit(write, places[at::WRITERS], at) for at in range(WRITERS)]
            yield answered
            for each in work:
                each.result()

    def _check(self, written: Sequence[int], seconds: float) -> Iterator[float]:
        """Yield the delays of the responses that show the writes."""
        with closing(GatewayClient(self.read)) as client:
            for moment in due_times(CHECKS_PER_SECOND, seconds):
                time.sleep(max(0.0, moment - time.perf_counter()))
                asset, sent_at = self.random.choice(written), time.perf_counter()
                yield self._judge(client, asset, sent_at)

    def _judge(self, client: GatewayClient, asset: int, sent_at: float) -> float:
        assigned = client.list_assigned(f"?asset={get_asset_id(asset)}&per-page={UNITS_PER_ASSET}")
        return self.history.judge(assigned, self._list_units(asset), sent_at)

    def measure_commits(self, writes: int) -> Row:
        """Measure how soon a write to MongoDB shows. Raises PeerError if one never does."""
        waited_ms = []
        unit_ids = self._list_units(0)
        with (
            MongoClient[dict[str, Any]](self.directory.mongo_url, w="majority") as mongo,
            closing(GatewayClient(self.read)) as client,
        ):
            stored = mongo[self.directory.database][STORED_ASSIGNMENTS.name]
            for unit_id in unit_ids:  # a document for each, made as the gateway makes them
                self.history.write(client, unit_id, get_asset_id(0))
            for unit_id in islice(cycle(unit_ids), writes):
                for _ in range(WARM_UP_READS):
                    self._judge(client, 0, time.perf_counter())
                key = KEY_SEPARATOR.join((GROUP_ID, unit_id))
                change = {"attribute_id": self.history.begin(unit_id)}
                stored.update_one({"_id": key}, {"$set": change})
                self.history.end(unit_id)
                answered_at = sent_at = time.perf_counter()
                while self._judge(client, 0, sent_at):
                    sent_at = time.perf_counter()
                    if sent_at > answered_at + MAX_WAIT_SECONDS:
                        raise PeerError(f"{change} of {unit_id} was written and does not show")
                waited_ms.append(1000 * (sent_at - answered_at))
        waited_ms.sort()
        p50_ms, p99_ms = (percentile(waited_ms, share) for share in (0.5, 0.99))
        return {"commits": writes, "p50_ms": p50_ms, "p99_ms": p99_ms, "max_ms": waited_ms[-1]}


def build_invalidation_tables(results: Results) -> list[ReportTable]:
    """Return the tables of targets and of rounds."""
    record = results["invalidation"]
    *rounds, commits = record.rows
    commit = (
        "from commit to invalidation, p99",
        f"under {MAX_COMMIT_MS:g} ms",
        "{p99_ms:.1f} ms (p50 {p50_ms:.1f}, max {max_ms:.1f}; {commits:,} writes)".format(
            **commits
        ),
        "met" if commits["p99_ms"] < MAX_COMMIT_MS else "missed",
    )
    note = "{units:,} units, {cached:,} cached responses; load average {max_load}."
    return [
        ReportTable(
            "To reach",
            ("", "to reach", "measured", ""),
            [*map(_judge_hits, rounds), *map(_judge_stale, rounds), commit],
            text_columns=4,
            note=note.format_map(describe_record(record) | {"cached": rounds[0]["cached"]}),
        ),
        tabulate(
            "Reads during writes",
            [{name: row[name] for name in SHOWN} for row in rounds],
            note="Latest: the longest that a write had been answered when a read was sent that did "
            "not show it.",
        ),
    ]


def _judge_hits(row: Row) -> tuple[str, ...]:
    verdict = "met" if row["hits"] >= row["least"] else "missed"
    if row["writes/s"] < MIN_RATE_REACHED * row["ordered_rate"]:
        verdict += ", at fewer writes"
    measured = (
        f"{100 * row['hits']:.2f} % ({row['misses']:,} misses of {row['reads']:,}; "
        f"{format_figure(row['writes/s'])} writes/s reached)"
    )
    bound = f"at least {100 * row['least']:g} %"
    return f"{row['what']}, {row['writes']}", bound, measured, verdict


def _judge_stale(row: Row) -> tuple[str, ...]:
    what = f"stale after {row['limit_ms']:.0f} ms" if row["limit_ms"] else "stale"
    measured = f"{row['stale']:,} of {row['checked']:,}"
    return f"{what}, {row['writes']}", "0", measured, "missed" if row["stale"] else "met"


@experiment(report=build_invalidation_tables)
def invalidation(
    run: Run, units: int = 100_000, seconds: float = 10.0, commits: int = 300
) -> Iterator[Row]:
    """Measure which cached responses writes invalidate, and how soon.

    The cache of a gateway has the reads of the mix, of all assets. Attributes are assigned to the
    units of one asset while the others are read, through another gateway and through the same; then
    to units of all assets. A miss is what the worker counts as one. In between, responses that show
    the writes are compared with what they have to show: one is stale if a write was answered before
    it was requested, and through another gateway more than `MAX_COMMIT_MS` before. Last, attributes
    are written to MongoDB itself, and the response is read again and again until one shows the
    write.

    The gateway that is read has one core, mongod and the load another. The other gateway may use
    both: mongod and a gateway take some 10 ms of CPU for a write.
    """
    directory = run.load_directory(units)
    logs = [run.scratch / "read.log", run.scratch / "other.log"]
    roomy = with_settings("roomy", "Floorgate", FLOORGATE_CACHE_MB="512")
    cores = ([machine.SERVER_CORE], machine.CORES)
    with ExitStack() as stack:
        read, other = (
            stack.enter_context(start_peer(with_counters(roomy, log), directory, own))
            for log, own in zip(logs, cores, strict=True)
        )
        rounds = _Rounds(run, directory, read, logs[0])
        cached = rounds.fill()
        title = f"{WRITES_TO_ONE:.0f} writes/s to one asset through"
        yield rounds.measure(f"{title} another gateway", other, [0], seconds) | {"cached": cached}
        yield rounds.measure(f"{title} the same gateway", read, [0], seconds)
        rounds.age(other)
        title = f"{WRITES_TO_ALL:.0f} writes/s to all assets through another gateway"
        yield rounds.measure(title, other, rounds.assets, 2 * seconds)
        yield rounds.measure_commits(commits)


# Memory

MEMORY_UNITS = 20_000
CONNECTIONS = 4
WARM_UP_REQUESTS = 50
SETTLE_SECONDS = 1.0
BYTES_OF_ENTRY = 1_500
"""The least that the cache counts for a response, apart from its body."""
SHAPES = {"one unit": 250, "20 units": 3_700, "100 units": 18_000, "1,000 units": 180_000}
"""Responses, and about how many bytes they have."""
ENCODINGS = {"as it is": ("identity",), "as it is and gzip": ("identity", "gzip")}


@experiment(
    "Memory of the response cache",
    note="Resident memory after as many distinct requests as fill the cache at least.",
    text_columns=2,
)
def memory(run: Run, cache_mb: int = 64, shape: tuple[str, ...] = tuple(SHAPES)) -> Iterator[Row]:
    """Measure what a cached megabyte costs.

    A gateway gets distinct requests until its response cache is full, then the same gateway without
    the cache gets as many. The resident memory that the first has grown by, less what the second
    has grown by, is the cost of the cache.
    """
    directory = run.load_directory(MEMORY_UNITS)
    for each in shape:
        for title, encodings in ENCODINGS.items():
            full = _measure_growth(directory, each, encodings, cache_mb, cache_mb)
            grown_mb, uncached_mb = (
                measured["grown, MB"]
                for measured in (full, _measure_growth(directory, each, encodings, 0, cache_mb))
            )
            yield {
                "response": each,
                "encodings": title,
                "responses": full["responses"],
                "MB of bodies": full["MB of bodies"],
                "cache, MB": cache_mb,
                "grown, MB": grown_mb,
                "without the cache": uncached_mb,
                "for each MB": (grown_mb - uncached_mb) / cache_mb,
            }


def list_paths(shape: str, directory: Directory) -> Iterator[str]:
    """Yield distinct addresses of responses of one size, thousands of them."""
    if shape == "one unit":
        yield from (f"/v1/units/{unit_id}" for unit_id in directory.unit_ids)
        return
    size = int(shape.partition(" ")[0].replace(",", ""))
    # Pages that are a little larger or smaller: no two of them are equal.
    for extra in range(size):
        per_page = size + (extra + 1) // 2 * (1 if extra % 2 else -1)
        for page in range(1, min(MEMORY_UNITS // per_page, 10_000 // per_page + 1)):
            yield f"/v1/units?per-page={per_page}&page={page}"


def _measure_growth(
    directory: Directory, shape: str, encodings: Sequence[str], cache_mb: int, count_mb: int
) -> Row:
    settings = {"FLOORGATE_CACHE_MB": str(cache_mb)} if cache_mb else CACHE_OFF
    size = SHAPES[shape] + BYTES_OF_ENTRY
    with start_peer(with_settings("memory", "Floorgate", **settings), directory) as server:
        all_paths = list_paths(shape, directory)
        _send_all(server, [*islice(all_paths, WARM_UP_REQUESTS)], encodings)
        paths = [*islice(all_paths, count_mb * 1_000_000 // size)]
        time.sleep(SETTLE_SECONDS)
        before = machine.sum_memory_mb(server.pid)["rss"]
        sent = _send_all(server, paths, encodings)
        time.sleep(SETTLE_SECONDS)
        grown = machine.sum_memory_mb(server.pid)["rss"] - before
        return {"responses": len(paths), "MB of bodies": sent / 1e6, "grown, MB": grown}


def _send_all(server: PeerServer, paths: Sequence[str], encodings: Sequence[str]) -> int:
    """Request all paths in each encoding, and return the bytes of all bodies."""

    def send(own: Sequence[str]) -> int:
        headers = [{"Accept-Encoding": encoding} for encoding in encodings]
        clients = [GatewayClient(server, each) for each in headers]
        sizes = [len(client.request("GET", path)) for path in own for client in clients]
        for client in clients:
            client.close()
        return sum(sizes)

    with ThreadPoolExecutor(CONNECTIONS) as threads:
        return sum(threads.map(send, (paths[at::CONNECTIONS] for at in range(CONNECTIONS))))
