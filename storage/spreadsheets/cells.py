"""Values of cells: what people type into a spreadsheet, as the values of a bundle.

A cell is None if it is empty, else text, a number, a boolean, a date or an error of the program.
"""

import math
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias

MAX_CELL_CHARACTERS = 32_767
"""Excel has the same limit."""
ERROR_VALUES = frozenset(
    ["#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!", "#SPILL!", "#CALC!"]
)
UNSAVED = "no saved value"
"""A formula that no program has calculated has this in place of an error."""
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


MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


class DateOrder(StrEnum):
    """The order of the day and the month in `3/1/2026`."""

    DAY_FIRST = "day-first"
    MONTH_FIRST = "month-first"


EXPECTED_DATE = "expected a date such as 2026-01-31 or 31 January 2026"
_TIME = r"(?:[ T,]+(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.\d+)?)?)?"
_OFFSET = r"(?:\s*(?P<offset>Z|UTC|[+-]\d\d:?\d\d))?"
_FORMS = [
    re.compile(form + _TIME + _OFFSET, re.IGNORECASE)
    for form in (
        r"(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})",
        r"(?P<day>\d{1,2})\.\s?(?P<month>\d{1,2})\.\s?(?P<year>\d{4})",
        r"(?P<first>\d{1,2})[/-](?P<second_part>\d{1,2})[/-](?P<year>\d{4})",
        r"(?P<day>\d{1,2})(?:st|nd|rd|th)?[ .-]+(?P<name>[a-z]{3,9})\.?[ ,-]+(?P<year>\d{4})",
        r"(?P<name>[a-z]{3,9})\.?[ -]+(?P<day>\d{1,2})(?:st|nd|rd|th)?,?[ -]+(?P<year>\d{4})",
    )
]


_SHORT_YEAR = re.compile(
    r"(\d{1,2}[/.-]\s?\d{1,2}[/.-]\s?|\d{1,2}[ .-]+[a-z]{3,9}[ .,-]+|[a-z]{3,9}[ .-]+\d{1,2}[ ,-]+)"
    r"'?\d\d(?!\d).*",
    re.IGNORECASE,
)


def parse_date(text: str, order: DateOrder | None = None) -> str:
    """Return a date, with or without a time, as ISO 8601; in UTC if it has no offset.

    `31.1.2026` has the day first. Raises CellError for what has several meanings.

    >>> parse_date("31 January 2026"), parse_date("1/31/2026 09:30")
    ('2026-01-31T00:00:00+00:00', '2026-01-31T09:30:00+00:00')
    >>> parse_date("3/1/2026", DateOrder.DAY_FIRST)
    '2026-01-03T00:00:00+00:00'
    >>> parse_date("3/1/2026")
    Traceback (most recent call last):
    storage.spreadsheets.cells.CellError: "3/1/2026" is 2026-01-03 or 2026-03-01: write one of these, or say "dates: day-first" or "dates: month-first" in the mapping
    """  # noqa: E501
    moment, offset = _parse_moment(text, order)
    try:
        return (moment - offset).isoformat()
    except OverflowError as error:
        raise CellError(f'there is no date "{text}": {error}') from error


def parse_day(text: str, order: DateOrder | None = None) -> str:
    """Return a date without the time that may follow it. Raises CellError as `parse_date`.

    >>> parse_day("1 March 2026"), parse_day("2026-03-01 23:30-05:00")
    ('2026-03-01', '2026-03-01')
    """
    return _parse_moment(text, order)[0].date().isoformat()


def _parse_moment(text: str, order: DateOrder | None) -> tuple[datetime, timedelta]:
    """Return a time as it is written, and its offset."""
    for form in _FORMS:
        if match := form.fullmatch(text.strip()):
            parts = match.groupdict()
            month, day = _month_and_day(text, parts, order)
            hour, minute, second = (int(parts[name] or 0) for name in ("hour", "minute", "second"))
            try:
                moment = datetime(int(parts["year"]), month, day, hour, minute, second, tzinfo=UTC)
                return moment, _offset_of(parts["offset"])
            except ValueError as error:
                raise CellError(f'there is no date "{text}": {error}') from error
    raise CellError(f'{EXPECTED_DATE}, not "{text}"{_hint_at_form(text)}')


def _hint_at_form(text: str) -> str:
    if _SHORT_YEAR.fullmatch(text.strip()):
        return "; write all four digits of the year"
    if not any(map(str.isdecimal, text)):
        return f'; if it means that there is none, say so in the mapping: empty: ["{text}"]'
    return ""


