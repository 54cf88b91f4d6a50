"""Deprecated endpoints: they work until their sunset, and every response says when that is."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from email.utils import format_datetime

RawHeaders = list[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Deprecation:
    """Since when an endpoint should not be used any more, each date from midnight (UTC).

    >>> deprecation = Deprecation(date(2027, 1, 1), date(2027, 7, 1), "https://maps.example/new")
    >>> for name, value in deprecation.headers:
    ...     print(f"{name.decode()}: {value.decode()}")
    deprecation: @1798761600
    sunset: Thu, 01 Jul 2027 00:00:00 GMT
    link: <https://maps.example/new>; rel="deprecation"
    """

    since: date
    sunset: date | None = None
    """When it stops working, if that is decided."""
    link: str | None = None
    """Absolute address of a page that says what to use instead."""

    def __post_init__(self) -> None:
        if self.sunset is not None and self.sunset < self.since:
            # RFC 9745, 4
            raise ValueError(f"the sunset {self.sunset} is before the deprecation {self.since}")

    @property
    def headers(self) -> RawHeaders:
        """The headers of a response (RFC 9745, RFC 8594)."""
        headers = [(b"deprecation", f"@{_at_midnight(self.since).timestamp():.0f}".encode())]
        if self.sunset is not None:
            text = format_datetime(_at_midnight(self.sunset), usegmt=True)
            headers.append((b"sunset", text.encode()))
        if self.link is not None:
            headers.append((b"link", f'<{self.link}>; rel="deprecation"'.encode()))
        return headers

    @property
    def sentence(self) -> str:
        """What a description says of it.

        >>> Deprecation(date(2027, 1, 1)).sentence
        'Deprecated since 2027-01-01.'
        """
        end = f"; it stops working on {self.sunset}" if self.sunset else ""
        return f"Deprecated since {self.since}{end}."


def _at_midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
