"""A gateway with a log of what its worker does: responses that it makes, and waits of its writes.

`python -m bench.load.worker_log serve ...` is `floorgate serve ...`, with an environment variable
that names the file. A line is written when a response is made, so not for one from the cache, and
when a write has waited until the workers have counted it. Nothing else differs.
"""

import os
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import msgspec
from starlette.responses import Response
from starlette.types import ASGIApp

from bench.data.directory import Directory
from bench.peers.peer import Peer
from gateway.cli.main import main as run_floorgate
from gateway.response_cache import ResponseCache
from gateway.server import supervisor, worker
from resolvers.request.context import Context
from rest.endpoints import CacheKey
from storage.cache.change_feed import ChangeFeed

LOG_VARIABLE = "BENCH_WORKER_LOG"
WORKER_PROGRAM = "from bench.load.worker_log import run_worker; run_worker()"


class MadeResponse(msgspec.Struct, frozen=True, tag=True):
    """A response that was made because none was cached."""

    key: int
    """A hash of the cache key; others have others."""
    text: str
    """What of the cache key can be read."""
    is_cached: bool
    """Whether it was cached nevertheless: the change stream had not confirmed recently that nothing
    was missed, so that nothing from the cache could be used."""


class WriteWait(msgspec.Struct, frozen=True, tag=True):
    """How long a write waited until all workers had counted it."""

    seconds: float


class WorkerLog:
    """Reads what a worker has logged since the last time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0

    def read(self) -> tuple[list[MadeResponse], list[float]]:
        """Return the responses that were made, and the seconds that writes waited."""
        with self.path.open("rb") as file:
            file.seek(self._offset)
            lines = file.readlines()
            self._offset = file.tell()
        entries = [msgspec.json.decode(line, type=MadeResponse | WriteWait) for line in lines]
        return (
            [entry for entry in entries if isinstance(entry, MadeResponse)],
            [entry.seconds for entry in entries if isinstance(entry, WriteWait)],
        )


def with_worker_log(peer: Peer, log: WorkerLog) -> Peer:
    """Return a gateway of one worker that logs."""

    def command(port: int) -> list[str]:
        _, _, _, *arguments = peer.command(port)
        return [sys.executable, "-m", "bench.load.worker_log", *arguments]

    def environment(directory: Directory) -> dict[str, str]:
        return peer.environment(directory) | {LOG_VARIABLE: str(log.path)}

    return replace(peer, command=command, environment=environment)


def run_worker() -> None:
    """Run a worker that logs."""
    descriptor = os.open(os.environ[LOG_VARIABLE], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    get_or_create, count_own_writes = ResponseCache.get_or_create, ChangeFeed.count_own_writes

    def log(entry: MadeResponse | WriteWait) -> None:
        os.write(descriptor, msgspec.json.encode(entry) + b"\n")

    async def get_or_create_logged(
        self: ResponseCache,
        key: CacheKey,
        context: Context,
        create: Callable[[], Awaitable[Response]],
        is_read: bool = True,
    ) -> ASGIApp:
        async def create_logged() -> Response:
            text = " ".join(str(part) for part in key if isinstance(part, (str, bytes)))
            is_cached = self._responses.peek(key, None) is not None
            log(MadeResponse(key=hash(key), text=text, is_cached=is_cached))
            return await create()

        return await get_or_create(self, key, context, create_logged, is_read)

    async def count_own_writes_logged(self: ChangeFeed) -> None:
        began = time.perf_counter()
        await count_own_writes(self)
        log(WriteWait(seconds=time.perf_counter() - began))

    with (
        patch.object(ResponseCache, "get_or_create", get_or_create_logged),
        patch.object(ChangeFeed, "count_own_writes", count_own_writes_logged),
    ):
        worker.main()


def main() -> None:
    """Run `floorgate` with workers that log."""
    supervisor.WORKER_PROGRAM = WORKER_PROGRAM
    run_floorgate()


if __name__ == "__main__":
    main()
