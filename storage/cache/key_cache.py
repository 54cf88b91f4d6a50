"""Keys in memory: no request waits for MongoDB, yet a revoked key ends everywhere at once.

What was read of a key counts while no key has changed since. Whether one has, the changes of the
database tell; while they may go unnoticed, every check reads the database.
"""

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from storage import keys
from storage.cache.change_feed import ChangeFeed, VersionSnapshot, is_unchanged_since
from storage.errors import UnavailableError
from storage.keys import ApiKey, KeyDigest
from storage.mongo import driver
from storage.mongo.driver import PyMongoError
from storage.mongo.tasks import cancel_and_wait

FLUSH_INTERVAL_SECONDS = 5.0
MAX_KEYS = 10_000

KEY_COLLECTIONS = (keys.KEYS_COLLECTION,)


class KeyCache:
    """The keys that were asked for lately."""

    def __init__(self, database: driver.Database, feed: ChangeFeed) -> None:
        self._database = database
        self._feed = feed
        self._entries: OrderedDict[KeyDigest, ApiKey | None] = OrderedDict()
        self._snapshot: VersionSnapshot | None = None
        self._uses: dict[str, datetime] = {}

    async def get_valid_key(self, key: str) -> ApiKey | None:
        """The record of a key that is valid now, or None. Raises Unavailable."""
        if not keys.is_well_formed(key):
            return None
        return self._mark_used(await self._get_or_load(keys.hash_key(key)))

    def get_cached_key(self, digest: KeyDigest) -> ApiKey | None:
        """The record of a key that is known to be valid now; None where that takes a read."""
        now = self._feed.take_snapshot()
        if (
            now is None
            or self._snapshot is None
            or not is_unchanged_since(self._snapshot, now, KEY_COLLECTIONS)
        ):
            return None
        if digest not in self._entries:
            return None
        self._entries.move_to_end(digest)
        return self._mark_used(self._entries[digest])

    def _mark_used(self, record: ApiKey | None) -> ApiKey | None:
        now = datetime.now(UTC)
        if record is None or not record.is_valid(now):
            return None
        self._uses[record.id] = now
        return record

    @asynccontextmanager
    async def run(self) -> AsyncIterator["KeyCache"]:
        """Writes the keys' last uses down meanwhile."""
        flushing = asyncio.create_task(self._flush_periodically())
        try:
            yield self
        finally:
            await cancel_and_wait(flushing)
            with contextlib.suppress(PyMongoError, UnavailableError):
                await self._flush_uses()

    async def _get_or_load(self, digest: KeyDigest) -> ApiKey | None:
        now = self._feed.take_snapshot()
        if now is None:
            return await keys.find_api_key(self._database, digest)
        if self._snapshot is None or not is_unchanged_since(self._snapshot, now, KEY_COLLECTIONS):
            self._entries.clear()
        elif digest in self._entries:
            self._entries.move_to_end(digest)
            return self._entries[digest]
        self._snapshot = now
        record = await keys.find_api_key(self._database, digest)
        # What was told during the read may be newer than what was read.
        if is_unchanged_since(now, self._snapshot, KEY_COLLECTIONS):
            self._entries[digest] = record
            if len(self._entries) > MAX_KEYS:  # strangers push out strangers, not who comes often
                self._entries.popitem(last=False)
        return record

    async def _flush_periodically(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_INTERVAL_SECONDS)
            with contextlib.suppress(PyMongoError, UnavailableError):
                await self._flush_uses()

    async def _flush_uses(self) -> None:
        uses, self._uses = self._uses, {}
        try:
            await keys.record_uses(self._database, uses)
        except (PyMongoError, UnavailableError):
            self._uses = uses | self._uses
            raise
