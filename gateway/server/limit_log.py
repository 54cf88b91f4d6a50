"""Log lines about clients at a limit: few, however many clients there are."""

import asyncio
import logging
from dataclasses import dataclass

QUIET_SECONDS = 10.0
"""Between two lines about the same limit."""


@dataclass(slots=True)
class _Unlogged:
    """What happened at a limit since its last line: how often, and what was the last."""

    count: int = 0
    message: str = ""
    client: str | None = None
    cause: str | None = None


class LimitLog:
    """Logs the first event of a limit at once, and how many followed when the time of quiet ends.

    Used in an event loop.
    """

    def __init__(self, logger_name: str) -> None:
        self._logger = logging.getLogger(logger_name)
        self._unlogged: dict[str, _Unlogged] = {}
        """By limit, for those that had a line a moment ago."""

    def note(self, limit: str, message: str, client: str | None, cause: str | None = None) -> None:
        """Log that a client met a limit, or count it for the next line. Of a 503 with its cause."""
        unlogged = self._unlogged.get(limit)
        if unlogged is None:
            self._write(limit, _Unlogged(1, message, client, cause))
        else:
            unlogged.count += 1
            unlogged.message, unlogged.client, unlogged.cause = message, client, cause

    def _write(self, limit: str, events: _Unlogged) -> None:
        fields = {"limit": limit, "count": events.count, "client": events.client}
        if events.cause is not None:
            fields["cause"] = events.cause
        self._logger.warning(events.message, extra={"fields": fields})
        self._unlogged[limit] = _Unlogged()
        asyncio.get_running_loop().call_later(QUIET_SECONDS, self._end_quiet, limit)

    def _end_quiet(self, limit: str) -> None:
        unlogged = self._unlogged.pop(limit)
        if unlogged.count:
            self._write(limit, unlogged)
