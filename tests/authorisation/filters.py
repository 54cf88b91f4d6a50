"""The filters of lists in plain Python: which of the visible records meet them."""

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from tests.authorisation.catalog import Record

PAST, FUTURE = "2000-01-31T12:00:00+00:00", "2100-01-31T12:00:00+00:00"
"""All records were created between them."""


def split_words(text: str) -> list[str]:
    plain = "".join(
        each
        for each in unicodedata.normalize("NFKD", text.casefold())
        if not unicodedata.combining(each)
    )
    return re.findall(r"\w+", plain)


def meets(record: Record, given: Mapping[str, Any]) -> bool:
    """Return whether a record meets the filters that lists of many kinds have."""
    if given.get("ids") is not None and record["id"] not in given["ids"]:
        return False
    if given.get("updatedSince") == FUTURE:
        return False
    if given.get("value") is not None and record["value"] != given["value"]:
        return False
    words = split_words(record["name"]) if given.get("search") is not None else []
    return all(
        any(word.startswith(wanted) for word in words)
        for wanted in split_words(given.get("search") or "")
    )
