"""Structured logging: one JSON object a line on standard error, in which no API key survives."""

import contextlib
import logging
import os
import queue
import re
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

import orjson

LogFormat = Literal["json", "text"]

MAX_BACKLOG_LINES = 10_000
"""Lines that may wait for a stalled standard error; later ones are dropped and counted."""
_BATCH_SECONDS = 0.05

# A key as it stands, a percent-encoded one, and any run long enough to be a key without its prefix.
_SECRET = re.compile(
    r"(?:f|%66)(?:g|%67)(?:k|%6b)(?:_|%5f)(?:[0-9a-z]|%[0-9a-f]{2})+|[0-9a-z]{40,}", re.IGNORECASE
)
_REDACTED = "[redacted]"
_LONG_RUN = b"a" * 40
_ALPHANUMERIC_TABLE = bytes(97 if chr(byte).isalnum() and byte < 128 else 46 for byte in range(256))


def redact(value: Any) -> Any:
    """The value with everything that looks like an API key replaced, in nested containers too."""
    if isinstance(value, str):
        return _SECRET.sub(_REDACTED, value)
    if isinstance(value, Mapping):
        return {redact(str(name)): redact(member) for name, member in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [redact(member) for member in value]
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return redact(str(value))


def contains_secret(value: str) -> bool:
    """Whether the value holds what looks like an API key."""
    return _SECRET.search(value) is not None


def _may_contain_secret(line: bytes) -> bool:
    """Whether a search for secrets is worth its time, which is sixty times that of this test."""
    return (
        b"fgk" in line.lower() or b"%" in line or _LONG_RUN in line.translate(_ALPHANUMERIC_TABLE)
    )


class LogFormatter(logging.Formatter):
    """Records as JSON, or as text for a terminal; `extra={"fields": {...}}` adds members."""

    def __init__(self, log_format: LogFormat = "json") -> None:
        super().__init__()
        self.log_format = log_format

    def format(self, record: logging.LogRecord) -> str:
        fields = _record_fields(record)
        try:
            line = orjson.dumps(fields, default=str)
        except TypeError:  # a lone surrogate is no UTF-8, an integer may be over 64 bits
            fields = {name: _to_printable(value) for name, value in fields.items()}
            line = orjson.dumps(fields)
        if _may_contain_secret(line):
            fields = redact(orjson.loads(line))
            line = orjson.dumps(fields)
        return _to_text_line(orjson.loads(line)) if self.log_format == "text" else line.decode()


def _record_fields(record: logging.LogRecord) -> dict[str, Any]:
    fields = {
        "time": datetime.fromtimestamp(record.created, UTC),
        "level": record.levelname.lower(),
        "logger": record.name,
        "message": _format_message(record),
        "pid": os.getpid(),
        **getattr(record, "fields", {}),
    }
    if record.exc_info and record.exc_info[1] is not None:
        fields["exception"] = "".join(traceback.format_exception(record.exc_info[1]))
    return fields


def _format_message(record: logging.LogRecord) -> str:
    """The message; one whose arguments do not fit must not print them elsewhere."""
    try:
        return record.getMessage().strip()
    except Exception:
        return str(record.msg)


def _to_printable(value: Any) -> str:
    return str(value).encode("utf-8", "backslashreplace").decode()


def _to_text_line(fields: dict[str, Any]) -> str:
    head = f"{fields.pop('time')} {fields.pop('level'):<8}{fields.pop('message')}"
    trace = fields.pop("exception", "")
    rest = " ".join(f"{name}={value}" for name, value in fields.items() if value is not None)
    return f"{head}  {rest}\n{trace}".rstrip()


class LogHandler(logging.Handler):
    """Writes lines from a thread of its own: a stalled terminal or pipe never stalls the loop."""

    def __init__(self, file_descriptor: int, max_backlog_lines: int = MAX_BACKLOG_LINES) -> None:
        super().__init__()
        self._file_descriptor = file_descriptor
        self._max_backlog_lines = max_backlog_lines
        self._queue: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._dropped_lines = 0
        self._writer_thread = threading.Thread(
            target=self._run_writer, name="log writer", daemon=True
        )
        self._writer_thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        if self._queue.qsize() >= self._max_backlog_lines:
            self._dropped_lines += 1
            return
        if self._dropped_lines:
            dropped = self._dropped_lines
            self._dropped_lines = 0
            logging.getLogger(__name__).warning("%d log lines were dropped", dropped)
        self._queue.put(self.format(record))

    def close(self) -> None:
        """Writes what is waiting, for a second at most."""
        self._queue.put(None)
        self._writer_thread.join(timeout=1)
        super().close()

    def _run_writer(self) -> None:
        """Writes in batches: waking this thread for each line would cost more than the line."""
        line = self._queue.get()
        while line is not None:
            time.sleep(_BATCH_SECONDS)
            batch = []
            while line is not None:
                batch.append(line)
                try:
                    line = self._queue.get_nowait()
                except queue.Empty:
                    break
            self._write_all("\n".join([*batch, ""]).encode())
            if line is not None:
                line = self._queue.get()

    def _write_all(self, data: bytes) -> None:
        left = memoryview(data)
        with contextlib.suppress(OSError):  # nobody reads any more: the service goes on
            while left:
                left = left[os.write(self._file_descriptor, left) :]


def configure_logging(level: str = "info", log_format: LogFormat = "json") -> None:
    """Sends every record of this process, warnings and uncaught exceptions included, to stderr."""
    handler = LogHandler(sys.stderr.fileno())
    handler.setFormatter(LogFormatter(log_format))
    root = logging.getLogger()
    for previous in root.handlers[:]:
        root.removeHandler(previous)
        previous.close()
    root.addHandler(handler)
    root.setLevel(level.upper())
    logging.getLogger("uvicorn.error").setLevel(max(root.level, logging.WARNING))
    logging.captureWarnings(True)
    _disable_unused_record_fields()
    logging.raiseExceptions = False  # its report would show the arguments of the record
    sys.excepthook = lambda kind, error, trace: _log_uncaught(error)
    threading.excepthook = lambda uncaught: _log_uncaught(uncaught.exc_value)
    sys.unraisablehook = lambda unraisable: _log_uncaught(unraisable.exc_value)


def _disable_unused_record_fields() -> None:
    """Halves the cost of a record, as the logging HOWTO's section on optimization describes."""
    logging._srcfile = None
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False


def _log_uncaught(error: BaseException | None) -> None:
    logging.getLogger("floorgate").critical("Uncaught exception", exc_info=error)
