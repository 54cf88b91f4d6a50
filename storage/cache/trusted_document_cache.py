"""Trusted documents cached by id, so that a request need not read the database for its document.

A cached document is valid until any document is registered or removed. Ids without a document are
cached too: random ones evict one another, while those in use stay recent.
"""

import sys

from storage.administration.trusted_documents import DOCUMENTS_COLLECTION, find_document
from storage.cache.cache import MISSING, Cache
from storage.cache.change_feed import ChangeFeed
from storage.cache.read_set import whole
from storage.mongo import driver

MAX_CACHED_DOCUMENTS = 10_000
MAX_CACHED_DOCUMENT_BYTES = 16_000_000


class TrustedDocumentCache:
    """Look up the texts of registered documents."""

    def __init__(self, database: driver.Database, feed: ChangeFeed) -> None:
        self._database = database
        self._feed = feed
        self._texts: Cache[str, str | None] = Cache(
            max_entries=MAX_CACHED_DOCUMENTS,
            max_bytes=MAX_CACHED_DOCUMENT_BYTES,
            weigh=lambda id, text: sys.getsizeof(id) + sys.getsizeof(text),
            feed=feed,
        )

    async def find_text(self, id: str) -> str | None:
        """Return the text of the document with this id. Raises UnavailableError."""
        cached = self._texts.get(id, MISSING)
        if cached is not MISSING:
            return cached
        snapshot = self._feed.take_snapshot()  # before the read: a change during it counts
        document = await find_document(self._database, id)
        text = None if document is None else document.text
        self._texts.put(id, text, snapshot, whole(DOCUMENTS_COLLECTION))
        return text
