"""Advisory file locks (flock), which the kernel releases when a process ends in any manner."""

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
    """Yield a descriptor of a lock file; leaving the context releases its lock."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def try_lock(descriptor: int, mode: int) -> bool:
    """Lock the file in this mode unless another descriptor holds a conflicting lock."""
    try:
        fcntl.flock(descriptor, mode | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait_for_lock(descriptor: int, mode: int, deadline: float) -> bool:
    """Wait for a lock; False if `time.monotonic()` reaches `deadline` first."""
    while not try_lock(descriptor, mode):
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def wait_for_release(path: Path) -> None:
    """Block until no exclusive lock is held on the file."""
    with open_lock_file(path) as descriptor:
        fcntl.flock(descriptor, SHARED)
