"""Metrics: what each worker counts, and the sum that Prometheus is shown.

A worker counts in plain integers, whether or not anybody asks. If metrics are served, a thread of
it writes a snapshot to shared memory when the supervisor asks for one, which formats their sum
(`gateway/server/metrics_server.py`). See "Metrics" in docs/operation.md.
"""

import contextlib
import os
import resource
import struct
import threading
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import msgspec

from storage.mongo.shared_memory import allocate

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from storage.mongo.spans import Command

Histogram: TypeAlias = list[float]
"""The number of values in each bucket, of those beyond the last bound, and the sum of all."""
Values: TypeAlias = dict[tuple[str, ...], float | Histogram]
"""The value for each combination of labels."""
Snapshot: TypeAlias = dict[str, Values]
"""The values of each family, by its name."""

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Upper bounds of the buckets of all histograms, in seconds."""


class Family(NamedTuple):
    """A metric: its kind, its labels, and what it counts or measures."""

    kind: str
    """It is a counter, a gauge, or a histogram."""
    labels: tuple[str, ...]
    meaning: str


_TABLE = """
requests_total; counter; operation status code; requests that have ended
errors_total; counter; code; of these, the ones with an error, from 0 on for each code
request_duration_seconds; histogram; operation; time from a request to the end of its response
requests_in_flight; gauge; ; requests that hold one of `--requests-in-flight` slots
requests_admitted_total; counter; ; requests that got a slot, which the fast path does not need
requests_rejected_total; counter; reason; requests rejected as too many, by the limit
operations_total; counter; executor; GraphQL operations run, `compiled` or `interpreted`
cache_hits_total; counter; cache; lookups that found a valid entry
cache_misses_total; counter; cache; lookups that did not
cache_invalidations_total; counter; cache; entries dropped because the data changed
cache_evictions_total; counter; cache; entries dropped to make room
cache_entries; gauge; cache; entries now
cache_bytes; gauge; cache; their size, of caches bounded in bytes
mongodb_commands_total; counter; command outcome; MongoDB commands; `ok`, or why not
mongodb_command_duration_seconds; histogram; command; time until MongoDB's reply
mongodb_connections; gauge; state; connections to MongoDB, `in_use` or `idle`
mongodb_retries_total; counter; code; reads and transactions run again, by the error before
change_stream_lag_seconds; gauge; ; age of what the change stream has reported, of the last worker
change_stream_interruptions_total; counter; code; change streams that ended with an error
database_repairs_total; counter; outcome; repairs of collections: `created`, or `failed`
event_loop_lag_seconds; histogram; ; how late a timer of an event loop is, ten times a second
processes; gauge; pool state; processes for `drawings` and `maps`, `busy` or `idle`
drawings_waiting; gauge; pool; drawings and maps that wait for a process
imports_total; counter; outcome; imports and removals through the API, dry runs too
imports_running; gauge; ; those that run now
maps_processed_total; counter; outcome; maps processed through the API
subscriptions; gauge; ; open subscriptions
connections; gauge; ; open connections of clients
workers; gauge; state; workers, `starting`, `serving` or `draining`; `silent`: no answer
worker_exits_total; counter; reason; `reload`, `start_failed`, `killed` by a signal, or `exited`
cpu_seconds_total; counter; ; CPU time of the supervisor, workers and their processes
resident_memory_bytes; gauge; ; their resident memory, shared pages counted for each
build_info; gauge; version python; 1
"""
FAMILIES = {
    name: Family(kind, tuple(labels.split()), meaning)
    for line in _TABLE.strip().splitlines()
    for name, kind, labels, meaning in [line.split("; ", 3)]
}
"""All families, by their names without the prefix, in the order in which they are shown."""
PREFIX = "floorgate_"
MAXIMA = ("change_stream_lag_seconds",)
"""Gauges that are the largest of all workers, and not the sum."""

MAX_OPERATIONS = 1_000
"""Names of operations that are counted on their own."""
MAX_NAME_CHARACTERS = 200
OTHER = "other"
"""Operations that a client has named have this name here, and so have those beyond the bounds."""
SUBSCRIPTION = "subscription"
"""Subscriptions and WebSockets are counted as this: they may last for hours."""
NO_OPERATION = "none"
"""Requests have this name here if no endpoint was found for them."""


class Counters:
    def __init__(self) -> None:
        self._requests: dict[tuple[str, int, str], Histogram] = {}
        """Durations by operation, status and code: one look-up counts a request."""
        self._operations = {OTHER}
        self._commands: dict[tuple[str, str], Histogram] = defaultdict(_new_histogram)
        """Durations by command and outcome."""
        self._lock = threading.Lock()
        """Held to count a command: the driver's end in threads."""
        self._loop_lag = _new_histogram()
        self._cpu_seconds = 0.0

    def count_request(self, operation: str, status: int, code: str, seconds: float) -> None:
        """Count a request that has ended. Only the event loop may call this.

        `operation` must not be named by a client, and `code` be one of ours, or empty.
        """
        histogram = self._requests.get((operation, status, code))
        if histogram is None:
            if len(self._operations) <= MAX_OPERATIONS and len(operation) <= MAX_NAME_CHARACTERS:
                self._operations.add(operation)
            key = operation if operation in self._operations else OTHER, status, code
            histogram = self._requests.setdefault(key, _new_histogram())
        histogram[bisect_left(BOUNDS, seconds)] += 1
        histogram[-1] += seconds

    def count_command(self, end: "Command") -> None:
        """Count a MongoDB command that has ended, from any thread."""
        with self._lock:
            histogram = self._commands[end.command, end.code or "ok"]
            histogram[bisect_left(BOUNDS, end.seconds)] += 1
            histogram[-1] += end.seconds

    def count_tick(self, late_seconds: float) -> None:
        """Count by how much a timer of the event loop was late."""
        self._loop_lag[bisect_left(BOUNDS, late_seconds)] += 1
        self._loop_lag[-1] += late_seconds

    def read(self) -> Snapshot:
        """Return the values at this moment, from any thread."""
        snapshot: Snapshot = {"event_loop_lag_seconds": {(): [*self._loop_lag]}}
        for name, table in (("request", self._requests), ("mongodb_command", self._commands)):
            counts = snapshot[f"{name}s_total"] = {}
            durations = snapshot[f"{name}_duration_seconds"] = {}
            for (first, *others), histogram in [*table.items()]:
                counts[first, *map(str, others)] = sum(histogram[:-1])
                before = durations.setdefault((first,), _new_histogram())
                durations[first,] = _add(cast(Histogram, before), histogram)
        errors = Counter[str]()
        for (_, _, code), count in snapshot["requests_total"].items():
            errors[code] += cast(int, count)
        snapshot["errors_total"] = {(code,): count for code, count in errors.items() if code}
        return snapshot

    def measure_processes(self, children: Iterable[int] | None = None) -> Snapshot:
        """Return CPU time and memory of this process.

        If `children` are given, they count too, and so does the time of those that have ended.
        """
        seconds, memory_bytes = time.process_time(), 0
        if children is not None:
            ended = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds += ended.ru_utime + ended.ru_stime
        for pid in (os.getpid(), *(children or ())):
            with contextlib.suppress(OSError):  # it has ended, or this is not Linux
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                memory_bytes += int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
                if pid != os.getpid():
                    seconds += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        self._cpu_seconds = max(self._cpu_seconds, seconds)  # a child may just end, and be nowhere
        cpu: Values = {(): self._cpu_seconds}
        return {"cpu_seconds_total": cpu, "resident_memory_bytes": {(): memory_bytes}}


