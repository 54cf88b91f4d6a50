"""The listener of `/metrics` in the supervisor: it asks all workers, and shows their sum.

It runs in a thread of its own with an event loop, which has all of its state, so that nothing here
holds up the supervision of workers. See "Metrics" in docs/operation.md.
"""

import asyncio
import os
import platform
import signal
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import metadata

import msgspec
from prometheus_client.exposition import choose_encoder

from gateway import metrics
from gateway.metrics import Snapshot, Total

ANSWER_SECONDS = 1.0
"""How long a worker has to answer; then its last answer counts."""
CONNECTION_SECONDS = 5.0
"""The time of a connection, from its beginning to the end of its response."""
MAX_CONNECTIONS = 8
"""Connections at a time; further ones are closed."""
MAX_HEAD_BYTES = 8 << 10
EXIT_REASONS = ("reload", "start_failed", "killed", "exited")
_ENDED = 0
"""Stands for the workers that have ended, among the ids of processes."""


class _Worker:
    """A worker, and what it has told."""

    def __init__(self, channel: socket.socket, last: Snapshot) -> None:
        self.last = last
        self._channel = channel
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._answer: asyncio.Task[bool] | None = None
        """The reading of an answer, which may have taken too long for the scrape that asked."""

    async def ask(self) -> None:
        """Have `last` renewed, if the worker answers in time."""
        if self._answer is None or self._answer.done():
            self._answer = asyncio.create_task(self._read(is_asked=True))
        await asyncio.wait([self._answer], timeout=ANSWER_SECONDS)

    async def finish(self) -> None:
        """Read what the worker has still sent before its end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(ANSWER_SECONDS):
                if self._answer is not None:
                    await self._answer
                while await self._read(is_asked=False):
                    pass

    async def _read(self, *, is_asked: bool) -> bool:
        """Read a snapshot, and return whether there was one."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(sock=self._channel)
        reader, writer = self._streams
        try:
            if is_asked:
                writer.write(b"?")
            length = metrics.read_length(await reader.readexactly(metrics.LENGTH_BYTES))
            self.last = metrics.decode(await reader.readexactly(length))
        except (OSError, asyncio.IncompleteReadError):  # it has ended
            writer.close()
            return False
        return True


