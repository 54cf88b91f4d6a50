"""Structured logging: one JSON object per line on standard error or in a file, without API keys."""

import contextlib
import logging
import os
import queue
import re
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import orjson

from gateway.errors import StartError

# A literal key, a percent-encoded one, and any run long enough to be a key without its prefix.
_SECRET = re.compile(
    r"(?:f|%66)(?:g|%67)(?:k|%6b)(?:_|%5f)(?:[0-9a-z]|%[0-9a-f]{2})+|[0-9a-z]{40,}", re.IGNORECASE
)
_REDACTED = "[redacted]"
_LONG_RUN = b"a" * 40
_ALPHANUMERIC_TABLE = bytes(97 if chr(byte).isalnum() and byte < 128 else 46 for byte in range(256))


def redact(value: Any) -> Any:
    """Return the value with every API key replaced, in nested containers and their keys too.

    >>> redact({"query": "api-key=fgk_1a2b3c&page=2"})
    {'query': 'api-key=[redacted]&page=2'}
    """
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
    """Return whether the value contains what looks like an API key."""
    return _SECRET.search(value) is not None


def may_contain_secret(line: bytes) -> bool:
    """Return False if the line certainly contains no API key: sixty times faster than a search."""
    return (
        b"fgk" in line.lower() or b"%" in line or _LONG_RUN in line.translate(_ALPHANUMERIC_TABLE)
    )


LogFormat = Literal["json", "text"]

MAX_BACKLOG_LINES = 10_000
"""Lines that may wait for a stalled terminal or disk. Further ones are dropped and counted."""
MAX_BATCH_LINES = 100
"""Lines that the writer formats before others may run: a millisecond of work at most."""
_BATCH_SECONDS = 0.05


