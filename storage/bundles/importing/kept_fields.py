"""Fields that staged members do not give, and that records in the catalog keep.

A member of a JSON bundle gives all fields. A sheet has no word on fields without a column.
"""

from typing import Any

from storage.maps import MAPS
from storage.records.kinds import Document, RecordType

KEPT_FIELD = "_kept"
"""Field of a staged document with the names of these fields."""
DERIVED_FROM = {MAPS.name: {"source": ("parsed",)}}
"""Derived fields that are kept with the field that they are derived from."""


def keep_live_fields(
    kind: RecordType[Any], document: Document, live: Document | None, names: list[str]
) -> None:
    """Copy the fields that a document does not give from the live record, in place."""
    if live is None:
        return
    for name in names:
        for field in (name, *DERIVED_FROM.get(kind.name, {}).get(name, ())):
            document[field] = live.get(field)
    if kind.derive and names:
        document |= kind.derive(document)
