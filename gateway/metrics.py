"""Metrics: what each worker counts, and the sum that Prometheus is shown.

A worker counts in plain integers, whether or not anybody asks, and a thread of it sends a snapshot
when the supervisor is asked (`gateway/server/metrics_server.py`), and when the worker ends. Only
the supervisor formats. See "Metrics" in docs/operation.md.
"""

import contextlib
import os
import resource
import socket
import struct
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import msgspec

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from storage.mongo.observation import CommandEnd

Histogram: TypeAlias = list[float]
"""The number of values in each bucket, of those beyond the last bound, and the sum of all."""
Values: TypeAlias = dict[tuple[str, ...], float | Histogram]
"""The value for each combination of labels."""
Snapshot: TypeAlias = dict[str, Values]
"""The values of each family, by its name."""

REQUEST_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
LAG_BOUNDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class Family(NamedTuple):
    """What a metric means."""

    kind: Literal["counter", "gauge", "histogram"]
    labels: tuple[str, ...]
    meaning: str
    bounds: tuple[float, ...] = ()
    """The upper bounds of a histogram's buckets, in seconds."""
    is_maximum: bool = False
    """True of a gauge that is the largest of all workers, and not the sum."""


REQUESTS = "floorgate_requests_total"
REQUEST_SECONDS = "floorgate_request_duration_seconds"
IN_FLIGHT = "floorgate_requests_in_flight"
ADMITTED = "floorgate_requests_admitted_total"
REJECTED = "floorgate_requests_rejected_total"
OPERATIONS = "floorgate_operations_total"
CACHE_FAMILIES = {
    "hits": "floorgate_cache_hits_total",
    "misses": "floorgate_cache_misses_total",
    "invalidations": "floorgate_cache_invalidations_total",
    "evictions": "floorgate_cache_evictions_total",
    "entries": "floorgate_cache_entries",
    "size_bytes": "floorgate_cache_bytes",
}
"""The names of what is counted of caches, by the field of CacheCounters."""
COMMANDS = "floorgate_mongodb_commands_total"
COMMAND_SECONDS = "floorgate_mongodb_command_duration_seconds"
MONGODB_CONNECTIONS = "floorgate_mongodb_connections"
RETRIES = "floorgate_mongodb_retries_total"
STREAM_LAG = "floorgate_change_stream_lag_seconds"
INTERRUPTIONS = "floorgate_change_stream_interruptions_total"
LOOP_LAG = "floorgate_event_loop_lag_seconds"
PROCESSES = "floorgate_processes"
WAITING = "floorgate_drawings_waiting"
IMPORTS = "floorgate_imports_total"
IMPORTS_RUNNING = "floorgate_imports_running"
MAPS = "floorgate_maps_processed_total"
SUBSCRIPTIONS = "floorgate_subscriptions"
CONNECTIONS = "floorgate_connections"
WORKERS = "floorgate_workers"
WORKER_EXITS = "floorgate_worker_exits_total"
CPU = "floorgate_cpu_seconds_total"
MEMORY = "floorgate_resident_memory_bytes"
BUILD = "floorgate_build_info"

FAMILIES = {
    REQUESTS: Family("counter", ("operation", "status", "code"), "requests that have ended"),
    REQUEST_SECONDS: Family(
        "histogram",
        ("operation",),
        "time from a request to the end of its response",
        REQUEST_BOUNDS,
    ),
    IN_FLIGHT: Family("gauge", (), "requests that hold one of `--requests-in-flight` slots"),
    ADMITTED: Family(
        "counter", (), "requests that got such a slot; the fast path of cached responses needs none"
    ),
    REJECTED: Family("counter", ("reason",), "requests rejected as too many, by the limit"),
    OPERATIONS: Family(
        "counter", ("executor",), "GraphQL operations run, `compiled` or `interpreted`"
    ),
    CACHE_FAMILIES["hits"]: Family("counter", ("cache",), "lookups that found a valid entry"),
    CACHE_FAMILIES["misses"]: Family("counter", ("cache",), "lookups that did not"),
    CACHE_FAMILIES["invalidations"]: Family(
        "counter", ("cache",), "entries dropped because the data changed"
    ),
    CACHE_FAMILIES["evictions"]: Family("counter", ("cache",), "entries dropped to make room"),
    CACHE_FAMILIES["entries"]: Family("gauge", ("cache",), "entries now"),
    CACHE_FAMILIES["size_bytes"]: Family(
        "gauge", ("cache",), "their size, of caches bounded in bytes"
    ),
    COMMANDS: Family("counter", ("command", "outcome"), "MongoDB commands; `ok`, or why not"),
    COMMAND_SECONDS: Family(
        "histogram", ("command",), "time until MongoDB's reply", REQUEST_BOUNDS
    ),
    MONGODB_CONNECTIONS: Family("gauge", ("state",), "connections to MongoDB, `in_use` or `idle`"),
    RETRIES: Family(
        "counter", ("code",), "reads and transactions that Floorgate ran again, by the error before"
    ),
    STREAM_LAG: Family(
        "gauge",
        (),
        "time since the change stream reported, the longest of all workers",
        is_maximum=True,
    ),
    INTERRUPTIONS: Family("counter", ("code",), "change streams that ended with an error"),
    LOOP_LAG: Family(
        "histogram", (), "how late a timer of an event loop is, ten times a second", LAG_BOUNDS
    ),
    PROCESSES: Family(
        "gauge", ("pool", "state"), "processes for `drawings` and `maps`, `busy` or `idle`"
    ),
    WAITING: Family("gauge", ("pool",), "drawings and maps that wait for a process"),
    IMPORTS: Family("counter", ("outcome",), "imports and removals through the API, dry runs too"),
    IMPORTS_RUNNING: Family("gauge", (), "those that run now"),
    MAPS: Family("counter", ("outcome",), "maps processed through the API"),
    SUBSCRIPTIONS: Family("gauge", (), "open subscriptions"),
    CONNECTIONS: Family("gauge", (), "open connections of clients"),
    WORKERS: Family("gauge", ("state",), "workers, `starting`, `serving` or `draining`"),
    WORKER_EXITS: Family(
        "counter", ("reason",), "`reload`, `start_failed`, `killed` by a signal, or `exited`"
    ),
    CPU: Family("counter", (), "CPU time of the supervisor, workers and their processes"),
    MEMORY: Family("gauge", (), "their resident memory, shared pages counted for each"),
    BUILD: Family("gauge", ("version", "python"), "1"),
}
"""All families, in the order in which they are shown."""

