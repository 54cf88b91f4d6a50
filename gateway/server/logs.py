"""Structured logging: one JSON object per line on standard error, with API keys redacted."""

import contextlib
import logging
import os
import queue
import sys
import threading
import time
import traceback
from datetime import UTC, datetime
from typing import Any, Literal

import orjson

from gateway.redaction import may_contain_secret, redact

LogFormat = Literal["json", "text"]

MAX_BACKLOG_LINES = 10_000
"""Lines that may wait for a stalled standard error. Further ones are dropped and counted."""
_BATCH_SECONDS = 0.05


class LogFormatter(logging.Formatter):
    """Format records as JSON, or as text for a terminal. `extra={"fields": {...}}` adds members."""

    def __init__(self, log_format: LogFormat = "json") -> None:
        super().__init__()
        self.log_format = log_format

    def format(self, record: logging.LogRecord) -> str:
        fields = _record_fields(record)
        try:
            line = orjson.dumps(fields, default=str)
        except TypeError:  # lone surrogates and integers over 64 bits
            fields = {name: _to_printable(value) for name, value in fields.items()}
            line = orjson.dumps(fields)
        if may_contain_secret(line):
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
    """Return the message, or its template if the arguments do not match it.

    logging would print the arguments to standard error, unredacted.
    """
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
    """Write lines from its own thread: a stalled terminal or pipe never blocks the event loop."""

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
            logging.getLogger("floorgate.server").warning("%d log lines were dropped", dropped)
        self._queue.put(self.format(record))

    def close(self) -> None:
        """Write the waiting lines, for a second at most."""
        self._queue.put(None)
        self._writer_thread.join(timeout=1)
        super().close()

    def _run_writer(self) -> None:
        """Write in batches: waking this thread for each line costs more than the line."""
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
        remaining = memoryview(data)
        with contextlib.suppress(OSError):  # the reader is gone; the service continues
            while remaining:
                remaining = remaining[os.write(self._file_descriptor, remaining) :]


def configure_logging(level: str = "info", log_format: LogFormat = "json") -> None:
    """Log every record of this process to stderr, with warnings and uncaught exceptions."""
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
    logging.raiseExceptions = False  # its report would print the arguments of the record
    sys.excepthook = lambda kind, error, trace: _log_uncaught(error)
    threading.excepthook = lambda uncaught: _log_uncaught(uncaught.exc_value)
    sys.unraisablehook = lambda unraisable: _log_uncaught(unraisable.exc_value)


def _disable_unused_record_fields() -> None:
    """Halve the cost of a record (Logging HOWTO, "Optimization")."""
    logging._srcfile = None
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False


def _log_uncaught(error: BaseException | None) -> None:
    logging.getLogger("floorgate").critical("Uncaught exception", exc_info=error)
