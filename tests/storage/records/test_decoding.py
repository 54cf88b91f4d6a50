"""From documents to records."""

from typing import Any

import msgspec
import pytest

from storage.catalog import RECORD_TYPES
from storage.level_tags import LEVEL_TAGS, LevelTagValue
from storage.locations import LOCATIONS, Location
from storage.records.kinds import RecordType
from storage.units import UNITS, Unit
from tests.storage.catalogs import SMALL


@pytest.mark.parametrize("kind", RECORD_TYPES, ids=lambda kind: kind.name)
def test_a_record_is_read_as_it_was_given(kind: RecordType[Any]) -> None:
    records = [msgspec.convert(member, kind.struct) for member in SMALL[kind.name]]
    documents = [kind.to_document(record) | {"added": 1} for record in records]
    assert kind.decode(documents) == records
    assert kind.decode([]) == []


def test_a_default_list_is_shared_by_no_two_records() -> None:
    old = {"_id": "l", "asset_id": "a", "unit_map_id": "m", "name": "Pool", "x": 1.0, "y": 2.0}
    first, second = LOCATIONS.decode([old, old])
    assert first == Location(id="l", asset_id="a", unit_map_id="m", name="Pool", x=1.0, y=2.0)
    assert first.tags is not second.tags


def test_items_of_older_documents_have_defaults_too() -> None:
    old = {
        "_id": "m\0k",
        "map_id": "m",
        "key": "k",
        "name": "",
        "values": [{"name": "", "value": "f"}],
    }
    (tag,) = LEVEL_TAGS.decode([old])
    assert tag.values == [LevelTagValue(name="", value="f")]


def test_a_document_without_a_required_field_cannot_be_decoded() -> None:
    with pytest.raises(KeyError, match="floor_id"):
        UNITS.decode([{"_id": "u", "asset_id": "a", "name": "101"}])


def test_a_field_that_an_older_document_lacks_has_its_default() -> None:
    old = {"_id": "u", "asset_id": "a", "floor_id": "f", "name": "101"}
    new = UNITS.to_document(Unit(id="v", asset_id="a", floor_id="f", name="102", map_ids=["m"]))
    first, second = UNITS.decode([old, new])
    assert first == Unit(id="u", asset_id="a", floor_id="f", name="101")
    assert second.map_ids == ["m"]
