"""Requests that the fast path has answered, by the bytes in which they arrived.

A client sends equal requests in equal bytes. What the parser and the fast path found in them the
first time holds whenever they arrive again as a whole, so only the lookup of the cached response
remains. See docs/decisions/server/fast-path.md.
"""

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from storage.cache.cache import Cache

if TYPE_CHECKING:
    from gateway.cache.fast_path import FastResponse

MAX_REPEATED_REQUESTS = 10_000
"""Requests by their bytes that a worker knows, of some 500 bytes each."""


# Without garbage collection, as there are many.
class RepeatedRequest(Struct, frozen=True, eq=False, gc=False):
    """What is known of a request before it is parsed."""

    look_up: "Callable[[], FastResponse | None]"
    method: str
    forwarded_address: str
    """The client's address if a proxy vouches for it; else empty."""


class RepeatedRequests:
    """An LRU cache of requests by a SHA-256 of their bytes, which hold API keys."""

    def __init__(self) -> None:
        self._requests: Cache[bytes, RepeatedRequest] = Cache(max_entries=MAX_REPEATED_REQUESTS)

    def find(self, request: bytes) -> RepeatedRequest | None:
        """Return what is known of a request with these bytes."""
        return self._requests.get(hashlib.sha256(request).digest())

    def remember(self, request: bytes, known: RepeatedRequest) -> None:
        """Keep what the bytes of a request, and nothing else, determine."""
        self._requests.put(hashlib.sha256(request).digest(), known)