def _new_histogram() -> Histogram:
    return [0] * (len(BOUNDS) + 1) + [0.0]


def _add(one: Histogram, other: Histogram) -> Histogram:
    return [a + b for a, b in zip(one, other, strict=True)]


counters = Counters()
"""This process counts here."""


# The way of a snapshot from a worker to the supervisor


ANSWER_SECONDS = 1.0
"""A scrape waits so long for new snapshots, and workers write one as often unasked."""
POLL_SECONDS = 0.1
_HEAD = struct.Struct("=III")
_QUESTION = struct.Struct("=I")
_QUESTION_OFFSET = _HEAD.size
_PLACE_BYTES = 64 << 20
"""More than any snapshot has: what is not written to takes no memory."""
_NOTHING = msgspec.msgpack.encode({})
_decoder = msgspec.msgpack.Decoder(Snapshot)


class SnapshotMemory:
    """The latest snapshot of each process, in memory that they share.

    A head tells in which of two places it is: it is whole also if the process was killed while it
    wrote the next one to the other place. Questions are numbered: a head has that of the latest one
    that its process has answered.
    """

    def __init__(self, descriptor: int) -> None:
        """Use the memory of `create_shared_memory`."""
        self._descriptor = descriptor

    def ask(self) -> int:
        """Ask all processes for new snapshots, and return the number of the question."""
        question = self.read_question() + 1
        os.pwrite(self._descriptor, _QUESTION.pack(question), _QUESTION_OFFSET)
        return question

    def read_question(self) -> int:
        content = os.pread(self._descriptor, _QUESTION.size, _QUESTION_OFFSET)
        question: int = _QUESTION.unpack(content)[0]
        return question

    def has_answered(self, slot: int, question: int) -> bool:
        """Return whether the snapshot in a slot answers a question, or there is none."""
        _, length, answered = self._read_head(slot)
        return length <= len(_NOTHING) or answered >= question

    def write(self, slot: int, snapshot: Snapshot, question: int = 0) -> None:
        """Replace the snapshot in a slot, which was made after this question."""
        content = msgspec.msgpack.encode(snapshot)
        place = 3 - self._read_head(slot)[0]
        os.pwrite(self._descriptor, content, _find_offset(slot, place))
        head = _HEAD.pack(place, len(content), question)
        os.pwrite(self._descriptor, head, _find_offset(slot))

    def read(self, slot: int) -> Snapshot:
        """Return the snapshot in a slot; an empty one if there is none."""
        place, length, _ = head = self._read_head(slot)
        content = os.pread(self._descriptor, length, _find_offset(slot, place))
        if head != self._read_head(slot):  # so the place may have been written again meanwhile
            return self.read(slot)
        return _decoder.decode(content) if content else {}

    def _read_head(self, slot: int) -> tuple[int, int, int]:
        content = os.pread(self._descriptor, _HEAD.size, _find_offset(slot))
        place, length, question = _HEAD.unpack(content)
        return place or 1, length, question


