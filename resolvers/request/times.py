"""Times in arguments and results, for commands too, which start without GraphQL."""

from datetime import UTC, datetime
from typing import NewType

from resolvers.request.errors import MAX_QUOTED_CHARACTERS

DateTime = NewType("DateTime", str)
"""The text of a time: as it was sent in an argument, as it is stored in a result."""


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
