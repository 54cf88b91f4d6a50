"""What has changed in the database: versions of its collections, counted as changes arrive.

MongoDB's change stream says what anybody wrote, the tally what this gateway wrote a moment ago.
Whoever keeps what was read notes a `Mark` before the read, and may use it while the collections
it came from are at the versions of that mark. Where the stream was lost, or has not confirmed for
a while that nothing was missed, no version is known, and everything must be read anew.

The invariant: a read that begins after its mark sees every write that the stream does not report
after that mark. It sees those before the stream's start, because the stream opens only once
majority reads see them (`driver.tailing`), and those reported before the mark, because the stream
reports only what majority reads see. See docs/decisions/server/response-cache.md, "No write is
lost".
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from pymongo.errors import PyMongoError

from storage import keys
from storage.cache.write_counter import WriteCounter
from storage.catalog import KINDS
from storage.mongo import driver
from storage.mongo.tasks import cancel_and_wait

POLL_MS = 200
CONFIRMATION_TTL_SECONDS = 0.6
RETRY_SECONDS = 0.2
FOLLOWED_COLLECTIONS = (*(kind.name for kind in KINDS), keys.KEYS_COLLECTION)

logger = logging.getLogger("floorgate.changes")

_IN_FOLLOWED_COLLECTIONS = {"$in": list(FOLLOWED_COLLECTIONS)}
_PIPELINE = [
    {
        "$match": {
            "$or": [
                {"ns.coll": _IN_FOLLOWED_COLLECTIONS},
                {"to.coll": _IN_FOLLOWED_COLLECTIONS},
                {"ns.coll": {"$exists": False}},
            ]
        }
    },
    {"$project": {"ns.coll": 1, "to.coll": 1}},
]
"""A renamed collection takes the place of the one it is renamed `to`. What concerns a whole
database, such as that it was dropped, names no collection."""


class VersionSnapshot(NamedTuple):
    """A moment, as far as changes were known at it."""

    versions: dict[str, int]
    write_counts: bytes


class ChangeFeed:
    """Follows the changes of one database."""

    def __init__(self, database: driver.Database, counter: WriteCounter | None = None) -> None:
        self._database = database
        self._write_counter = counter or WriteCounter.for_single_process()
        self._confirmed_at = float("-inf")
        self._versions = dict.fromkeys(FOLLOWED_COLLECTIONS, 0)

    def take_snapshot(self) -> VersionSnapshot | None:
        """The versions now; None while changes may go unnoticed."""
        # The loop's own time stands still while a callback runs, however long that takes.
        if time.monotonic() - self._confirmed_at >= CONFIRMATION_TTL_SECONDS:
            return None
        return VersionSnapshot(self._versions, self._write_counter.read())

    def count_write(self) -> None:
        """Says that this gateway has just written, whatever it was."""
        self._write_counter.increment()

    @asynccontextmanager
    async def run(self) -> AsyncIterator["ChangeFeed"]:
        """Follows the database meanwhile."""
        task = asyncio.create_task(self._follow())
        try:
            yield self
        finally:
            await cancel_and_wait(task)
            self._confirmed_at = float("-inf")

    async def _follow(self) -> None:
        while True:
            try:
                async with driver.tail_changes(self._database, _PIPELINE, POLL_MS) as batches:
                    self._bump_versions(
                        FOLLOWED_COLLECTIONS
                    )  # anything may have changed until the stream began
                    asked_at = time.monotonic()
                    async for batch in batches:
                        if batch:
                            self._bump_versions(_changed_collections(batch))
                        self._confirmed_at, asked_at = asked_at, time.monotonic()
            except PyMongoError as error:
                logger.warning("the change stream ended: %s", type(error).__name__)
            self._confirmed_at = float("-inf")
            await asyncio.sleep(RETRY_SECONDS)

    def _bump_versions(self, collections: Iterable[str]) -> None:
        # A new mapping each time: the marks hold the old ones.
        self._versions = self._versions | {name: self._versions[name] + 1 for name in collections}


def is_unchanged_since(
    before: VersionSnapshot, now: VersionSnapshot, collections: Collection[str]
) -> bool:
    """Whether nothing has changed in these collections from one mark to another."""
    if before.write_counts != now.write_counts:
        return False
    if before.versions is now.versions:
        return True
    return all(before.versions[name] == now.versions[name] for name in collections)


def _changed_collections(batch: list[dict[str, Any]]) -> set[str]:
    names = {event.get("ns", {}).get("coll") for event in batch}
    names |= {event["to"]["coll"] for event in batch if "to" in event}
    return set(FOLLOWED_COLLECTIONS) if None in names else names.intersection(FOLLOWED_COLLECTIONS)
