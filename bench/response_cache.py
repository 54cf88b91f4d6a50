"""Measure the costs of the response cache: stale reads, responses that writes drop, and memory."""

import http.client
import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from prometheus_client.parser import text_string_to_metric_families
from pymongo import MongoClient

from bench.data.directory import ATTRIBUTE_IDS, GROUP_ID, UNITS_PER_ASSET, Directory
from bench.data.workloads import SEED, LoadRequest, build_workload, list_reads_of, list_writes
from bench.harness import Row, Run, experiment
from bench.load import machine
from bench.load.generator import LatencySummary, LoadGenerator, start_load_generator
from bench.load.servers import (
    Client,
    PeerError,
    PeerServer,
    Sample,
    find_free_port,
    start_peer,
    start_peers,
)
from bench.peers.peer import CACHE_OFF, CACHED, HOST, UNCACHED, Peer, with_settings
from bench.report import format_figure
from bench.targets import OTHER, OTHER_UNCACHED, SAME
from storage.catalog import ASSIGNMENTS as STORED_ASSIGNMENTS
from storage.records.kinds import KEY_SEPARATOR

MAX_WAIT_SECONDS = 10.0
READ_COUNT = 100
WARM_UP_READS = 3
"""Reads after which a cacheable response is in the response cache."""
STALENESS_TITLE = "From a write's answer to the first read that shows it"
STALENESS_NOTE = "Queries: those sent to MongoDB while nothing is written; 0 is from the cache."


@experiment(STALENESS_TITLE, STALENESS_NOTE)
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
        with ExitStack() as stack:
            servers = stack.enter_context(start_peers([peer] * count, directory))
            clients = [stack.enter_context(closing(Client(server))) for server in servers]
            write, reader = partial(clients[0].assign, unit_id), clients[-1]
            row = measure_visibility_delay(write, reader, unit_id, writes)
            queries = _count_finds_per_read(reader, directory)
            yield {"read through": through, **row, "queries a read": queries}


def measure_visibility_delay(
    write: Callable[[str], object], reader: Client, unit_id: str, writes: int
) -> Row:
    """Measure how soon a reader sees the attributes that are written to a unit."""
    waited = []
    for number in range(writes):
        for _ in range(WARM_UP_READS):
            reader.list_assigned()
        attribute = ATTRIBUTE_IDS[number % len(ATTRIBUTE_IDS)]
        write(attribute)
        waited.append(seconds_until_visible(reader, unit_id, attribute))
    summary = LatencySummary.from_seconds(waited)
    return {
        "writes": writes,
        "stale at once": sum(wait > 0 for wait in waited),
        "p50 ms": summary.p50_ms,
        "p99 ms": summary.p99_ms,
        "max ms": summary.max_ms,
    }


def _count_finds_per_read(reader: Client, directory: Directory) -> float:
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


def seconds_until_visible(reader: Client, unit_id: str, attribute: str) -> float:
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


# What the cache answers


def with_counters(peer: Peer, port: int) -> Peer:
    """Return a gateway that shows its counters at this port, and any other peer as it is."""
    if peer.command is not UNCACHED.command:
        return peer
    address = {"FLOORGATE_METRICS_ADDRESS": f"{HOST}:{port}"}
    return replace(peer, settings={**peer.settings, **address})


def read_counters(port: int) -> tuple[int, int]:
    """Return hits and misses of responses."""
    with closing(http.client.HTTPConnection(HOST, port)) as connection:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    samples = {
        sample.name: int(sample.value)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.labels.get("cache") == "responses"
    }
    return samples["floorgate_cache_hits_total"], samples["floorgate_cache_misses_total"]


def count_since(port: int, before: tuple[int, int]) -> tuple[int, int]:
    """Return hits and misses since earlier ones."""
    hits, misses = read_counters(port)
    return hits - before[0], misses - before[1]


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


@dataclass(frozen=True, slots=True)
class _Rounds:
    """A gateway that is read, where its metrics are, reads of assets, and the load of writes."""

    read: PeerServer
    port: int
    reader: LoadGenerator
    writer: LoadGenerator
    requests: Sequence[Sequence[LoadRequest]]
    random: random.Random

    def fill(self) -> None:
        """Read every response until all are cached."""
        every = [request for own in self.requests for request in own]
        for _ in range(FILLS):
            self._send(every, MAX_FILL_SECONDS, max_requests=len(every))

    def measure(
        self, title: str, through: PeerServer, written: Sequence[int], seconds: float
    ) -> Row:
        """Read while some assets are written: hits of the others, or of all if all are written."""
        is_one = len(written) == 1
        rate = WRITES_TO_ONE if is_one else WRITES_TO_ALL
        read = [request for own in self.requests[is_one:] for request in own]
        chosen = self.random.choices(read, k=round(2 * READS_PER_SECOND * seconds))
        before = read_counters(self.port)
        with ThreadPoolExecutor(1) as threads:
            writing = threads.submit(self.write, through, written, seconds, rate=rate)
            self._send(chosen, seconds, rate=READS_PER_SECOND)
            reached = writing.result().requests / seconds
        hits, misses = count_since(self.port, before)
        share, least = hits / (hits + misses), MIN_HITS_OF_OTHERS if is_one else MIN_HITS_OF_MIX
        verdict = "met" if share >= least else "missed"
        what = "responses of other assets" if is_one else "all responses"
        return {
            "": f"{what}, {rate:.0f} writes/s to {title}",
            "to reach": f"at least {100 * least:g} %",
            "measured": f"{100 * share:.2f} % ({misses:,} misses of {hits + misses:,}; "
            f"{format_figure(reached)} writes/s reached)",
            " ": verdict + ", at fewer writes" * (reached < MIN_RATE_REACHED * rate),
        }

    def age(self, through: PeerServer) -> None:
        """Write what a cache that has long been in use has seen since the last read of a response.

        Else it would be fuller than it stays.
        """
        reads_of_each = READS_PER_SECOND / len(self.requests[0])
        writes = round(len(self.requests) * math.log1p(WRITES_TO_ALL / reads_of_each))
        self.write(through, range(len(self.requests)), MAX_FILL_SECONDS, max_requests=writes)

    def _send(self, requests: list[LoadRequest], seconds: float, **limits: Any) -> None:
        self.read.measure(
            self.reader, build_workload("reads", requests), seconds, READERS, **limits
        )

    def write(
        self, through: PeerServer, assets: Sequence[int], seconds: float, **limits: Any
    ) -> Sample:
        """Assign to units of assets, in a random order."""
        requests = list_writes(through.directory, assets, WRITTEN_UNITS)
        self.random.shuffle(requests)
        writes = build_workload("writes", requests)
        return through.measure(self.writer, writes, seconds, WRITERS, **limits)


