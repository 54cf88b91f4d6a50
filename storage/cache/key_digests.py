"""The digests of all API keys that are not revoked, read at once.

They tell whether a key exists without one read of the database for each key that is asked for.
"""

import asyncio
import time
from typing import NamedTuple

from storage.administration import api_keys
from storage.administration.key_format import KeyDigest
from storage.cache.change_feed import ChangeFeed, ChangeSnapshot, is_unchanged_since
from storage.cache.read_set import whole
from storage.mongo import driver

REREAD_SECONDS = 1.0
"""While changes might go unnoticed, and however often keys change."""


class _Reading(NamedTuple):
    digests: frozenset[KeyDigest]
    snapshot: ChangeSnapshot | None
    read_at: float


class KeyDigests:
    """Look up digests; a key that was created within the last second may be missing."""

    def __init__(self, database: driver.Database, feed: ChangeFeed) -> None:
        self._database = database
        self._feed = feed
        self._last = _Reading(frozenset(), None, float("-inf"))
        self._reading: asyncio.Task[None] | None = None

    async def contain(self, digest: KeyDigest) -> bool:
        """Return whether a key has this digest. Raises UnavailableError."""
        if not self._is_current(self._last):
            await self.refresh()
        return digest in self._last.digests

    async def refresh(self) -> None:
        """Read all digests. Raises UnavailableError."""
        await asyncio.shield(self._start_reading())

    def contained(self, digest: KeyDigest) -> bool:
        """Return whether a key had this digest when they were last read, without waiting.

        Start to read them again if that was too long ago.
        """
        if not self._is_current(self._last):
            self._start_reading()
        return digest in self._last.digests

    def _start_reading(self) -> asyncio.Task[None]:
        if self._reading is None:  # concurrent requests share one read
            self._reading = asyncio.create_task(self._read())
            # Its error is for those who wait for it, if anybody does.
            self._reading.add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._reading

    def _is_current(self, reading: _Reading) -> bool:
        if time.monotonic() - reading.read_at < REREAD_SECONDS:
            return True
        before, now = reading.snapshot, self._feed.take_snapshot()
        if before is None or now is None:
            return False
        return is_unchanged_since(before, now, whole(api_keys.KEYS_COLLECTION))

    async def _read(self) -> None:
        try:
            snapshot = self._feed.take_snapshot()  # before the read: a change during it counts
            digests = await api_keys.list_digests(self._database)
            self._last = _Reading(digests, snapshot, time.monotonic())
        finally:
            self._reading = None