class MetricsServer:
    """Serves `/metrics`. Its public methods are for the supervisor's thread."""

    def __init__(self, listeners: Sequence[socket.socket], totals: int | None) -> None:
        """Serve on these sockets. Begin with what the program before has written to a file."""
        self._listeners = listeners
        self._loop = asyncio.new_event_loop()
        self._names: set[str] = set()
        self._ended = Total(self._names)
        """The sum of what has been counted by workers that have ended."""
        # A series that begins at 0 shows also the first increase.
        self._ended.add({"worker_exits_total": {(reason,): 0 for reason in EXIT_REASONS}})
        self._left = {} if totals is None else _read_totals(totals)
        """What the previous program knew of workers that go on."""
        self._ended.add(self._left.pop(_ENDED, {}))
        self._workers: dict[int, _Worker] = {}
        self._collection: asyncio.Task[Total] | None = None
        self._connections = 0
        self._count_workers: Callable[[], dict[str, int]] = dict
        build = metadata.version("floorgate"), platform.python_version()
        self._build: Snapshot = {"build_info": {build: 1}}

    @property
    def descriptors(self) -> list[int]:
        """The descriptors of the listeners."""
        return [listener.fileno() for listener in self._listeners]

    def start(self, count_workers: Callable[[], dict[str, int]]) -> None:
        """Serve in a thread, where `count_workers` tells how many workers are in which state."""
        self._count_workers = count_workers
        for gone in self._left.values():
            self._ended.add(gone, has_ended=True)
        threading.Thread(target=self._run, name="metrics", daemon=True).start()

    def add(self, pid: int, channel: socket.socket) -> None:
        """Ask a worker, from now on."""
        worker = _Worker(channel, self._left.pop(pid, {}))
        self._loop.call_soon_threadsafe(self._workers.__setitem__, pid, worker)

    def remove(self, pid: int, reason: str) -> None:
        """Keep what a worker has counted, which has ended."""
        asyncio.run_coroutine_threadsafe(self._remove(pid, reason), self._loop)

    def write_totals(self) -> int | None:
        """Return a file in memory for the program that replaces this one; None if it fails."""
        writing = asyncio.run_coroutine_threadsafe(self._write_totals(), self._loop)
        with suppress(TimeoutError):
            return writing.result(2 * ANSWER_SECONDS)
        return None

    # In the thread

    def _run(self) -> None:
        # Else this thread might be the one that gets a signal just before the program is replaced.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        for listener in self._listeners:
            await asyncio.start_server(self._respond, sock=listener, limit=MAX_HEAD_BYTES)
        await self._loop.create_future()

    async def _respond(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        try:
            if self._connections <= MAX_CONNECTIONS:
                async with asyncio.timeout(CONNECTION_SECONDS):
                    head = await reader.readuntil(b"\r\n\r\n")
                    writer.write(await self._build_response(head))
                    writer.close()
                    await writer.wait_closed()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the client is too slow, or gone, or speaks something else
        finally:
            self._connections -= 1
            writer.transport.abort()

    async def _build_response(self, head: bytes) -> bytes:
        request, *lines = head.split(b"\r\n")
        method, _, target = request.partition(b" ")
        if target.partition(b" ")[0].partition(b"?")[0] != b"/metrics":
            return _format(b"404 Not Found", b"text/plain", b"Only /metrics is here\n")
        if method != b"GET":
            return _format(b"405 Method Not Allowed\r\nAllow: GET", b"text/plain", b"Use GET\n")
        fields = dict(line.lower().partition(b":")[::2] for line in lines)
        encode, media_type = choose_encoder(fields.get(b"accept", b"").decode("latin-1"))
        if self._collection is None or self._collection.done():
            self._collection = asyncio.create_task(self._collect())
        total = await asyncio.shield(self._collection)
        return _format(b"200 OK", media_type.encode(), encode(total))

    async def _collect(self) -> Total:
        """Return the sum of all workers, those of the past included."""
        await self._ask_all()
        total, known = Total(self._names), [worker.last for worker in self._workers.values()]
        workers: Snapshot = {"workers": {(k,): v for k, v in self._count_workers().items()}}
        own = metrics.counters.measure_processes(), workers, self._build
        for snapshot in (self._ended.values, *known, *own):
            total.add(snapshot)
        return total

    async def _ask_all(self) -> None:
        await asyncio.gather(*(worker.ask() for worker in self._workers.values()))

    async def _remove(self, pid: int, reason: str) -> None:
        if (worker := self._workers.get(pid)) is not None:
            await worker.finish()
            del self._workers[pid]
            self._ended.add(worker.last, has_ended=True)
        self._ended.add({"worker_exits_total": {(reason,): 1}})

    async def _write_totals(self) -> int:
        await self._ask_all()  # so that no answer is on its way
        known = {pid: worker.last for pid, worker in self._workers.items()}
        descriptor = os.memfd_create("floorgate-metrics")
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(msgspec.msgpack.encode({_ENDED: self._ended.values, **known}))
        return descriptor


def _read_totals(descriptor: int) -> dict[int, Snapshot]:
    with os.fdopen(descriptor, "rb") as file:
        file.seek(0)
        totals: dict[int, Snapshot] = msgspec.msgpack.decode(file.read(), type=dict[int, Snapshot])
    return totals


def _format(status: bytes, media_type: bytes, body: bytes) -> bytes:
    head = b"HTTP/1.1 %b\r\nContent-Type: %b\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
    return head % (status, media_type, len(body)) + body
