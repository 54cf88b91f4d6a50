"""Every array of items with timestamps is known, and what identifies an item of it."""

from typing import Any

import pytest

from storage.bundles.reading.members import parse_member
from storage.bundles.reading.timestamped_arrays import TIMESTAMPED_ARRAYS, TimestampedArray
from storage.catalog import RECORD_TYPES
from storage.records.kinds import RecordType
from storage.records.timestamps import CREATED_AT
from tests.storage.catalogs import small


def test_items_are_identified_by_one_field_and_compared_without_timestamps() -> None:
    assert {name: arrays for name, arrays in TIMESTAMPED_ARRAYS.items() if arrays} == {
        "level_tags": (TimestampedArray("values", "value", ("name", "value")),),
        "locations": (TimestampedArray("tags", "key", ("key", "value")),),
    }


@pytest.mark.parametrize("kind", RECORD_TYPES, ids=lambda kind: kind.name)
def test_no_array_of_a_stored_document_is_missed(kind: RecordType[Any]) -> None:
    documents = [parse_member(kind, member) for member in small()[kind.name]]
    found = {
        field
        for document in documents
        for field, value in document.items()
        if isinstance(value, list)
        and any(isinstance(item, dict) and CREATED_AT in item for item in value)
    }
    assert found == {array.field for array in TIMESTAMPED_ARRAYS[kind.name]}
