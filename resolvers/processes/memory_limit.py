"""Limit the memory that work takes."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from parsing.errors import DocumentRejectedError

MAX_TASK_BYTES = 4 << 30
"""Six storeys of 500 rooms take 0.7 GB."""
MEMORY_MESSAGE = (
    "the work needs more than {:,} bytes of memory; simplify the plan or drawing, or divide it"
    " into several"
)
SIGNS_OF_NO_MEMORY = ("bad_alloc", "out of memory")
"""In messages of GEOS and igraph, which raise errors of their own."""


class MemoryExceededError(DocumentRejectedError):
    """A document that takes too much memory."""


@contextmanager
def limit_memory(max_bytes: int) -> Iterator[None]:
    """Raise MemoryExceededError if the block takes so much more memory than the process has.

    C code that does not expect this may end the process instead. There is no limit where the system
    does not have Linux's /proc.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if data_bytes := _read_data_bytes():
        # Not RLIMIT_AS: threads reserve much address space that they never use.
        limit = data_bytes + max_bytes
        within = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (within, hard))
    try:
        yield
    except Exception as error:
        if isinstance(error, MemoryError) or _tells_of_no_memory(error):
            raise MemoryExceededError(MEMORY_MESSAGE.format(max_bytes)) from error
        raise
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def read_resident_bytes() -> int:
    """Return the memory of this process; 0 where the system does not have Linux's /proc."""
    # Not `getrusage`: its maximum starts with that of the parent.
    return _read_statm(1)


def _read_data_bytes() -> int:
    """Return what RLIMIT_DATA limits: memory that is mapped, private and writable."""
    return _read_statm(5)


def _read_statm(column: int) -> int:
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[column]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _tells_of_no_memory(error: Exception) -> bool:
    return any(sign in str(error).lower() for sign in SIGNS_OF_NO_MEMORY)