def _find_offset(slot: int, place: int = 0) -> int:
    return (3 * slot + place) * _PLACE_BYTES


def create_shared_memory(workers: int) -> int:
    """Return the descriptor of memory for the snapshots of so many workers, and one more."""
    return allocate("floorgate-metrics", _find_offset(workers + 1))


@contextlib.contextmanager
def publishing(memory: SnapshotMemory, slot: int, read: Callable[[], Snapshot]) -> Iterator[None]:
    """Write snapshots while the block runs: when they are asked for, each second, and at its end.

    A thread does it, so that a busy event loop delays none.
    """
    is_over = threading.Event()

    def publish() -> None:
        answered, due, is_last = 0, 0.0, False
        while not is_last:
            is_last = is_over.wait(POLL_SECONDS)
            question, now = memory.read_question(), time.monotonic()
            if is_last or question != answered or now >= due:
                memory.write(slot, read(), question)
                answered, due = question, now + ANSWER_SECONDS

    thread = threading.Thread(target=publish, name="metrics", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join(timeout=1)


# The sum of all workers, and its format


class Total:
    """The sum of snapshots."""

    def __init__(self, names: set[str]) -> None:
        self._names = names
        """The operations counted on their own, of all totals: the first that were met."""
        self.values: Snapshot = {}

    def add(self, snapshot: Snapshot, *, has_ended: bool = False) -> None:
        """Add what this release knows of a snapshot; no gauge if its process has ended."""
        for name in FAMILIES.keys() & snapshot.keys():
            family = FAMILIES[name]
            if has_ended and family.kind == "gauge":
                continue
            sums = self.values.setdefault(name, {})
            for labels, value in snapshot[name].items():
                if isinstance(value, list) and len(value) != len(BOUNDS) + 2:
                    continue  # it is of another release
                if family.labels[:1] == ("operation",) and not self._is_named(labels[0]):
                    labels = (OTHER, *labels[1:])
                before = sums.get(labels)
                if isinstance(value, list):
                    sums[labels] = _add(value, before) if isinstance(before, list) else value
                elif name in MAXIMA:
                    sums[labels] = max(value, cast(float, before or 0))
                else:
                    sums[labels] = value + cast(float, before or 0)

    def _is_named(self, operation: str) -> bool:
        if len(self._names) < MAX_OPERATIONS:
            self._names.add(operation)
        return operation in self._names

    def collect(self) -> Iterator["Metric"]:
        """Yield the families as prometheus_client formats them."""
        from prometheus_client import core

        for name, (kind, label_names, meaning) in FAMILIES.items():
            family: Any = getattr(core, f"{kind.title()}MetricFamily")(
                PREFIX + name, meaning.replace("`", ""), labels=label_names
            )
            for labels, value in self.values.get(name, {}).items():
                if isinstance(value, list):
                    counts = zip((*map(str, BOUNDS), "+Inf"), accumulate(value[:-1]), strict=True)
                    family.add_metric(labels, [*counts], value[-1])
                else:
                    family.add_metric(labels, value)
            yield family
