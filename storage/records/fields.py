"""Base classes of records, and the constrained types of their fields."""

import re
from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

TEXT_PATTERN = r"\A[^\x00\ud800-\udfff]*\Z"
"""No NUL, which joins ids in keys, and no lone surrogate, which UTF-8 cannot encode."""
_TEXT_REGEX = re.compile(TEXT_PATTERN)
TEXT_JSON_PATTERN = r"^[^\x00]+$"
"""`TEXT_PATTERN` in JSON Schema, without surrogates: UTF-8 cannot encode them."""

REFERENCE_KEY_PATTERN = "[a-z][a-z0-9-]{1,254}"
REFERENCE_KEY_FORM = "a lowercase letter, then 1 to 254 lowercase letters, digits or hyphens"

MAX_ID_CHARACTERS = 255
MAX_TEXT_CHARACTERS = 2048
MAX_INT32 = 2**31 - 1

Id: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=MAX_ID_CHARACTERS, pattern=TEXT_PATTERN)
]
"""An opaque, case-sensitive id: 1 to 255 characters."""

Text: TypeAlias = Annotated[str, Meta(max_length=MAX_TEXT_CHARACTERS, pattern=TEXT_PATTERN)]
"""A name, a label, an address: up to 2,048 characters."""

WEB_ADDRESS_PATTERN = r"\A(?:[Hh][Tt][Tt][Pp][Ss]?://[^\x00-\x20\x7f\"<>\\^`{|}\ud800-\udfff]+)?\Z"

WebAddress: TypeAlias = Annotated[
    str, Meta(max_length=MAX_TEXT_CHARACTERS, pattern=WEB_ADDRESS_PATTERN)
]
"""An http or https URL. Clients make links of it: `javascript:` would run in their pages."""

MapTag: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=255, pattern=r"\A[^\x00\ud800-\udfff,]*\Z")
]
"""A tag of a map; a comma separates tags in a filter."""

ReferenceKey: TypeAlias = Annotated[
    str, Meta(min_length=2, max_length=255, pattern=rf"\A{REFERENCE_KEY_PATTERN}\Z")
]
"""The name of a third-party system."""

Int32: TypeAlias = Annotated[int, Meta(ge=-MAX_INT32 - 1, le=MAX_INT32)]

TimestampText: TypeAlias = Annotated[
    str, Meta(pattern=r"\A(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d))?\Z")
]
"""ISO 8601 with an offset. Stored in the form in which it is served: UTC,
`2026-01-31T12:00:00+00:00` (docs/decisions/storage/timestamps-as-text.md)."""

NO_TIMESTAMP = ""
"""Placeholder for a timestamp missing in a bundle; the import replaces it."""


def is_storable(text: str) -> bool:
    """Return whether a text has no NUL and no lone surrogate."""
    # isprintable() is a fast test that most texts pass.
    return text.isprintable() or _TEXT_REGEX.match(text) is not None


class Record(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """Base class of records: one MongoDB document, one member of a bundle.

    `gc=False`, because records contain no reference cycles and pages have thousands of them.
    """


class TimestampedRecord(Record, frozen=True, kw_only=True):
    """A record with the times of its creation and last change."""

    created_at: TimestampText = NO_TIMESTAMP
    updated_at: TimestampText = NO_TIMESTAMP
