"""Record types of which only the key is required, for members that change some fields only."""

from typing import Any, Union

import msgspec
from msgspec import UNSET, UnsetType

from storage.catalog import RECORD_TYPES
from storage.records.kinds import RecordType


def build_partial_struct(kind: RecordType[Any]) -> type[msgspec.Struct]:
    """Return the struct of a kind with the same types, in which all but the key may be absent.

    >>> from storage.catalog import UNITS
    >>> msgspec.to_builtins(build_partial_struct(UNITS)(id="u1", name="101"))
    {'id': 'u1', 'name': '101'}
    """
    fields: list[Any] = [
        (field.name, field.type)
        if field.name in kind.key_fields
        else (field.name, Union[field.type, UnsetType], UNSET)  # noqa: UP007
        for field in msgspec.structs.fields(kind.struct)
    ]
    return msgspec.defstruct(
        kind.struct.__name__, fields, kw_only=True, forbid_unknown_fields=True, gc=False
    )


PARTIAL_STRUCTS = {kind.name: build_partial_struct(kind) for kind in RECORD_TYPES}
"""By kind, the struct of a member of which only some fields are given."""
