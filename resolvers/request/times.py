"""Times in arguments and results."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NewType

from resolvers.request.errors import MAX_QUOTED_CHARACTERS

if TYPE_CHECKING:  # commands that read times start without GraphQL
    from resolvers.request.inputs import JsonSchema

DateTime = NewType("DateTime", str)
"""The text of a time: as it was sent in an argument, as it is stored in a result."""

LONGEST_TIME_CHARACTERS = 64


class _IsTime:
    """Rule of times in arguments: ISO 8601, in UTC if there is no offset."""

    def check(self, value: str) -> str | None:
        """Return the error, or None."""
        if len(value) > LONGEST_TIME_CHARACTERS:
            return f"must have at most {LONGEST_TIME_CHARACTERS} characters, not {len(value)}"
        try:
            parse_time(value)
        except ValueError as error:
            return str(error)
        return None

    def json_schema(self) -> "JsonSchema":
        """Return `format`, though dates and times without an offset are read, too."""
        return {"format": "date-time", "maxLength": LONGEST_TIME_CHARACTERS}


def parse_time(text: str) -> datetime:
    """Return a time in ISO 8601, in UTC if it has no offset. Raises ValueError.

    >>> parse_time("2026-01-31T12:00:00+02:00").isoformat()
    '2026-01-31T10:00:00+00:00'
    """
    example = "2027-01-31T12:00:00Z"
    try:
        time = datetime.fromisoformat(text.upper())  # RFC 3339 allows `t` and `z`
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(
            f"must be an ISO 8601 time such as {example}, not {text[:MAX_QUOTED_CHARACTERS]!r}"
        ) from error


IS_TIME = _IsTime()
