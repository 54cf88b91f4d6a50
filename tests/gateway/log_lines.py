"""What a logger writes, line by line as the operator reads it."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson

from gateway.server.logs import LogFormatter


class LogLines(logging.Handler):
    """Keeps the lines as they would be written."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(LogFormatter())
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(self.format(record))

    def last(self) -> dict[str, Any]:
        line: dict[str, Any] = orjson.loads(self.texts[-1])
        return line


@contextmanager
def capture_log_lines(logger: logging.Logger, level: int) -> Iterator[LogLines]:
    """Keep what is logged from this level on, and leave the logger as it was."""
    handler, previous = LogLines(), logger.level
    logger.addHandler(handler)
    logger.setLevel(level)
    try:
        yield handler
    finally:
        logger.removeHandler(handler)
        logger.setLevel(previous)
