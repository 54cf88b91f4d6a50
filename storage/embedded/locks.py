"""Advisory locks on files, held by the kernel: a process that dies, however it dies, lets go."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SHARED = fcntl.LOCK_SH
EXCLUSIVE = fcntl.LOCK_EX

_POLL_SECONDS = 0.01


@contextmanager
def open_lock_file(path: Path) -> Iterator[int]:
    """A descriptor of the lock file; closing it gives up whatever lock it holds."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def try_lock(descriptor: int, mode: int) -> bool:
    """Take the lock if nobody holds one against it."""
    try:
        fcntl.flock(descriptor, mode | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait_for_lock(descriptor: int, mode: int, deadline: float) -> bool:
    """Wait for the lock; False when it is not ours before `time.monotonic()` reaches `deadline`."""
    while not try_lock(descriptor, mode):
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def wait_for_release(path: Path) -> None:
    """Sleep in the kernel for as long as somebody holds an exclusive lock on the file."""
    with open_lock_file(path) as descriptor:
        fcntl.flock(descriptor, SHARED)
