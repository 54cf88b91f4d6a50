"""Count how operations run, and log which ones graphql-core has to run."""

import asyncio
import logging
import time
from typing import NamedTuple

from resolvers.request.caching import Cache

MAX_LOGGED_REASONS = 100
"""Operations and reasons that are remembered, so that each is logged once in a while."""
MAX_LINES_PER_INTERVAL = 10
LOG_INTERVAL_SECONDS = 60.0

_logger = logging.getLogger("floorgate.graphql")


class ExecutionCounts(NamedTuple):
    """How many operations ran in which way, since the start."""

    compiled: int = 0
    interpreted: int = 0
    """By graphql-core, because the compiler does not support them."""


class ExecutionCounters:
    """Counts of operations. An operation that is interpreted is logged, at a bounded rate.

    >>> counters = ExecutionCounters()
    >>> counters.count_compiled()
    >>> counters.counts
    ExecutionCounts(compiled=1, interpreted=0)
    """

    def __init__(self) -> None:
        self._compiled = 0
        self._interpreted = 0
        self._logged: Cache[tuple[str | None, str], float] = Cache(max_entries=MAX_LOGGED_REASONS)
        self._interval_end = 0.0
        self._lines = 0

    @property
    def counts(self) -> ExecutionCounts:
        """The counts so far."""
        return ExecutionCounts(self._compiled, self._interpreted)

    async def report_periodically(self) -> None:
        """Log the counts once a minute if they have changed."""
        reported = ExecutionCounts()
        while True:
            await asyncio.sleep(LOG_INTERVAL_SECONDS)
            if self.counts != reported:
                reported = self.counts
                _logger.info("operations", extra={"fields": reported._asdict()})

    def count_compiled(self) -> None:
        """Count an operation that ran without graphql-core."""
        self._compiled += 1

    def count_interpreted(self, operation: str | None, reason: str) -> None:
        """Count an operation that graphql-core runs; log it once a minute for each reason."""
        self._interpreted += 1
        now = time.monotonic()
        if now >= self._interval_end:
            self._interval_end, self._lines = now + LOG_INTERVAL_SECONDS, 0
        logged_at = self._logged.get((operation, reason))
        is_recent = logged_at is not None and now - logged_at < LOG_INTERVAL_SECONDS
        if is_recent or self._lines >= MAX_LINES_PER_INTERVAL:
            return
        self._lines += 1
        self._logged.put((operation, reason), now)
        _logger.info(
            "operation interpreted", extra={"fields": {"operation": operation, "reason": reason}}
        )