class LogFormatter(logging.Formatter):
    """Format records as JSON, or as text for a terminal. `extra={"fields": {...}}` adds members."""

    def __init__(self, log_format: LogFormat = "json") -> None:
        super().__init__()
        self.log_format = log_format
        self._pid = os.getpid()  # a system call; no process that logs is forked from another one

    def format(self, record: logging.LogRecord) -> str:
        fields = self._list_fields(record)
        try:
            line = orjson.dumps(fields, default=str)
        except TypeError:  # lone surrogates and integers over 64 bits
            line = orjson.dumps(
                {
                    name: str(value).encode("utf-8", "backslashreplace").decode()
                    for name, value in fields.items()
                }
            )
        if may_contain_secret(line):
            fields = redact(orjson.loads(line))
            line = orjson.dumps(fields)
        return _to_text_line(orjson.loads(line)) if self.log_format == "text" else line.decode()

    def format_batch(self, batch: Sequence[str | logging.LogRecord]) -> bytes:
        """Return the lines of records, and lines that are formatted already, each with its end.

        To look for keys in many lines at once takes half the time.
        """
        if self.log_format == "json":
            with contextlib.suppress(TypeError):
                lines = b"".join([self._to_json_line(each) for each in batch])
                if not may_contain_secret(lines):
                    return lines
        lines_of_text = [each if isinstance(each, str) else self.format(each) for each in batch]
        return "\n".join([*lines_of_text, ""]).encode()

    def _to_json_line(self, each: str | logging.LogRecord) -> bytes:
        if isinstance(each, str):
            return each.encode() + b"\n"
        fields = self._list_fields(each)
        return orjson.dumps(fields, default=str, option=orjson.OPT_APPEND_NEWLINE)

    def _list_fields(self, record: logging.LogRecord) -> dict[str, Any]:
        fields = {
            "time": datetime.fromtimestamp(record.created, UTC),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _format_message(record),
            "pid": self._pid,
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


def _to_text_line(fields: dict[str, Any]) -> str:
    head = f"{fields.pop('time')} {fields.pop('level'):<8}{fields.pop('message')}"
    trace = fields.pop("exception", "")
    rest = " ".join(f"{name}={value}" for name, value in fields.items() if value is not None)
    return f"{head}  {rest}\n{trace}".rstrip()


class LogFile:
    """A file that several processes append to, and that others may rename (logrotate, `mv`)."""

    def __init__(self, path: Path) -> None:
        """Open the file, or create it. Raises StartError."""
        self._path = path
        try:
            self._descriptor = self._open()
        except OSError as error:
            is_missing = isinstance(error, FileNotFoundError)
            reason = "its directory does not exist" if is_missing else error.strerror
            raise StartError(f"--log-file {path} cannot be written: {reason}") from error

    def _open(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o640)

    def fileno(self) -> int:
        """Return the descriptor of the file that has the path now.

        Where none can be opened, that of the file which had it: no line is lost.
        """
        with contextlib.suppress(OSError):
            if not self._has_path():
                renamed, self._descriptor = self._descriptor, self._open()
                os.close(renamed)
        return self._descriptor

    def _has_path(self) -> bool:
        try:
            return os.path.samestat(self._path.stat(), os.fstat(self._descriptor))
        except FileNotFoundError:
            return False


def check_log_file(path: Path) -> None:
    """Raise StartError if a log file cannot be written."""
    os.close(LogFile(path).fileno())


class LogHandler(logging.Handler):
    """Write lines from its own thread: a stalled terminal or pipe never blocks the event loop."""

    def __init__(
        self, get_descriptor: Callable[[], int], max_backlog_lines: int = MAX_BACKLOG_LINES
    ) -> None:
        """`get_descriptor` is asked before each write, which is of whole lines."""
        super().__init__()
        self._get_descriptor = get_descriptor
        self._max_backlog_lines = max_backlog_lines
        self._formatter = LogFormatter()
        self._backlog: deque[str | logging.LogRecord] = deque()
        self._wakeups: queue.SimpleQueue[bool] = queue.SimpleQueue()
        """True when there are lines, False when there will be no more."""
        self._is_woken = False
        self._dropped_lines = 0
        self._lost_lines = 0
        """Lines for which there was no room on the disk, or no reader."""
        self._is_torn = False
        """True if the last line is not written to its end."""
        self._writer_thread = threading.Thread(
            target=self._run_writer, name="log writer", daemon=True
        )
        self._writer_thread.start()

    def setFormatter(self, formatter: logging.Formatter | None) -> None:
        assert isinstance(formatter, LogFormatter)
        self._formatter = formatter

    def emit(self, record: logging.LogRecord) -> None:
        if len(self._backlog) >= self._max_backlog_lines:
            self._dropped_lines += 1
            return
        if self._dropped_lines:
            dropped = self._dropped_lines
            self._dropped_lines = 0
            logging.getLogger("floorgate.server").warning("%d log lines were dropped", dropped)
        is_final = getattr(record, "is_final", False)
        self._backlog.append(record if is_final else self._formatter.format(record))
        if not self._is_woken:
            self._is_woken = True
            self._wakeups.put(True)

    def close(self) -> None:
        """Write the waiting lines, for a second at most."""
        self._wakeups.put(False)
        self._writer_thread.join(timeout=1)
        super().close()

    def _run_writer(self) -> None:
        """Write in batches: waking this thread for each line costs more than the line."""
        while self._wakeups.get():
            time.sleep(_BATCH_SECONDS)
            self._is_woken = False  # before the last look: what is added after it wakes us again
            self._write_backlog()
        self._write_backlog()

    def _write_backlog(self) -> None:
        while self._backlog:
            count = min(len(self._backlog), MAX_BATCH_LINES)
            batch = [self._backlog.popleft() for _ in range(count)]
            self._write_all(self._formatter.format_batch(batch))

    def _write_all(self, data: bytes) -> None:
        """Write lines, after one that says how many could not be written before."""
        if self._lost_lines and self._write(self._format_loss()):
            self._lost_lines += data.count(b"\n")
            return
        self._lost_lines = self._write(data).count(b"\n")

    def _format_loss(self) -> bytes:
        logger = logging.getLogger("floorgate.server")
        message, given = "%d log lines could not be written", (self._lost_lines,)
        record = logger.makeRecord(logger.name, logging.WARNING, "", 0, message, given, None)
        return self._formatter.format(record).encode() + b"\n"

    def _write(self, data: bytes) -> bytes:
        """Return what could not be written: the service continues without it."""
        data = b"\n" * self._is_torn + data
        remaining = memoryview(data)
        descriptor = self._get_descriptor()
        with contextlib.suppress(OSError):
            while remaining:
                remaining = remaining[os.write(descriptor, remaining) :]
        if written := data[: len(data) - len(remaining)]:
            self._is_torn = not written.endswith(b"\n")
        return bytes(remaining)


def configure_logging(
    level: str = "info", log_format: LogFormat = "json", log_file: Path | None = None
) -> None:
    """Log every record of this process to stderr or a file, with warnings and uncaught exceptions.

    Raises StartError if the file cannot be written.
    """
    handler = LogHandler(sys.stderr.fileno if log_file is None else LogFile(log_file).fileno)
    handler.setFormatter(LogFormatter(log_format))
    root = logging.getLogger()
    for previous in root.handlers[:]:
        root.removeHandler(previous)
        previous.close()
    root.addHandler(handler)
    root.setLevel(level.upper())
    logging.getLogger("uvicorn.error").setLevel(max(root.level, logging.WARNING))
    logging.captureWarnings(True)
    logging._srcfile = None  # halves the cost of a record (Logging HOWTO, "Optimization")
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging.raiseExceptions = False  # its report would print the arguments of the record
    sys.excepthook = lambda kind, error, trace: _log_uncaught(error)
    threading.excepthook = lambda uncaught: _log_uncaught(uncaught.exc_value)
    sys.unraisablehook = lambda unraisable: _log_uncaught(unraisable.exc_value)


def _log_uncaught(error: BaseException | None) -> None:
    logging.getLogger("floorgate").critical("Uncaught exception", exc_info=error)
