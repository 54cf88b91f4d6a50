"""`/metrics` in the supervisor: the sum of what all workers have counted.

Threads answer, so that nothing here holds up the supervision of workers. See "Metrics" in
docs/operation.md.
"""

import platform
import socket
import threading
import time
from collections.abc import Callable, Sequence
from importlib import metadata

from prometheus_client.exposition import choose_encoder

from gateway.metrics import (
    ANSWER_SECONDS,
    POLL_SECONDS,
    Snapshot,
    SnapshotMemory,
    Total,
    Values,
    counters,
)
from gateway.server.config import ConnectionLimits
from gateway.server.plain_server import PlainServer, build_response
from rest.errors import ERROR_CODES

MAX_CONNECTIONS = 8
"""Connections at a time; further ones wait."""
REQUEST_SECONDS = 5.0
_LIMITS = ConnectionLimits(header_seconds=REQUEST_SECONDS, linger_seconds=1.0)
_TEXT = [("content-type", "text/plain")]
EXIT_REASONS = ("reload", "start_failed", "killed", "exited")


class MetricsServer:
    """Serves `/metrics`. Its public methods are for the supervisor's thread."""

    def __init__(
        self,
        listeners: Sequence[socket.socket],
        memory: SnapshotMemory,
        slots: int,
        count_workers: Callable[[], dict[str, int]],
    ) -> None:
        """Show what workers write to `slots` of the memory; the next one has what others counted.

        `count_workers` tells, from any thread, how many workers are in which state.
        """
        self._memory = memory
        self._slots = slots
        self._count_workers = count_workers
        self._names: set[str] = set()
        self._kept = Total(self._names)
        self._lock = threading.Lock()
        """Held so that what a worker has counted is either in its slot or kept."""
        # A series that begins at 0 shows also the first increase.
        self._kept.add({"worker_exits_total": {(reason,): 0 for reason in EXIT_REASONS}})
        self._kept.add({"errors_total": {(code,): 0 for code in ERROR_CODES}})
        self._kept.add(memory.read(slots))
        build = metadata.version("floorgate"), platform.python_version()
        self._build: Snapshot = {"build_info": {build: 1}}
        for listener in listeners:
            listener.listen()
        PlainServer(listeners, self._respond, _LIMITS, MAX_CONNECTIONS)

    def remove(self, slot: int, reason: str) -> None:
        """Keep what a worker has counted, which has ended."""
        with self._lock:
            self._kept.add(self._memory.read(slot), has_ended=True)
            self._kept.add({"worker_exits_total": {(reason,): 1}})
            self._memory.write(slot, {})

    def save(self) -> None:
        """Leave what was kept to the program that replaces this one."""
        self._memory.write(self._slots, self._sum([self._kept.values, counters.read()]).values)

    def _respond(self, head: bytes) -> bytes:
        request, *lines = head.split(b"\r\n")
        method, _, target = request.partition(b" ")
        if target.partition(b" ")[0].partition(b"?")[0] != b"/metrics":
            return build_response("404 Not Found", _TEXT, b"Only /metrics is here\n")
        if method != b"GET":
            headers = [("allow", "GET"), *_TEXT]
            return build_response("405 Method Not Allowed", headers, b"Use GET\n")
        fields = dict(line.lower().partition(b":")[::2] for line in lines)
        encode, media_type = choose_encoder(fields.get(b"accept", b"").decode("latin-1"))
        return build_response("200 OK", [("content-type", media_type)], encode(self._collect()))

    def _collect(self) -> Total:
        """Return the sum of all processes, those of the past included."""
        with self._lock:
            question = self._memory.ask()
        silent, end = [*range(self._slots)], time.monotonic() + ANSWER_SECONDS
        while silent and time.monotonic() < end:
            time.sleep(POLL_SECONDS / 10)
            silent = [slot for slot in silent if not self._memory.has_answered(slot, question)]
        states = {**self._count_workers(), "silent": len(silent)}
        workers: Values = {(state,): count for state, count in states.items()}
        own = counters.read() | counters.measure_processes() | {"workers": workers} | self._build
        with self._lock:
            slots = map(self._memory.read, range(self._slots))
            return self._sum([own, self._kept.values, *slots])

    def _sum(self, snapshots: Sequence[Snapshot]) -> Total:
        total = Total(self._names)
        for snapshot in snapshots:
            total.add(snapshot)
        return total
