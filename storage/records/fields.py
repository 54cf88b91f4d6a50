"""The constrained types that records are made of, and the base class of every record."""

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

TEXT_PATTERN = r"\A[^\x00\ud800-\udfff]*\Z"
"""No NUL (ids are joined by it) and no lone surrogate (UTF-8 has no form for it)."""

Id: TypeAlias = Annotated[str, Meta(min_length=1, max_length=255, pattern=TEXT_PATTERN)]
"""An opaque, case-sensitive id: 1 to 255 characters."""

Text: TypeAlias = Annotated[str, Meta(max_length=2048, pattern=TEXT_PATTERN)]
"""A name, a label, an address: up to 2,048 characters."""

MapTag: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=255, pattern=r"\A[^\x00\ud800-\udfff,]*\Z")
]
"""A map's tag: no comma, which separates tags in a filter."""

ReferenceKey: TypeAlias = Annotated[
    str, Meta(min_length=2, max_length=255, pattern=r"\A[a-z][a-z0-9-]{1,254}\Z")
]
"""Names a third-party system."""

Int32: TypeAlias = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]

Timestamp: TypeAlias = Annotated[
    str, Meta(pattern=r"\A(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d))?\Z")
]
"""ISO 8601 with an offset. Stored as it is served: in UTC, `2026-01-31T12:00:00+00:00`."""

NO_TIMESTAMP = ""
"""The timestamp of a member whose bundle gives none; writing replaces it."""


class Record(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """What one MongoDB document holds and one member of a bundle gives.

    Records hold no cycles; the garbage collector need not look at a page of a thousand.
    """


class TimestampedRecord(Record, frozen=True, kw_only=True):
    """A record that knows when it was made and last changed."""

    created_at: Timestamp = NO_TIMESTAMP
    updated_at: Timestamp = NO_TIMESTAMP
