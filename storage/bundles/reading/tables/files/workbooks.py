"""Workbooks (.xlsx, .xls, .ods), read by a process of their own (`workbook_process`)."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from storage.bundles.reading.tables.files.sheets import (
    MAX_COLUMNS,
    MAX_ROWS,
    Row,
    Sheet,
    TableError,
    column_letters,
)
from storage.bundles.reading.tables.values.cells import Cell, CellError, ErrorCell, clean

PROGRAM = Path(__file__).with_name("workbook_process.py")
ZIP_MAGIC, OLE_MAGIC = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
ENDED_EARLY = (
    "the workbook needs too much memory or time to read: delete empty rows and columns that have a"
    " stray cell at their end, or save the sheet as CSV"
)
"""A process over its limits is killed, or ends without a word."""


def is_workbook(start: bytes) -> bool:
    """Return whether a file begins as a workbook does."""
    return start.startswith((ZIP_MAGIC, OLE_MAGIC))


def iter_sheets(content: bytes, name: str) -> Iterator[Sheet]:
    """Yield the sheets of a workbook; read the rows of one before the next. Raises TableError."""
    process = subprocess.Popen(
        [sys.executable, "-I", str(PROGRAM)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin and process.stdout
    threading.Thread(target=_feed, args=(process.stdin, content), daemon=True).start()
    try:
        yield from _Items(process.stdout, name).iter_sheets()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _feed(pipe: BinaryIO | Any, content: bytes) -> None:
    with suppress(BrokenPipeError), pipe:
        pipe.write(content)


class _Items:
    """What the process writes, a line each."""

    def __init__(self, lines: Any, name: str) -> None:
        self._lines = lines
        self._name = name
        self._decoder = msgspec.json.Decoder()
        self._next: Any = None

    def iter_sheets(self) -> Iterator[Sheet]:
        self._advance()
        notes = []
        while not self._next.get("end"):
            if note := self._next.get("note"):
                notes.append(note)
                self._advance()
                continue
            title = self._next["sheet"]
            place = f'{self._name}: sheet "{title}"'
            rows = self._iter_rows(place)
            self_hidden = self._next["hidden"]
            self._advance()
            yield Sheet(title, place, rows, self_hidden, notes)
            notes = []
            for _ in rows:  # what was not read
                pass

    def _advance(self) -> None:
        line = self._lines.readline()
        if not line.endswith(b"\n"):
            raise TableError(ENDED_EARLY)
        self._next = self._decoder.decode(line)
        if isinstance(self._next, dict) and "error" in self._next:
            raise TableError(self._next["error"])

    def _iter_rows(self, place: str) -> Iterator[Row]:
        while isinstance(self._next, list):
            number, copied, *cells = self._next
            if number > MAX_ROWS:
                raise TableError(f"there are more than {MAX_ROWS:,} rows", place)
            if len(cells) > MAX_COLUMNS:
                raise TableError(f"row {number} has over {MAX_COLUMNS} columns", place)
            decoded = [_decode(cell, place, number, at) for at, cell in enumerate(cells)]
            yield Row(number, decoded, frozenset(copied))
            self._advance()


def _decode(cell: Any, place: str, row: int, column: int) -> Cell:
    if isinstance(cell, dict):
        return _decode_special(cell)
    try:
        return clean(cell)
    except CellError as error:
        raise TableError(
            str(error), f"{place}, row {row}, column {column_letters(column)}"
        ) from error


def _decode_special(cell: dict[str, Any]) -> Cell:
    if "error" in cell:
        return ErrorCell(cell["error"])
    if "seconds" in cell:
        return timedelta(seconds=cell["seconds"])
    text = cell["date"]
    if "T" in text:
        return datetime.fromisoformat(text)
    return time.fromisoformat(text) if ":" in text else date.fromisoformat(text)
