"""The machine: cores, CPU time, memory and load.

Linux only, as the embedded MongoDB is: most is read from `/proc` (proc(5)).
"""

import importlib.metadata
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

PROCESS_CPU_CLOCK = 2
"""CPUCLOCK_SCHED of Linux; clock_getcpuclockid(3) makes ids of clocks in this way."""
PACKAGES = ("graphql-core", "motor", "orjson", "pymongo", "starlette", "strawberry-graphql")

CORES = sorted(os.sched_getaffinity(0))
SERVER_CORE, LOAD_CORE = CORES[0], CORES[-1]
"""The server has a core to itself; load and mongod share the last one."""


@contextmanager
def pin_to_cores(*cores: int) -> Iterator[None]:
    """Pin this thread and the processes it starts to cores, then restore its own set."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def list_process_tree(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    children: list[int] = []
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        # A thread may end while they are listed.
        with suppress(FileNotFoundError, ProcessLookupError):
            children += map(int, listed.read_text().split())
    return [pid, *(process for child in children for process in list_process_tree(child))]


def cpu_seconds(pid: int) -> float:
    """Return user plus system time of a process and all its threads, to the nanosecond."""
    return time.clock_gettime((~pid << 3) | PROCESS_CPU_CLOCK)


def memory_mb(pid: int) -> dict[str, float]:
    """Return resident memory in megabytes: `rss`, and `pss` with shared pages divided."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    kilobytes = {name: int(rest.split()[0]) for name, _, rest in (x.partition(":") for x in lines)}
    return {"rss": kilobytes["Rss"] * 1024 / 1e6, "pss": kilobytes["Pss"] * 1024 / 1e6}


def sum_memory_mb(pid: int) -> dict[str, float]:
    """Return the memory of a process and all its descendants together."""
    each = [memory_mb(pid)]
    for process in list_process_tree(pid)[1:]:
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            each.append(memory_mb(process))
    return {kind: sum(memory[kind] for memory in each) for kind in ("rss", "pss")}


def sum_cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process and all its descendants together."""
    return sum(cpu_seconds(process) for process in list_process_tree(pid))


def load_average() -> float:
    """Return the load average of the last minute; above the number of cores, figures suffer."""
    return os.getloadavg()[0]


def describe_machine() -> dict[str, Any]:
    """Return hardware and software versions to show with the figures."""
    return {
        "processor": _processor_name(),
        "cores": len(CORES),
        "system": platform.platform(),
        "python": platform.python_version(),
        "packages": {name: importlib.metadata.version(name) for name in PACKAGES},
    }


def _processor_name() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
