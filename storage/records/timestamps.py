"""Timestamps as they are stored and served: ISO 8601 text in UTC, to the second."""

from datetime import UTC, datetime

CREATED_AT, UPDATED_AT = TIMESTAMP_FIELDS = ("created_at", "updated_at")


def current_second() -> datetime:
    """Return the time now in UTC, without microseconds."""
    return datetime.now(UTC).replace(microsecond=0)


def current_timestamp() -> str:
    """Return the time now as it is stored."""
    return current_second().isoformat()
