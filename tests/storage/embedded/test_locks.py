"""A lock file excludes other processes until its holder lets go of it or dies."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from storage.embedded import locks
from storage.embedded.locks import EXCLUSIVE, SHARED
from tests.waiting import TIMEOUT_SECONDS

ROOT = Path(__file__).parents[3]

HOLDER = """
import sys
from pathlib import Path
from storage.embedded import locks

with locks.open_lock_file(Path(sys.argv[1])) as descriptor:
    print(locks.try_lock(descriptor, int(sys.argv[2])), flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "users.lock"


@contextmanager
def lock_in_another_process(path: Path, mode: int) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock until its input ends or it is killed."""
    command = [sys.executable, "-c", HOLDER, str(path), str(mode)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout and process.stdout.readline() == "True\n"
        yield process


def leave(process: subprocess.Popen[str]) -> None:
    assert process.stdin
    process.stdin.close()


def wait_for_a_waiter(path: Path) -> None:
    """Wait until the kernel lists a process that waits for a lock on the file."""
    file = f":{path.stat().st_ino} "
    while not any("->" in line and file in line for line in _kernel_locks()):
        time.sleep(0.01)


def _kernel_locks() -> list[str]:
    return Path("/proc/locks").read_text().splitlines()


@pytest.mark.parametrize(
    ("held", "wanted", "is_granted"),
    [
        (SHARED, SHARED, True),
        (SHARED, EXCLUSIVE, False),
        (EXCLUSIVE, SHARED, False),
        (EXCLUSIVE, EXCLUSIVE, False),
    ],
)
def test_an_exclusive_lock_excludes_all_others(
    path: Path, held: int, wanted: int, is_granted: bool
) -> None:
    with lock_in_another_process(path, held), locks.open_lock_file(path) as descriptor:
        assert locks.try_lock(descriptor, wanted) == is_granted


@pytest.mark.parametrize("end", [leave, subprocess.Popen.kill], ids=["leave", "kill"])
def test_a_lock_is_released_when_its_holder_ends_in_any_way(
    path: Path, end: Callable[[subprocess.Popen[str]], None]
) -> None:
    with (
        lock_in_another_process(path, EXCLUSIVE) as process,
        locks.open_lock_file(path) as descriptor,
    ):
        assert not locks.try_lock(descriptor, SHARED)
        end(process)
        process.wait()
        assert locks.try_lock(descriptor, EXCLUSIVE)


def test_waiting_for_a_lock_ends_at_the_deadline(path: Path) -> None:
    with lock_in_another_process(path, EXCLUSIVE), locks.open_lock_file(path) as descriptor:
        assert not locks.wait_for_lock(descriptor, EXCLUSIVE, time.monotonic())


def test_a_free_lock_is_taken_also_after_the_deadline(path: Path) -> None:
    with locks.open_lock_file(path) as descriptor:
        assert locks.wait_for_lock(descriptor, EXCLUSIVE, time.monotonic() - 1)


def test_a_release_is_waited_for_until_the_holder_dies(path: Path) -> None:
    waiter = threading.Thread(target=locks.wait_for_release, args=(path,), daemon=True)
    with lock_in_another_process(path, EXCLUSIVE) as process:
        waiter.start()
        wait_for_a_waiter(path)
        process.kill()
        waiter.join(TIMEOUT_SECONDS)
        assert not waiter.is_alive()
    with locks.open_lock_file(path) as descriptor:
        assert locks.try_lock(descriptor, EXCLUSIVE)  # who waited holds nothing


def test_a_release_is_not_waited_for_where_no_exclusive_lock_is_held(path: Path) -> None:
    locks.wait_for_release(path)
    with lock_in_another_process(path, SHARED):
        locks.wait_for_release(path)


def test_a_lock_file_is_readable_by_its_owner_only_and_keeps_its_content(path: Path) -> None:
    with locks.open_lock_file(path):
        pass
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text("kept")
    with locks.open_lock_file(path):
        assert path.read_text() == "kept"
