"""Automatic persisted queries: documents that clients have sent, by their SHA-256.

Each worker keeps its own, and each API key has its own share, so that no client can push out those
of another, or learn which documents another one uses. A client sends a document again to a worker
that does not have it. See docs/decisions/graphql/persisted-queries.md.
"""

import sys

from resolvers.request.context import Cache

MAX_PERSISTED_QUERIES = 1_000
"""Documents of one API key."""
MAX_PERSISTED_BYTES = 2_000_000
"""Memory of the documents of one API key."""
MAX_BYTES_OF_ALL_KEYS = 32_000_000
"""Memory of all documents of a worker; beyond it, those of the key that was used least recently
go."""
ENTRY_BYTES = 300
"""Memory of an entry, apart from its text."""


class PersistedQueries:
    """The documents of each API key, the least recently used of which are dropped.

    >>> queries = PersistedQueries()
    >>> queries.put("key-1", "1234", "{ units { data { id } } }")
    >>> queries.get("key-1", "1234")
    '{ units { data { id } } }'
    >>> queries.get("key-2", "1234") is None
    True
    """

    def __init__(self, max_bytes: int = MAX_BYTES_OF_ALL_KEYS) -> None:
        self._of_keys: Cache[str, Cache[str, str]] = Cache(
            max_bytes=max_bytes, weigh=lambda _, queries: queries.counters.size_bytes
        )

    def get(self, key_id: str, digest: str) -> str | None:
        """Return the document that this key has sent, if it is still kept."""
        queries = self._of_keys.get(key_id)
        return None if queries is None else queries.get(digest)

    def put(self, key_id: str, digest: str, text: str) -> None:
        """Keep a valid document; `digest` is its own."""
        queries = self._of_keys.get(key_id)
        if queries is None:
            queries = Cache(
                max_entries=MAX_PERSISTED_QUERIES, max_bytes=MAX_PERSISTED_BYTES, weigh=_weigh
            )
        if queries.get(digest) is None:
            queries.put(digest, text)
            self._of_keys.put(key_id, queries)


def _weigh(_: str, text: str) -> int:
    return sys.getsizeof(text) + ENTRY_BYTES
