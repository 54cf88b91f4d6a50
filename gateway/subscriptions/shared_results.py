"""Results of events that many followers get: one change is an event of each of them.

Those who may see the same, and ask for the same, get the same bytes; see
docs/decisions/server/subscriptions.md.
"""

import time
from collections.abc import Hashable
from typing import NamedTuple

from resolvers.request.context import Context
from schema.execution import Operation
from storage.cache.cache import Cache

SHARING_SECONDS = 1.0
"""How old a shared result may be: the records in it are as they were then."""
MAX_SHARED_BYTES = 8 << 20


class ResultKey(NamedTuple):
    """Everything that the result of an event depends on, but the data."""

    operation: Operation
    variables: bytes
    """Of the operation's `event_variables`, as JSON."""
    base_url: str
    rights: Hashable
    """Of the caller: what it may see and do."""
    value: Hashable = None
    """The event. Two that are equal are one."""


class SharedResults:
    """The newest results, as JSON."""

    def __init__(self) -> None:
        self._results: Cache[ResultKey, tuple[float, bytes]] = Cache(
            max_bytes=MAX_SHARED_BYTES,
            # An operation lives as long as its results.
            weigh=lambda key, result: key.operation.size_bytes + len(result[1]),
        )

    def get(self, key: ResultKey) -> bytes | None:
        """Return the result, unless it is too old or there is none."""
        found = self._results.get(key)
        if found is None or time.monotonic() - found[0] > SHARING_SECONDS:
            return None
        return found[1]

    def keep(self, key: ResultKey, content: bytes, context: Context) -> None:
        """Keep a result, unless it has errors or depends on something that the key does not tell.

        Its `context` knows, as it does for the response cache.
        """
        if context.reads.is_complete:
            self._results.put(key, (time.monotonic(), content))
