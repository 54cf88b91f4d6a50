"""Spreadsheets for tests, made in memory, and what is read from them."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import xlsxwriter

from storage.bundles.violations import Violations
from storage.importing.batches import read_batches
from storage.spreadsheets.mapping_file import parse_mapping
from storage.spreadsheets.reader import Spreadsheet, TableReader

Rows = Sequence[Sequence[Any]]


class Read(NamedTuple):
    """What spreadsheets hold."""

    members: dict[str, list[dict[str, Any]]]
    errors: list[str]
    notes: list[str]
    kept: dict[str, set[tuple[str, ...]]]

    def ids(self, kind: str) -> list[str]:
        return [member["_id"] for member in self.members.get(kind, [])]


def read(*paths: Path, mapping: Any = None, groups: Sequence[dict[str, Any]] = ()) -> Read:
    """Read files as an import does; names in messages are without their folder."""
    violations, tables = Violations(), TableReader(groups)
    members: dict[str, list[dict[str, Any]]] = {}
    kept: dict[str, set[tuple[str, ...]]] = {}
    parsed = parse_mapping(mapping or {})
    sources = [Spreadsheet(path, parsed) for path in paths]
    for batch in read_batches(sources, violations, tables):
        for member in batch.members:
            members.setdefault(member.kind.name, []).append(member.document)
            kept.setdefault(member.kind.name, set()).add(member.kept_fields)
    folder = f"{paths[0].parent}/"
    errors = [str(each).replace(folder, "") for each in violations.list_first()]
    return Read(members, errors, [note.replace(folder, "") for note in tables.notes], kept)


def write_csv(path: Path, rows: Rows, encoding: str = "utf-8", delimiter: str = ",") -> Path:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter).writerows(rows)
    path.write_bytes(text.getvalue().encode(encoding))
    return path


def write_xlsx(
    path: Path, sheets: Mapping[str, Rows], finish: Callable[[Any], None] = lambda book: None
) -> Path:
    book = xlsxwriter.Workbook(str(path), {"default_date_format": "yyyy-mm-dd"})
    for title, rows in sheets.items():
        sheet = book.add_worksheet(title)
        for number, row in enumerate(rows):
            sheet.write_row(number, 0, row)
    finish(book)
    book.close()
    return path


RENT_ROLL_HEADERS = [
    *("Property", "Building", "Floor", "Unit #", "Bed", "Bath", "SqFt", "Rent"),
    *("Available From", "Status", "Floor Plan", "PMS Unit ID"),
]


def rent_roll(floors: int = 12, units: int = 25) -> list[list[str]]:
    """A table of apartments as a property manager exports it, its headers first."""
    rows = [RENT_ROLL_HEADERS]
    for floor in range(1, floors + 1):
        for number in range(1, units + 1):
            name = f"{floor}{number:02}"
            facts = [f"{number % 3}", f"{1 + number % 2 * 0.5}", f"{500 + number}", "$1,500"]
            status = "Vacant" if number % 2 else "Occupied"
            rows.append(
                ["Oak Street", "", f"{floor}", name, *facts, "1/31/2026", status, "A1", f"P-{name}"]
            )
    return rows
