"""API keys cached by digest, so that a request need not read the database to be authenticated.

A cached record is valid until a key changes, so a revoked key is rejected as soon as the change
feed reports it. While changes might go unnoticed, every request reads the database.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import NamedTuple

from storage.administration import api_keys
from storage.administration.api_keys import ApiKey, KeyDigest, KeySummary
from storage.cache.cache import MISSING, Cache
from storage.cache.change_feed import ChangeFeed, ChangeSnapshot, is_unchanged_since
from storage.cache.read_set import read_digest, whole
from storage.errors import UnavailableCause, UnavailableError
from storage.mongo import driver
from storage.mongo.tasks import run_in_background

REREAD_SECONDS = 1.0
"""A summary of all keys is read so often while changes might go unnoticed, and however often keys
change."""
FLUSH_INTERVAL_SECONDS = 5.0
MAX_KEYS = 10_000


class AuthenticatedKey(NamedTuple):
    """A key that a request may use, with the digest under which it is cached."""

    record: ApiKey
    digest: KeyDigest


class _Reading(NamedTuple):
    """A summary of all API keys.

    It tells whether a key exists without a read of the database for each key that is asked for, and
    whether a page may call without its key, which no preflight request has.
    """

    summary: KeySummary
    snapshot: ChangeSnapshot | None
    read_at: float


class ApiKeyCache:
    """Look up API keys, and write down when they were last used.

    Digests without a record are cached too. LRU eviction keeps them harmless: random keys evict one
    another, while keys in use stay recent.
    """

    def __init__(self, database: driver.Database, feed: ChangeFeed) -> None:
        self._database = database
        self._feed = feed
        self._records: Cache[KeyDigest, ApiKey | None] = Cache(
            max_entries=MAX_KEYS, feed=feed, name="keys"
        )
        self._last_reading = _Reading(KeySummary(), None, float("-inf"))
        self._reading: asyncio.Task[None] | None = None
        self._last_uses: dict[str, datetime] = {}

    async def is_stored(self, key: str) -> bool:
        """Return whether a key exists, without a read for each. Raises UnavailableError.

        A key that was created within the last second may be missing.
        """
        if not api_keys.is_well_formed(key):
            return False
        if not self._has_current_summary():
            await asyncio.shield(self._start_reading())
        return api_keys.hash_key(key) in self._last_reading.summary.digests

    async def refresh_origins(self) -> None:
        """Have `find_origins` know the keys of this moment, unless MongoDB does not answer in time.

        This reads the database once for each change of a key, whoever calls it how often.
        """
        with contextlib.suppress(UnavailableError, TimeoutError):
            for _ in range(2):  # a look that has begun may not see the newest change
                is_recent = self._feed.take_snapshot() is None and self._has_recent_summary()
                if is_recent or self._has_unchanged_summary():
                    return
                async with asyncio.timeout(REREAD_SECONDS):
                    await asyncio.shield(self._start_reading())

    def find_origins(self) -> frozenset[str]:
        """Return the origins of the keys that were valid at the last look, without waiting.

        If a key has changed since, this starts the next look.
        """
        if not self._has_current_summary():
            self._start_reading()
        return self._last_reading.summary.origins

    async def get_valid_key(self, key: str) -> ApiKey | None:
        """Return the record of a key if it is valid now, else None. Raises UnavailableError."""
        return await self.load_key(api_keys.hash_key(key)) if api_keys.is_well_formed(key) else None

    def get_cached_key(self, digest: KeyDigest) -> ApiKey | None:
        """Return the record if it is cached and valid now; None if only a read can tell."""
        return self._mark_used(self._records.get(digest))

    async def load_key(self, digest: KeyDigest) -> ApiKey | None:
        """Return the record if it is valid now, else None. Raises UnavailableError."""
        return self._mark_used(await self._get_or_load(digest))

    def is_known(self, digest: KeyDigest) -> bool:
        """Return whether a request has had this key, and it was valid then, or the key was among
        all keys at the last look.

        Neither counts as use nor validates, so it holds at times when every key has to be read
        again.

        Any other key starts the next look: while requests with invented keys arrive, valid keys are
        known before their first request.
        """
        if self._records.peek(digest, None) is not None:
            return True
        if not self._has_current_summary():
            self._start_reading()
        return digest in self._last_reading.summary.digests

    def find_key_id(self, key: str) -> str | None:
        """Return the id of a key that a request has had, valid or not, without waiting."""
        record = self._records.peek(api_keys.hash_key(key), None)
        return None if record is None else record.id

    def find_loss(self) -> UnavailableCause | None:
        """Return why MongoDB commits nothing; None if it does."""
        return driver.find_loss(self._database.client)

    def _mark_used(self, record: ApiKey | None) -> ApiKey | None:
        now = datetime.now(UTC)
        if record is None or not record.is_valid(now):
            return None
        self._last_uses[record.id] = now
        return record

    @asynccontextmanager
    async def run(self) -> AsyncIterator["ApiKeyCache"]:
        """Write last uses to the database periodically, and once more at the end.

        All keys are known from the beginning, or later if MongoDB cannot be read then.
        """
        with contextlib.suppress(UnavailableError):
            await asyncio.shield(self._start_reading())
        try:
            async with run_in_background(self._flush_periodically()):
                yield self
        finally:
            with contextlib.suppress(driver.PyMongoError, UnavailableError):
                await self._flush_last_uses()

    def _start_reading(self) -> asyncio.Task[None]:
        if self._reading is None:  # concurrent requests share one read
            self._reading = asyncio.create_task(self._read_summary())
            # Its error is for those who wait for it, if anybody does.
            self._reading.add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._reading

    def _has_current_summary(self) -> bool:
        return self._has_recent_summary() or self._has_unchanged_summary()

    def _has_recent_summary(self) -> bool:
        return time.monotonic() - self._last_reading.read_at < REREAD_SECONDS

    def _has_unchanged_summary(self) -> bool:
        last, now = self._last_reading, self._feed.take_snapshot()
        before = last.snapshot
        if before is None or now is None or last.summary.origins_end_at <= datetime.now(UTC):
            return False
        return is_unchanged_since(before, now, whole(api_keys.KEYS_COLLECTION))

    async def _read_summary(self) -> None:
        try:
            snapshot = self._feed.take_snapshot()  # before the read: a change during it counts
            summary = await api_keys.read_key_summary(self._database)
            self._last_reading = _Reading(summary, snapshot, time.monotonic())
        finally:
            self._reading = None

    async def _get_or_load(self, digest: KeyDigest) -> ApiKey | None:
        cached = self._records.get(digest, MISSING)
        if cached is not MISSING:
            return cached
        snapshot = self._feed.take_snapshot()  # before the read: a change during it counts
        record = await api_keys.find_api_key(self._database, digest)
        self._records.put(digest, record, snapshot, read_digest(digest))
        return record

    async def _flush_periodically(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_INTERVAL_SECONDS)
            with contextlib.suppress(driver.PyMongoError, UnavailableError):
                await self._flush_last_uses()

    async def _flush_last_uses(self) -> None:
        last_uses, self._last_uses = self._last_uses, {}
        try:
            await api_keys.record_uses(self._database, last_uses)
        except (driver.PyMongoError, UnavailableError):
            self._last_uses = last_uses | self._last_uses
            raise
