"""Answers kept in memory: exact, because what MongoDB tells of changes ends them.

An answer is kept under what it answers and for whom: the operation, its variables, and the assets
that the caller sees; callers who see the same share it. With it are kept the collections that it
was read from and the mark noted before the read, so that a change told meanwhile ends it too.
While changes may go unnoticed nothing is kept and nothing kept is used.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace

from starlette.responses import Response
from starlette.types import ASGIApp

from gateway.ready import Ready
from resolvers.context import Context
from rest.endpoints import Key
from storage.changes import Changes, Mark, is_same
from storage.tasks import end

REPORT_SECONDS = 60.0

logger = logging.getLogger("floorgate.answers")


@dataclass(slots=True)
class Counters:
    """How the answers served so far came about, and what is kept now."""

    kept: int = 0
    """Answered from memory."""
    made: int = 0
    """Answered by running the operation."""
    ended: int = 0
    """Ended by a change."""
    evicted: int = 0
    """Gave way to others."""
    entries: int = 0
    size_bytes: int = 0


@dataclass(slots=True)
class _Entry:
    ready: Ready
    names: frozenset[str]
    mark: Mark
    key_bytes: int
    size_bytes: int = 0
    """As it was counted."""


class Answers:
    """Complete answers by what they answer; the least recently used give way."""

    def __init__(self, changes: Changes, most_bytes: int) -> None:
        self.counters = Counters()
        self._changes = changes
        self._most_bytes = most_bytes
        self._entries: OrderedDict[Key, _Entry] = OrderedDict()

    @asynccontextmanager
    async def reported(self) -> AsyncIterator["Answers"]:
        """Logs the counters once a minute meanwhile, where they have changed."""
        reporting = asyncio.create_task(self._report_often())
        try:
            yield self
        finally:
            await end(reporting)

    async def _report_often(self) -> None:
        reported = Counters()
        while True:
            await asyncio.sleep(REPORT_SECONDS)
            if self.counters != reported:
                reported = replace(self.counters)
                logger.info("answers", extra={"fields": asdict(reported)})

    async def of(
        self, key: Key, context: Context, make: Callable[[], Awaitable[Response]]
    ) -> ASGIApp:
        """The answer kept under `key`, else the one made now, which is kept if it may be.

        `make` reads with `context`, which says afterwards where the answer came from.
        """
        if (ready := self.find(key)) is not None:
            return ready
        self.counters.made += 1
        if not self._most_bytes:
            return await make()
        mark = self._changes.mark()
        response = await make()
        is_whole = context.is_kept_track_of and bool(context.read)
        if mark is None or not is_whole or response.status_code != 200:
            return response
        ready = Ready(response.raw_headers, bytes(response.body), key, self._grew)
        entry = _Entry(ready, frozenset(context.read), mark, _key_bytes(key))
        if entry.key_bytes + ready.size_bytes > self._most_bytes:  # all others would give way
            return response
        self._keep(key, entry)
        return ready

    def find(self, key: Key) -> Ready | None:
        """The answer kept under `key`, if it is still true."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        now = self._changes.mark()
        if now is None:
            return None
        if not is_same(entry.mark, now, entry.names):
            self._drop(key)
            self.counters.ended += 1
            return None
        entry.mark = now  # compared by identity next time
        self._entries.move_to_end(key)
        self.counters.kept += 1
        return entry.ready

    def _keep(self, key: Key, entry: _Entry) -> None:
        if key in self._entries:
            self._drop(key)
        self._entries[key] = entry
        self.counters.entries += 1
        self._weigh(entry)

    def _grew(self, key: Key) -> None:
        if (entry := self._entries.get(key)) is not None:
            self._weigh(entry)

    def _weigh(self, entry: _Entry) -> None:
        """Counts what an answer takes, which grows when it is coded, and makes room for it."""
        size_bytes = entry.key_bytes + entry.ready.size_bytes
        if size_bytes == entry.size_bytes:
            return
        self.counters.size_bytes += size_bytes - entry.size_bytes
        entry.size_bytes = size_bytes
        while self.counters.size_bytes > self._most_bytes:
            self._drop(next(iter(self._entries)))
            self.counters.evicted += 1

    def _drop(self, key: Key) -> None:
        entry = self._entries.pop(key)
        self.counters.entries -= 1
        self.counters.size_bytes -= entry.size_bytes


def _key_bytes(key: Key) -> int:
    return sum(len(part) for part in key if isinstance(part, (str, bytes)))
