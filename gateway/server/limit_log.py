"""Log lines about clients at a limit: few, however many clients there are."""

import logging
import time

QUIET_SECONDS = 10.0
"""Between two lines about the same limit."""

_logger = logging.getLogger("floorgate.connections")


class LimitLog:
    """Logs the first event of a limit at once, and counts what follows until the next line."""

    def __init__(self) -> None:
        self._next_lines: dict[str, float] = {}
        self._counts: dict[str, int] = {}

    def note(self, limit: str, message: str, client: str | None) -> None:
        """Log that a client met a limit, or count it for the next line."""
        self._counts[limit] = self._counts.get(limit, 0) + 1
        now = time.monotonic()
        if now < self._next_lines.get(limit, 0.0):
            return
        self._next_lines[limit] = now + QUIET_SECONDS
        fields = {"limit": limit, "count": self._counts.pop(limit), "client": client}
        _logger.warning(message, extra={"fields": fields})