MAX_OPERATIONS = 1_000
"""Names of operations that are counted on their own."""
MAX_NAME_CHARACTERS = 200
OTHER = "other"
"""What operations are counted as that a client has named, and those beyond the bounds."""
SUBSCRIPTION = "subscription"
"""What subscriptions that a client has written are counted as: they may last for hours."""
NO_OPERATION = "none"
"""What requests are counted as that no endpoint was found for."""


class Counters:
    """The counters of one process."""

    def __init__(self) -> None:
        self._requests: dict[tuple[str, int, str], int] = {}
        self._request_seconds: dict[str, Histogram] = {}
        self._commands: dict[tuple[str, str], int] = {}
        self._command_seconds: dict[str, Histogram] = {}
        self._lock = threading.Lock()
        """Held to count a command: the driver's end in threads."""
        self._loop_lag = _new_histogram(LAG_BOUNDS)
        self._cpu_seconds = 0.0

    def count_request(self, operation: str, status: int, code: str, seconds: float) -> None:
        """Count a request that has ended. Only the event loop may call this.

        `operation` must not be named by a client, and `code` be one of ours, or empty.
        """
        try:
            histogram = self._request_seconds[operation]
        except KeyError:
            is_many = len(self._request_seconds) >= MAX_OPERATIONS
            if is_many or len(operation) > MAX_NAME_CHARACTERS:
                operation = OTHER
            histogram = self._request_seconds.setdefault(operation, _new_histogram(REQUEST_BOUNDS))
        key = operation, status, code
        self._requests[key] = self._requests.get(key, 0) + 1
        histogram[bisect_left(REQUEST_BOUNDS, seconds)] += 1  # as `_observe` does: a call costs
        histogram[-1] += seconds

    def count_command(self, end: "CommandEnd") -> None:
        """Count a MongoDB command that has ended, from any thread."""
        command, _, seconds, code = end
        with self._lock:
            key = command, code or "ok"
            self._commands[key] = self._commands.get(key, 0) + 1
            histogram = self._command_seconds.get(command)
            if histogram is None:
                histogram = self._command_seconds[command] = _new_histogram(REQUEST_BOUNDS)
            _observe(histogram, REQUEST_BOUNDS, seconds)

    def count_tick(self, late_seconds: float) -> None:
        """Count by how much a timer of the event loop was late."""
        _observe(self._loop_lag, LAG_BOUNDS, late_seconds)

    def read(self) -> Snapshot:
        """Return the values at this moment, from any thread."""
        requests = self._requests.copy()
        return {
            REQUESTS: {
                (name, str(status), code): n for (name, status, code), n in requests.items()
            },
            REQUEST_SECONDS: {(k,): [*v] for k, v in self._request_seconds.copy().items()},
            COMMANDS: {(command, code): n for (command, code), n in self._commands.copy().items()},
            COMMAND_SECONDS: {(k,): [*v] for k, v in self._command_seconds.copy().items()},
            LOOP_LAG: {(): [*self._loop_lag]},
        }

    def measure_processes(self, children: Iterable[int] | None = None) -> Snapshot:
        """Return CPU time and memory of this process.

        If `children` are given, they count too, and so does the time of those that have ended.
        """
        seconds, memory_bytes = time.process_time(), 0
        if children is not None:
            ended = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds += ended.ru_utime + ended.ru_stime
        ticks, page_bytes = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
        for pid in (os.getpid(), *(children or ())):
            with contextlib.suppress(OSError):  # it has ended, or this is not Linux
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                memory_bytes += int(fields[21]) * page_bytes
                if pid != os.getpid():
                    seconds += (int(fields[11]) + int(fields[12])) / ticks
        # One that ends in between is in neither.
        self._cpu_seconds = max(self._cpu_seconds, seconds)
        return {CPU: {(): self._cpu_seconds}, MEMORY: {(): memory_bytes}}


