"""Values of cells: what people type into a spreadsheet, as the values of a bundle.

A cell is None if it is empty, else text, a number, a boolean, a date or an error of the program.
"""

import math
from datetime import date, datetime, time, timedelta
from typing import Any, NamedTuple, TypeAlias

from storage.bundles.reading.tables.values.dates import DateOrder, parse_date, parse_day

MAX_CELL_CHARACTERS = 32_767
"""As in Excel."""
ERROR_VALUES = frozenset(
    ["#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!", "#SPILL!", "#CALC!"]
)
UNSAVED = "no saved value"
"""In place of the error: a formula that no program has calculated."""
INVISIBLE = "\ufeff\u200b\u200c\u200d\u2060"
BOOLEANS = {
    **dict.fromkeys(("true", "yes", "y", "1"), True),
    **dict.fromkeys(("false", "no", "n", "0"), False),
}


class ErrorCell(NamedTuple):
    """A cell that shows an error of the program, such as #REF!."""

    text: str


Cell: TypeAlias = str | float | bool | date | time | timedelta | ErrorCell | None


class CellError(Exception):
    """A cell does not have a value of the kind that its column needs."""


def clean(cell: Any) -> Cell:
    """Return a cell without blanks around its text; None if nothing is left. Raises CellError.

    >>> clean("\N{NO-BREAK SPACE}101 "), clean(" "), clean("#REF!")
    ('101', None, ErrorCell(text='#REF!'))
    """
    if not isinstance(cell, str):
        known: Cell = cell
        return known
    text = cell.strip().strip(INVISIBLE).strip()
    if len(text) > MAX_CELL_CHARACTERS:
        raise CellError(f"the cell has {len(text):,} characters; at most {MAX_CELL_CHARACTERS:,}")
    return ErrorCell(text) if text in ERROR_VALUES else text or None


def to_text(cell: Cell) -> str:
    """Return a cell as text, as a program would show it without a number format.

    >>> to_text(101.0), to_text("0101"), to_text(1.5), to_text(True), to_text(date(2026, 1, 31))
    ('101', '0101', '1.5', 'TRUE', '2026-01-31')
    """
    match cell:
        case str():
            return cell
        case None:
            return ""
        case ErrorCell() if cell.text == UNSAVED:
            raise CellError(
                "the formula has no saved value; open the workbook in a spreadsheet program, and"
                " save it"
            )
        case ErrorCell():
            raise CellError(f"the cell shows the error {cell.text}; correct its formula")
        case bool():
            return str(cell).upper()
        case datetime():
            at_midnight = cell.time() == time()
            return cell.date().isoformat() if at_midnight else cell.isoformat(" ", "seconds")
        case date() | time():
            return cell.isoformat()
        case timedelta():
            minutes, seconds = divmod(round(cell.total_seconds()), 60)
            return f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}"
        case _:
            number = float(cell)
            return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def to_number(cell: Cell) -> float:
    """Return a cell as a number. Raises CellError.

    >>> to_number("1240.5")
    1240.5
    """
    if isinstance(cell, float | int) and not isinstance(cell, bool):
        return cell
    text = to_text(cell)
    try:
        number = float(text)
        if not text.isascii() or "_" in text or not math.isfinite(number):
            raise ValueError(text)
        return number
    except ValueError as error:
        hint = "; write it without separators of thousands and with a point" if "," in text else ""
        raise CellError(f'expected a number, not "{text}"{hint}') from error


def to_integer(cell: Cell) -> int:
    """Return a cell as a whole number. Raises CellError."""
    number = to_number(cell)
    if not float(number).is_integer():
        raise CellError(f"expected a whole number, not {to_text(cell)}")
    return int(number)


def to_boolean(cell: Cell) -> bool:
    """Return a cell as a boolean. Raises CellError.

    >>> to_boolean("Yes"), to_boolean(False), to_boolean(1.0)
    (True, False, True)
    """
    text = to_text(cell)
    if (value := BOOLEANS.get(text.casefold())) is None:
        raise CellError(f'expected TRUE or FALSE (or yes, no), not "{text}"')
    return value


def to_timestamp(cell: Cell, order: DateOrder | None) -> str:
    """Return a cell as ISO 8601 text; without an offset, in UTC. Raises CellError."""
    if isinstance(cell, datetime):
        return cell.isoformat(timespec="seconds") + "+00:00"
    if isinstance(cell, date):
        return f"{cell.isoformat()}T00:00:00+00:00"
    try:
        return parse_date(to_text(cell), order)
    except ValueError as error:
        raise CellError(str(error)) from error


def to_day(text: str, order: DateOrder | None) -> str:
    """Return the date in a text, without its time: `2026-01-31`. Raises CellError."""
    try:
        return parse_day(text, order)
    except ValueError as error:
        raise CellError(str(error)) from error
