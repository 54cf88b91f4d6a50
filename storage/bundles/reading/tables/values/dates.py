"""Dates as people write them."""

import re
from datetime import UTC, datetime, timedelta
from enum import StrEnum

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


class DateOrder(StrEnum):
    """What `3/1/2026` means."""

    DAY_FIRST = "day-first"
    MONTH_FIRST = "month-first"


EXPECTED = "expected a date such as 2026-01-31 or 31 January 2026"
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

    `31.1.2026` has the day first. Raises ValueError for what has several meanings.

    >>> parse_date("31 January 2026"), parse_date("1/31/2026 09:30")
    ('2026-01-31T00:00:00+00:00', '2026-01-31T09:30:00+00:00')
    >>> parse_date("3/1/2026", DateOrder.DAY_FIRST)
    '2026-01-03T00:00:00+00:00'
    >>> parse_date("3/1/2026")
    Traceback (most recent call last):
    ValueError: "3/1/2026" is 2026-01-03 or 2026-03-01: write one of these, or say "dates: day-first" or "dates: month-first" in the mapping
    """  # noqa: E501
    moment, offset = _parse(text, order)
    try:
        return (moment - offset).isoformat()
    except OverflowError as error:
        raise ValueError(f'there is no date "{text}": {error}') from error


def parse_day(text: str, order: DateOrder | None = None) -> str:
    """Return a date without the time that may follow it. Raises ValueError as `parse_date`.

    >>> parse_day("1 March 2026"), parse_day("2026-03-01 23:30-05:00")
    ('2026-03-01', '2026-03-01')
    """
    return _parse(text, order)[0].date().isoformat()


def _parse(text: str, order: DateOrder | None) -> tuple[datetime, timedelta]:
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
                raise ValueError(f'there is no date "{text}": {error}') from error
    raise ValueError(f'{EXPECTED}, not "{text}"{_hint_at_form(text)}')


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
            raise ValueError(f'{EXPECTED}, not "{text}"')
        return MONTHS.index(short) + 1, int(parts["day"] or 0)
    if "first" not in parts:
        return int(parts["month"] or 0), int(parts["day"] or 0)
    first, second = int(parts["first"] or 0), int(parts["second_part"] or 0)
    if order is None and first <= 12 and second <= 12 and first != second:
        year = parts["year"]
        raise ValueError(
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
