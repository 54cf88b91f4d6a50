"""What is read of this machine agrees with what its processes know of themselves."""

import importlib.metadata
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.load import machine


@contextmanager
def run_program(program: str) -> Iterator[tuple[int, str]]:
    """A Python process that has printed a line and waits: its id, and the line."""
    waiting = f"import os, subprocess, sys, time\n{program}\nsys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", waiting], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process.pid, process.stdout.readline().strip()
        finally:
            process.kill()


def test_the_cpu_time_of_a_process_is_what_it_counts_itself() -> None:
    before = time.process_time()
    counted = machine.cpu_seconds(os.getpid())
    after = time.process_time()
    assert before <= counted <= after


def test_cpu_time_includes_all_threads() -> None:
    threads = (
        "import threading\n"
        "def work():\n"
        "    while time.thread_time() < 0.1: pass\n"
        "them = [threading.Thread(target=work) for _ in range(2)]\n"
        "[each.start() for each in them]; [each.join() for each in them]\n"
        "print(time.process_time(), flush=True)"
    )
    with run_program(threads) as (pid, own):
        assert machine.cpu_seconds(pid) >= float(own)
        assert float(own) >= 0.2


def test_a_process_that_ended_has_no_cpu_time() -> None:
    with run_program("print(flush=True)") as (pid, _):
        pass
    with pytest.raises(OSError):
        machine.cpu_seconds(pid)


def test_the_tree_of_a_process_has_its_children_and_theirs_from_any_thread() -> None:
    child = (
        "import subprocess; grandchild = subprocess.Popen(['sleep', '60']);"
        "print(grandchild.pid, flush=True); grandchild.wait()"
    )
    parent = (
        "import threading\n"
        "def start():\n"
        f"    p = subprocess.Popen([sys.executable, '-c', {child!r}], stdout=subprocess.PIPE)\n"
        "    print(p.pid, p.stdout.readline().decode().strip(), flush=True)\n"
        "    time.sleep(60)\n"
        "threading.Thread(target=start, daemon=True).start()"
    )
    with run_program(parent) as (pid, line):
        descendants = [int(word) for word in line.split()]
        try:
            assert sorted(machine.list_process_tree(pid)) == sorted([pid, *descendants])
            assert machine.list_process_tree(descendants[1]) == [descendants[1]]
        finally:
            for descendant in descendants:
                os.kill(descendant, 9)


def test_memory_is_what_the_kernel_shows_of_a_process_at_rest() -> None:
    with run_program("kept = bytearray(50_000_000); print(flush=True)") as (pid, _):
        memory = machine.memory_mb(pid)
        [line] = [
            line
            for line in Path(f"/proc/{pid}/status").read_text().splitlines()
            if line.startswith("VmRSS")
        ]
    assert memory["rss"] == pytest.approx(int(line.split()[1]) * 1024 / 1e6, rel=0.1)
    assert 50 < memory["pss"] <= memory["rss"]


def test_a_process_is_pinned_with_those_that_it_starts_and_then_let_go() -> None:
    core = machine.CORES[-1]
    with machine.pin_to_cores(core):
        assert os.sched_getaffinity(0) == {core}
        with run_program("print(os.sched_getaffinity(0), flush=True)") as (_, printed):
            assert printed == str({core})
    assert os.sched_getaffinity(0) == {*machine.CORES}
    with pytest.raises(LookupError), machine.pin_to_cores(core):
        raise LookupError
    assert os.sched_getaffinity(0) == {*machine.CORES}


def test_server_and_load_share_a_core_only_if_there_is_one() -> None:
    assert {machine.SERVER_CORE, machine.LOAD_CORE} <= {*machine.CORES}
    assert (machine.SERVER_CORE == machine.LOAD_CORE) == (len(machine.CORES) == 1)


def test_the_machine_is_described_with_every_version_that_counts() -> None:
    described = machine.describe_machine()
    assert described["cores"] == len(machine.CORES)
    assert described["python"] == platform.python_version()
    assert described["packages"]["pymongo"] == importlib.metadata.version("pymongo")
    assert all(described.values()) and all(described["packages"].values())


def test_the_load_average_is_that_of_the_last_minute() -> None:
    before, found = os.getloadavg()[0], machine.load_average()
    assert f"{found:.2f}" in (f"{before:.2f}", f"{os.getloadavg()[0]:.2f}")


def test_a_process_is_measured_with_its_children() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        alone = machine.memory_mb(child.pid)["rss"]
        together = machine.sum_memory_mb(os.getpid())
        assert together["rss"] > machine.memory_mb(os.getpid())["rss"] / 2 + alone
        assert machine.sum_cpu_seconds(os.getpid()) > 0
        child.kill()