def _new_histogram(bounds: Sequence[float]) -> Histogram:
    return [0] * (len(bounds) + 1) + [0.0]


def _observe(histogram: Histogram, bounds: Sequence[float], value: float) -> None:
    """Count a value in its bucket, of which the upper bound is part."""
    histogram[bisect_left(bounds, value)] += 1
    histogram[-1] += value


counters = Counters()
"""Those of this process."""


# The way of a snapshot from a worker to the supervisor: any byte asks for one. Its length is before
# it, and the byte that has asked.


_PREFIX = struct.Struct("!IB")
PREFIX_BYTES = _PREFIX.size
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(dict[str, dict[tuple[str, ...], float | list[float]]]).decode


def encode(snapshot: Snapshot) -> bytes:
    """Return a snapshot as bytes."""
    return _encode(snapshot)


def decode(content: bytes) -> Snapshot:
    """Return what this release knows of a snapshot: a worker may be of another one."""
    return {
        name: {labels: value for labels, value in values.items() if _fits(name, labels, value)}
        for name, values in _decode(content).items()
        if name in FAMILIES
    }


def _fits(name: str, labels: tuple[str, ...], value: float | Histogram) -> bool:
    family = FAMILIES[name]
    size = len(value) if isinstance(value, list) else 0
    expected_size = len(family.bounds) + 2 if family.bounds else 0
    return (len(labels), size) == (len(family.labels), expected_size)


def read_prefix(prefix: bytes) -> tuple[int, int]:
    """Return the length of the snapshot after these PREFIX_BYTES, and the byte that has asked."""
    length, question = _PREFIX.unpack(prefix)
    return length, question


def answer(channel: socket.socket, read: Callable[[], Snapshot]) -> None:
    """Send a snapshot for each byte, and a last one when nothing more can be received."""
    with channel, contextlib.suppress(OSError):
        question = b"?"
        while question:
            question = channel.recv(1)
            content = encode(read())
            channel.sendall(_PREFIX.pack(len(content), *question or b"\0") + content)


@contextlib.contextmanager
def answering(channel: socket.socket | None, read: Callable[[], Snapshot]) -> Iterator[None]:
    """Let a thread answer while the block runs, so that a busy event loop delays no scrape."""
    if channel is None:
        yield
        return
    thread = threading.Thread(target=answer, args=(channel, read), name="metrics", daemon=True)
    thread.start()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            channel.shutdown(socket.SHUT_RD)
        thread.join(timeout=1)


# The sum of all workers, and its format


class Total:
    """The sum of snapshots."""

    def __init__(self, names: set[str]) -> None:
        self._names = names
        """The operations counted on their own, of all totals: the first that were met."""
        self.values: Snapshot = {}

    def add(self, snapshot: Snapshot, *, only_counts: bool = False) -> None:
        """Add a snapshot; with `only_counts` nothing that may fall: its process has ended."""
        for name, values in snapshot.items():
            family = FAMILIES[name]
            if only_counts and family.kind == "gauge":
                continue
            sums = self.values.setdefault(name, {})
            for labels, value in values.items():
                if family.labels[:1] == ("operation",) and not self._is_named(labels[0]):
                    labels = (OTHER, *labels[1:])
                before = sums.get(labels)
                if before is None:
                    sums[labels] = value
                elif isinstance(value, list) and isinstance(before, list):
                    sums[labels] = [a + b for a, b in zip(value, before, strict=True)]
                elif not isinstance(value, list) and not isinstance(before, list):
                    sums[labels] = max(value, before) if family.is_maximum else value + before

    def _is_named(self, operation: str) -> bool:
        if len(self._names) < MAX_OPERATIONS:
            self._names.add(operation)
        return operation in self._names

    def collect(self) -> Iterator["Metric"]:
        """Yield the families as prometheus_client formats them."""
        from prometheus_client.core import (
            CounterMetricFamily,
            GaugeMetricFamily,
            HistogramMetricFamily,
        )

        for name, family in FAMILIES.items():
            values, meaning = self.values.get(name, {}), family.meaning.replace("`", "")
            metric: Metric
            if family.kind == "histogram":
                metric = HistogramMetricFamily(name, meaning, labels=family.labels)
                for labels, value in values.items():
                    assert isinstance(value, list)
                    *buckets, total_seconds = value
                    bounds = (*map(str, family.bounds), "+Inf")
                    counts = [*zip(bounds, accumulate(buckets), strict=True)]
                    metric.add_metric(labels, counts, total_seconds)
            else:
                is_counter = family.kind == "counter"
                build = CounterMetricFamily if is_counter else GaugeMetricFamily
                metric = build(name, meaning, labels=family.labels)
                for labels, value in values.items():
                    assert not isinstance(value, list)
                    metric.add_metric(labels, value)
            yield metric
