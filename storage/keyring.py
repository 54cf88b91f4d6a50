"""Keys in memory: no request waits for MongoDB, yet a revoked key ends everywhere at once.

A change stream on the keys empties the ring whenever one changes. The ring trusts what it holds
only while that stream answers: MongoDB confirms several times a second that nothing was missed,
and without a confirmation every check reads the database.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from pymongo.errors import PyMongoError

from storage import driver, keys
from storage.errors import Unavailable
from storage.keys import ApiKey, Digest

POLL_MS = 200
TRUSTED_SECONDS = 0.6
RETRY_SECONDS = 0.2
FLUSH_SECONDS = 5.0
MOST_KEYS = 10_000

logger = logging.getLogger("floorgate.keys")


class KeyRing:
    """The keys that were asked for lately."""

    def __init__(self, database: driver.Database) -> None:
        self._database = database
        self._known: dict[Digest, ApiKey | None] = {}
        self._generation = 0
        self._confirmed_at = float("-inf")
        self._uses: dict[str, datetime] = {}

    async def check(self, key: str) -> ApiKey | None:
        """The record of a key that is valid now, or None. Raises Unavailable."""
        if not keys.is_well_formed(key):
            return None
        record = await self._find(keys.digest(key))
        now = datetime.now(UTC)
        if record is None or not record.is_valid(now):
            return None
        self._uses[record.id] = now
        return record

    @asynccontextmanager
    async def running(self) -> AsyncIterator["KeyRing"]:
        """Follows the keys' changes, and writes their last uses down, meanwhile."""
        tasks = [asyncio.create_task(self._follow()), asyncio.create_task(self._flush_often())]
        try:
            yield self
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            with contextlib.suppress(PyMongoError, Unavailable):
                await self._flush()

    async def _find(self, digest: Digest) -> ApiKey | None:
        trusted = asyncio.get_running_loop().time() - self._confirmed_at < TRUSTED_SECONDS
        if trusted and digest in self._known:
            return self._known[digest]
        generation = self._generation
        record = await keys.find(self._database, digest)
        # A change that arrived during the read has emptied the ring: what was read may be older.
        if generation == self._generation:
            if len(self._known) >= MOST_KEYS:
                self._known.clear()
            self._known[digest] = record
        return record

    def _empty(self) -> None:
        self._known.clear()
        self._generation += 1

    async def _follow(self) -> None:
        loop = asyncio.get_running_loop()
        collection = self._database[keys.COLLECTION]
        while True:
            try:
                async with driver.watching(collection, [], max_await_time_ms=POLL_MS) as stream:
                    self._empty()
                    while stream.alive:
                        asked_at = loop.time()
                        if await stream.try_next() is not None:
                            self._empty()
                        self._confirmed_at = asked_at
            except PyMongoError as error:
                logger.warning("the change stream of the keys ended: %s", type(error).__name__)
            await asyncio.sleep(RETRY_SECONDS)

    async def _flush_often(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            with contextlib.suppress(PyMongoError, Unavailable):
                await self._flush()

    async def _flush(self) -> None:
        uses, self._uses = self._uses, {}
        try:
            await keys.record_uses(self._database, uses)
        except (PyMongoError, Unavailable):
            self._uses = uses | self._uses
            raise
