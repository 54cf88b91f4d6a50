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

from pymongo.errors import PyMongoError

from storage import driver, keys
from storage.changes import Changes, Mark, is_same
from storage.errors import Unavailable
from storage.keys import ApiKey, Digest
from storage.tasks import end

FLUSH_SECONDS = 5.0
MOST_KEYS = 10_000

NAMES = (keys.COLLECTION,)


class KeyRing:
    """The keys that were asked for lately."""

    def __init__(self, database: driver.Database, changes: Changes) -> None:
        self._database = database
        self._changes = changes
        self._known: OrderedDict[Digest, ApiKey | None] = OrderedDict()
        self._known_at: Mark | None = None
        self._uses: dict[str, datetime] = {}

    async def check(self, key: str) -> ApiKey | None:
        """The record of a key that is valid now, or None. Raises Unavailable."""
        if not keys.is_well_formed(key):
            return None
        return self._used(await self._find(keys.digest(key)))

    def recall(self, digest: Digest) -> ApiKey | None:
        """The record of a key that is known to be valid now; None where that takes a read."""
        now = self._changes.mark()
        if now is None or self._known_at is None or not is_same(self._known_at, now, NAMES):
            return None
        if digest not in self._known:
            return None
        self._known.move_to_end(digest)
        return self._used(self._known[digest])

    def _used(self, record: ApiKey | None) -> ApiKey | None:
        now = datetime.now(UTC)
        if record is None or not record.is_valid(now):
            return None
        self._uses[record.id] = now
        return record

    @asynccontextmanager
    async def running(self) -> AsyncIterator["KeyRing"]:
        """Writes the keys' last uses down meanwhile."""
        flushing = asyncio.create_task(self._flush_often())
        try:
            yield self
        finally:
            await end(flushing)
            with contextlib.suppress(PyMongoError, Unavailable):
                await self._flush()

    async def _find(self, digest: Digest) -> ApiKey | None:
        now = self._changes.mark()
        if now is None:
            return await keys.find(self._database, digest)
        if self._known_at is None or not is_same(self._known_at, now, NAMES):
            self._known.clear()
        elif digest in self._known:
            self._known.move_to_end(digest)
            return self._known[digest]
        self._known_at = now
        record = await keys.find(self._database, digest)
        # What was told during the read may be newer than what was read.
        if is_same(now, self._known_at, NAMES):
            self._known[digest] = record
            if len(self._known) > MOST_KEYS:  # strangers push out strangers, not who comes often
                self._known.popitem(last=False)
        return record

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