def _month_and_day(
    text: str, parts: dict[str, str | None], order: DateOrder | None
) -> tuple[int, int]:
    if name := parts.get("name"):
        short = name[:3].lower()
        if short not in MONTHS:
            raise CellError(f'{EXPECTED_DATE}, not "{text}"')
        return MONTHS.index(short) + 1, int(parts["day"] or 0)
    if "first" not in parts:
        return int(parts["month"] or 0), int(parts["day"] or 0)
    first, second = int(parts["first"] or 0), int(parts["second_part"] or 0)
    if order is None and first <= 12 and second <= 12 and first != second:
        year = parts["year"]
        raise CellError(
            f'"{text}" is {year}-{second:02}-{first:02} or {year}-{first:02}-{second:02}: write one'
            ' of these, or say "dates: day-first" or "dates: month-first" in the mapping'
        )
    if order is DateOrder.MONTH_FIRST or (order is None and second > 12):
        return first, second
    return second, first


def _offset_of(text: str | None) -> timedelta:
    if text is None or text.upper() in ("Z", "UTC"):
        return timedelta()
    sign = -1 if text[0] == "-" else 1
    return sign * timedelta(hours=int(text[1:3]), minutes=int(text[-2:]))


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
    return parse_date(to_text(cell), order)


# A cell holds a list as `a; b`, or as `key=value; key=value`. An item or part that has a separator
# is in quotes, and quotes in it are written twice.

EMPTY_LIST = "[]"
ITEM_SEPARATOR, PART_SEPARATOR = ";", "="
SEPARATORS = ITEM_SEPARATOR + PART_SEPARATOR + "\r\n"


def split_items(cell: Cell, with_commas: bool = False) -> list[str]:
    """Return the items of a list; line breaks separate items, too. Raises CellError.

    >>> split_items('ils; "a;b"'), split_items("[]"), split_items("ils, mls", with_commas=True)
    (['ils', 'a;b'], [], ['ils', 'mls'])
    """
    text = to_text(cell)
    comma = "," if with_commas and ITEM_SEPARATOR not in text else ""
    return [] if text == EMPTY_LIST else [_unquote(item) for item in _iter_items(text, comma)]


def split_records(cell: Cell) -> list[list[str]]:
    """Return the items of a list, each with its parts. Raises CellError.

    >>> split_records('leisure=gym; "a=b"=c')
    [['leisure', 'gym'], ['a=b', 'c']]
    """
    text = to_text(cell)
    items = [] if text == EMPTY_LIST else [*_iter_items(text)]
    return [[_unquote(part.strip()) for part in _split(item, PART_SEPARATOR)] for item in items]


def join_items(items: Sequence[str]) -> str:
    """Return the text of a cell with a list; `split_items` is its inverse.

    >>> join_items(["ils", "a;b"]), join_items([])
    ('ils; "a;b"', '[]')
    """
    return join_records([[item] for item in items])


def join_records(items: Sequence[Sequence[str]]) -> str:
    """Return the text of a cell with a list of items in parts; `split_records` is its inverse."""
    texts = [PART_SEPARATOR.join(map(_quote, parts)) for parts in items]
    return f"{ITEM_SEPARATOR} ".join(texts) or EMPTY_LIST


def _iter_items(text: str, comma: str = "") -> Iterator[str]:
    for item in _split(text, ITEM_SEPARATOR + "\r\n" + comma):
        if item.strip():
            yield item.strip()


def _split(text: str, separators: str) -> list[str]:
    """Split a text at separators that are not in quotes; quotes begin where a part does."""
    pieces = [""]
    in_quotes, at_start = False, True
    for character in text:
        if in_quotes or character not in separators:
            pieces[-1] += character
        else:
            pieces.append("")
        if character == '"' and (in_quotes or at_start):
            in_quotes = not in_quotes
        elif not in_quotes:
            at_start = character in SEPARATORS + separators or (at_start and character.isspace())
    if in_quotes:
        raise CellError('a quote is not closed; write a quote within quotes twice, as ""')
    return pieces


def _unquote(part: str) -> str:
    if len(part) < 2 or part[0] != '"' or part[-1] != '"':
        return part
    return part[1:-1].replace('""', '"')


def _quote(part: str) -> str:
    is_plain = (
        part.strip() == part
        and part not in ("", EMPTY_LIST)
        and not any(character in part for character in SEPARATORS + '",')
    )
    return part if is_plain else '"' + part.replace('"', '""') + '"'
