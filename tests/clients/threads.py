"""Let one thread drop the response that another is about to reuse: `python threads.py`."""

from collections import OrderedDict
from threading import Event, Lock, Thread
from typing import Any

import httpx
from floorgate_client.revalidation import Revalidation

REQUEST = httpx.Request("GET", "https://floorgate.example/v1/units")
LARGE = httpx.Response(200, headers={"ETag": '"2"'}, content=b"more than may be kept")
revalidation = Revalidation(max_bytes=1)
revalidation.keep(REQUEST, httpx.Response(200, headers={"ETag": '"1"'}, content=b"1"))
has_dropped_or_waits = Event()


class ObservedLock:
    """A lock that shows when a thread has to wait for another."""

    def __init__(self) -> None:
        self._lock = Lock()

    def __enter__(self) -> None:
        if self._lock.locked():
            has_dropped_or_waits.set()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def drop() -> None:
    """Keep a response that is too large, so that none is left."""
    revalidation.keep(REQUEST, LARGE)
    has_dropped_or_waits.set()


other = Thread(target=drop)


class Interrupted(OrderedDict[Any, Any]):
    """What is kept: after the first look, the other thread has its turn."""

    def get(self, key: Any, default: Any = None) -> Any:
        """Return what is kept."""
        found = super().get(key, default)
        other.start()
        has_dropped_or_waits.wait()
        return found


revalidation._lock = ObservedLock()  # type: ignore[assignment]
revalidation._kept = Interrupted(revalidation._kept)
kept = revalidation.prepare(REQUEST)
other.join()
assert kept and kept.body == b"1"
assert not revalidation._kept