def measure_commits(read: PeerServer, commits: int) -> Row:
    """Measure how soon a write to MongoDB itself shows. Raises PeerError if one never does."""
    directory = read.directory
    unit_id = directory.unit_ids[0]
    key = KEY_SEPARATOR.join((GROUP_ID, unit_id))
    with (
        MongoClient[dict[str, Any]](directory.mongo_url, w="majority") as mongo,
        closing(Client(read)) as client,
    ):
        stored = mongo[directory.database][STORED_ASSIGNMENTS.name]
        client.assign(unit_id, ATTRIBUTE_IDS[-1])  # a document, made as the gateway makes it

        def write(attribute: str) -> None:
            stored.update_one({"_id": key}, {"$set": {"attribute_id": attribute}})

        row = measure_visibility_delay(write, client, unit_id, commits)
    measured = "{p99 ms:.1f} ms (p50 {p50 ms:.1f}, max {max ms:.1f}; {writes:,} writes)"
    return {
        "": "from commit to invalidation, p99",
        "to reach": f"under {MAX_COMMIT_MS:g} ms",
        "measured": measured.format_map(row),
        " ": "met" if row["p99 ms"] < MAX_COMMIT_MS else "missed",
    }


@experiment("To reach", note="{units:,} units, load average {load}.")
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
    directory, port = run.load_directory(units), find_free_port()
    roomy = with_settings("roomy", "Floorgate", FLOORGATE_CACHE_MB="512")
    every = range(units // UNITS_PER_ASSET)
    requests = [list_reads_of(directory, asset) for asset in every]
    with (
        start_peer(with_counters(roomy, port), directory) as read,
        start_peer(roomy, directory, machine.CORES) as other,
        start_load_generator() as writer,
    ):
        rounds = _Rounds(read, port, run.load, writer, requests, random.Random(SEED))
        rounds.fill()
        yield rounds.measure("one asset through another gateway", other, [0], seconds)
        yield rounds.measure("one asset through the same gateway", read, [0], seconds)
        rounds.age(other)
        yield rounds.measure("all assets through another gateway", other, every, 2 * seconds)
        yield measure_commits(read, commits)


# Memory

CONNECTIONS = 4
WARM_UP_REQUESTS = 50
SETTLE_SECONDS = 1.0
BYTES_OF_UNIT, BYTES_OF_LIST = 1_750, 180_000
"""About what the cache counts for a response with one unit, and with a thousand or more."""


@experiment(
    "Memory of the response cache",
    note="Resident memory after as many distinct requests as fill the cache at least.",
)
def memory(run: Run, cache_mb: int = 24) -> Iterator[Row]:
    """Measure what a cached megabyte costs.

    A gateway gets distinct requests until its response cache is full, then the same gateway without
    the cache gets as many. The resident memory that the first has grown by, less what the second
    has grown by, is the cost of the cache.
    """
    directory = run.load_directory(20_000)
    units = [f"/v1/units/{unit_id}" for unit_id in directory.unit_ids]
    lists = [f"/v1/units?per-page={count}" for count in range(1_000, 2_000)]
    for title, paths, size in (
        ("one unit", units, BYTES_OF_UNIT), ("1,000 units and more", lists, BYTES_OF_LIST)
    ):  # fmt: skip
        requests = [LoadRequest(path) for path in paths]
        filling = requests[WARM_UP_REQUESTS:][: cache_mb * 1_000_000 // size]
        grown = []
        for settings in ({"FLOORGATE_CACHE_MB": str(cache_mb)}, CACHE_OFF):
            peer, measured = with_settings("memory", "Floorgate", **settings), []
            with start_peer(peer, directory) as server:
                for part in (requests[:WARM_UP_REQUESTS], filling):
                    sent, count = build_workload("distinct", part), len(part)
                    server.measure(
                        run.load, sent, MAX_FILL_SECONDS, CONNECTIONS, max_requests=count
                    )
                    time.sleep(SETTLE_SECONDS)
                    measured.append(server.memory_mb()["rss"])
            grown.append(measured[1] - measured[0])
        yield {
            "response": title,
            "responses": len(filling),
            "cache, MB": cache_mb,
            "grown, MB": grown[0],
            "without the cache": grown[1],
            "for each MB": (grown[0] - grown[1]) / cache_mb,
        }
