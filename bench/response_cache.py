"""What the response cache costs: stale reads, responses that writes invalidate, and memory."""

import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from pymongo import MongoClient

from bench.comparison import read_counters, with_counters
from bench.data.directory import ATTRIBUTE_IDS, GROUP_ID, UNITS_PER_ASSET, Directory
from bench.data.workloads import SEED, LoadRequest, build_workload, list_reads_of, list_writes
from bench.harness import Results, Row, Run, describe_record, experiment
from bench.load import machine
from bench.load.generator import LoadGenerator, LoadOutcome, percentile, start_load_generator
from bench.load.servers import GatewayClient, PeerError, PeerServer, start_peer
from bench.peers.peer import CACHE_OFF, CACHED, UNCACHED, Peer, with_settings
from bench.report import ReportTable, format_figure
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
    unit_id = directory.unit_ids[0]
    for through, peer, count in (
        (OTHER_UNCACHED, UNCACHED, 2),
        (OTHER, CACHED, 2),
        (SAME, CACHED, 1),
    ):
        with _connect_gateways(directory, peer, count) as gateways:
            write, reader = partial(gateways[0].assign, unit_id), gateways[-1]
            row = measure_visibility_delay(write, reader, unit_id, writes)
            queries = _count_finds_per_read(reader, directory)
            yield {"read through": through, **row, "queries a read": queries}


@contextmanager
def _connect_gateways(
    directory: Directory, peer: Peer, count: int
) -> Iterator[list[GatewayClient]]:
    with ExitStack() as stack:
        servers = [stack.enter_context(start_peer(peer, directory)) for _ in range(count)]
        yield [stack.enter_context(closing(GatewayClient(server))) for server in servers]


