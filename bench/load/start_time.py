"""Measure how long `floorgate serve` takes to its `ready` line on an existing data directory."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from bench.load.machine import sum_cpu_seconds
from bench.load.servers import CHECKOUT, PeerError, stop_at_exit
from bench.peers.floorgate import COMMAND
from storage.embedded import embedded_mongo, mongod_supervisor


@contextmanager
def scratch_directory() -> Iterator[Path]:
    """Create a directory for a run; a mongod may use its subdirectory `data`."""
    with TemporaryDirectory(prefix="floorgate-bench-") as scratch:
        (Path(scratch) / "data").mkdir()
        try:
            yield Path(scratch)
        finally:
            _await_no_mongod(Path(scratch) / "data")


class StartTime(msgspec.Struct, frozen=True, kw_only=True):
    """One start, including HTTPS and the embedded mongod."""

    seconds: float
    cpu_seconds: float
    """CPU time of the gateway alone; unlike seconds, not affected by a busy machine."""


def measure_starts(data_dir: Path, times: int) -> list[StartTime]:
    """Measure `times` starts, each without a running mongod."""
    return [_measure_start(data_dir) for _ in range(times)]


def _measure_start(data_dir: Path) -> StartTime:
    _await_no_mongod(data_dir)
    begun = time.perf_counter()
    process = subprocess.Popen(
        [*COMMAND, "serve", "--port", "0", "--data-dir", str(data_dir)],
        cwd=CHECKOUT,
        env=os.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    with process.stdout, stop_at_exit(process):
        line = process.stdout.readline()
        start = StartTime(
            seconds=time.perf_counter() - begun, cpu_seconds=sum_cpu_seconds(process.pid)
        )
    if not line.startswith(b"ready https://"):
        raise PeerError(f"floorgate serve printed {line!r} instead of its ready line")
    return start


def _await_no_mongod(data_dir: Path) -> None:
    if (home := data_dir / "mongod").exists():
        embedded_mongo.wait_for_release(home / mongod_supervisor.SERVER_LOCK)
