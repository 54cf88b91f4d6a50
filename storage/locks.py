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
def opened(path: Path) -> Iterator[int]:
    """A descriptor of the lock file; closing it gives up whatever lock it holds."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def try_lock(descriptor: int, kind: int) -> bool:
    """Take the lock if nobody holds one against it."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def lock_before(descriptor: int, kind: int, deadline: float) -> bool:
    """Wait for the lock; False when it is not ours before `time.monotonic()` reaches `deadline`."""
    while not try_lock(descriptor, kind):
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def await_release(path: Path) -> None:
    """Sleep in the kernel for as long as somebody holds an exclusive lock on the file."""
    with opened(path) as descriptor:
        fcntl.flock(descriptor, SHARED)