def measure_visibility_delay(
    write: Callable[[str], object], reader: GatewayClient, unit_id: str, writes: int
) -> Row:
    """Measure how soon a reader sees the attributes that are written to a unit."""
    waited_ms = []
    for number in range(writes):
        for _ in range(WARM_UP_READS):
            reader.list_assigned()
        attribute = ATTRIBUTE_IDS[number % len(ATTRIBUTE_IDS)]
        write(attribute)
        waited_ms.append(1000 * seconds_until_visible(reader, unit_id, attribute))
    ordered = sorted(waited_ms)
    return {
        "writes": writes,
        "stale at once": sum(wait > 0 for wait in ordered),
        "p50 ms": percentile(ordered, 0.5),
        "p99 ms": percentile(ordered, 0.99),
        "max ms": ordered[-1],
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

READS_PER_SECOND = 500.0
WRITES_TO_ONE, WRITES_TO_ALL = 100.0, 10.0
READERS, WRITERS = 12, 4
WRITTEN_UNITS = 20
"""The number of units of each asset that are written."""
MIN_HITS_OF_OTHERS, MIN_HITS_OF_MIX = 0.999, 0.95
MIN_RATE_REACHED = 0.9
"""The least share of the due writes that has to be made: a busy machine makes fewer."""
MAX_COMMIT_MS = 10.0
FILLS, MAX_FILL_SECONDS = 3, 600.0


class _Rounds:
    """A gateway that is read, and the writes to another or the same."""

    def __init__(
        self, reader: LoadGenerator, writer: LoadGenerator, read: PeerServer, log: Path
    ) -> None:
        self._reader, self._writer, self._read, self._log = reader, writer, read, log
        directory = read.directory
        self.assets = range(len(directory.unit_ids) // UNITS_PER_ASSET)
        self._requests = [list_reads_of(directory, asset) for asset in self.assets]
        self._random = random.Random(SEED)

    def fill(self) -> int:
        """Read every response until all are cached, and return how many are."""
        every = [request for own in self._requests for request in own]
        for _ in range(FILLS):
            before = read_counters(self._log) if self._log.exists() else (0, 0)
            self._send(every, MAX_FILL_SECONDS, max_requests=len(every))
            _, misses = self._count_since(before)
        return len(every) - misses

    def measure(
        self, title: str, through: PeerServer, written: Sequence[int], seconds: float
    ) -> Row:
        """Read while some assets are written: hits of the others, or of all if all are written."""
        is_one = len(written) == 1
        rate = WRITES_TO_ONE if is_one else WRITES_TO_ALL
        read = [request for own in self._requests[is_one:] for request in own]
        chosen = self._random.choices(read, k=round(2 * READS_PER_SECOND * seconds))
        before = read_counters(self._log)
        with ThreadPoolExecutor(1) as threads:
            writing = threads.submit(self._write, through, written, seconds, rate=rate)
            self._send(chosen, seconds, rate=READS_PER_SECOND)
            answered = writing.result().answered.requests
        hits, misses = self._count_since(before)
        return {
            "writes": title,
            "least": MIN_HITS_OF_OTHERS if is_one else MIN_HITS_OF_MIX,
            "what": "responses of other assets" if is_one else "all responses",
            "reads": hits + misses,
            "misses": misses,
            "hits": hits / (hits + misses),
            "writes/s": answered / seconds,
            "ordered_rate": rate,
        }

    def age(self, through: PeerServer) -> None:
        """Write what a cache that has long been in use has seen since the last read of a response.

        Else it would be fuller than it stays.
        """
        reads_of_each = READS_PER_SECOND / len(self._requests[0])
        writes = round(len(self.assets) * math.log1p(WRITES_TO_ALL / reads_of_each))
        self._write(through, self.assets, MAX_FILL_SECONDS, max_requests=writes)

    def _count_since(self, before: tuple[int, int]) -> tuple[int, int]:
        """Return hits and misses since earlier ones."""
        hits, misses = read_counters(self._log)
        return hits - before[0], misses - before[1]

    def _send(self, requests: list[LoadRequest], seconds: float, **limits: Any) -> LoadOutcome:
        reads = build_workload("reads", requests)
        order = self._read.build_order(reads, seconds, READERS, **limits)
        return self._reader.run(order)

    def _write(
        self, through: PeerServer, assets: Sequence[int], seconds: float, **limits: Any
    ) -> LoadOutcome:
        """Assign to units of assets, in a random order."""
        requests = list_writes(through.directory, assets, WRITTEN_UNITS)
        self._random.shuffle(requests)
        writes = build_workload("writes", requests)
        order = through.build_order(writes, seconds, WRITERS, **limits)
        return self._writer.run(order)


def measure_commits(read: PeerServer, commits: int) -> Row:
    """Measure how soon a write to MongoDB itself shows. Raises PeerError if one never does."""
    directory = read.directory
    unit_id = directory.unit_ids[0]
    key = KEY_SEPARATOR.join((GROUP_ID, unit_id))
    with (
        MongoClient[dict[str, Any]](directory.mongo_url, w="majority") as mongo,
        closing(GatewayClient(read)) as client,
    ):
        stored = mongo[directory.database][STORED_ASSIGNMENTS.name]
        client.assign(unit_id, ATTRIBUTE_IDS[-1])  # a document, made as the gateway makes it

        def write(attribute: str) -> None:
            stored.update_one({"_id": key}, {"$set": {"attribute_id": attribute}})

        return measure_visibility_delay(write, client, unit_id, commits)


def build_invalidation_tables(results: Results) -> list[ReportTable]:
    """Return the table of targets."""
    record = results["invalidation"]
    *rounds, commits = record.rows
    commit = (
        "from commit to invalidation, p99",
        f"under {MAX_COMMIT_MS:g} ms",
        "{p99 ms:.1f} ms (p50 {p50 ms:.1f}, max {max ms:.1f}; {writes:,} writes)".format_map(
            commits
        ),
        "met" if commits["p99 ms"] < MAX_COMMIT_MS else "missed",
    )
    note = "{units:,} units, {cached:,} cached responses; load average {max_load}."
    return [
        ReportTable(
            "To reach",
            ("", "to reach", "measured", ""),
            [*map(_judge_hits, rounds), commit],
            text_columns=4,
            note=note.format_map(describe_record(record) | {"cached": rounds[0]["cached"]}),
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


@experiment(report=build_invalidation_tables)
def invalidation(
    run: Run, units: int = 100_000, seconds: float = 10.0, commits: int = 300
) -> Iterator[Row]:
    """Measure which cached responses writes invalidate, and how soon.

    The cache of a gateway has the reads of the mix, of all assets. Attributes are assigned to the
    units of one asset while the others are read, through another gateway and through the same; then
    to units of all assets. A miss is what the worker counts as one. Last, attributes are written to
    MongoDB itself, and the response is read again and again until one shows the write.

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
        writer = stack.enter_context(start_load_generator())
        rounds = _Rounds(run.load, writer, read, logs[0])
        cached = rounds.fill()
        title = f"{WRITES_TO_ONE:.0f} writes/s to one asset through"
        yield rounds.measure(f"{title} another gateway", other, [0], seconds) | {"cached": cached}
        yield rounds.measure(f"{title} the same gateway", read, [0], seconds)
        rounds.age(other)
        title = f"{WRITES_TO_ALL:.0f} writes/s to all assets through another gateway"
        yield rounds.measure(title, other, rounds.assets, 2 * seconds)
        yield measure_commits(read, commits)


# Memory

MEMORY_UNITS = 20_000
CONNECTIONS = 4
WARM_UP_REQUESTS = 50
SETTLE_SECONDS = 1.0
BYTES_OF_ENTRY = 1_500
"""The least that the cache counts for a response, apart from its body."""
SHAPES = {"one unit": 250, "20 units": 3_700, "100 units": 18_000, "1,000 units": 180_000}
"""Responses, and about how many bytes they have."""


@experiment(
    "Memory of the response cache",
    note="Resident memory after as many distinct requests as fill the cache at least.",
)
def memory(run: Run, cache_mb: int = 64, shape: tuple[str, ...] = tuple(SHAPES)) -> Iterator[Row]:
    """Measure what a cached megabyte costs.

    A gateway gets distinct requests until its response cache is full, then the same gateway without
    the cache gets as many. The resident memory that the first has grown by, less what the second
    has grown by, is the cost of the cache.
    """
    directory = run.load_directory(MEMORY_UNITS)
    for each in shape:
        count = cache_mb * 1_000_000 // (SHAPES[each] + BYTES_OF_ENTRY)
        requests = [LoadRequest(path) for path in list_paths(each, directory)]
        warm_up, filling = requests[:WARM_UP_REQUESTS], requests[WARM_UP_REQUESTS:][:count]
        full_mb, uncached_mb = (
            _measure_growth(run.load, directory, settings, warm_up, filling)
            for settings in ({"FLOORGATE_CACHE_MB": str(cache_mb)}, CACHE_OFF)
        )
        yield {
            "response": each,
            "responses": len(filling),
            "cache, MB": cache_mb,
            "grown, MB": full_mb,
            "without the cache": uncached_mb,
            "for each MB": (full_mb - uncached_mb) / cache_mb,
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
    load: LoadGenerator, directory: Directory, settings: dict[str, str], *parts: list[LoadRequest]
) -> float:
    """Return the megabytes by which a gateway has grown from the first part to the last."""
    measured = []
    with start_peer(with_settings("memory", "Floorgate", **settings), directory) as server:
        for requests in parts:
            order = server.build_order(
                build_workload("distinct", requests),
                MAX_FILL_SECONDS,
                CONNECTIONS,
                max_requests=len(requests),
            )
            load.run(order)
            time.sleep(SETTLE_SECONDS)
            measured.append(machine.sum_memory_mb(server.pid)["rss"])
    return measured[-1] - measured[0]
