"""Work for a pool, and the processes that do it."""

import contextlib
import os
from pathlib import Path

import anyio

from resolvers.processing.process_pool import ProcessPool

CPU_SECONDS = 60.0


def divide(dividend: int, divisor: int) -> float:
    return dividend / divisor


async def pool_pid(pool: ProcessPool) -> int:
    return await pool.run(os.getpid, cpu_seconds=CPU_SECONDS)


async def pid_in(path: Path) -> int:
    while not path.exists() or not path.read_text():
        await anyio.sleep(0.01)
    return int(path.read_text())


async def wait_for_end_of(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        with anyio.fail_after(CPU_SECONDS):
            while True:
                os.kill(pid, 0)
                await anyio.sleep(0.01)
