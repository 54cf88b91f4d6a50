"""From documents to records."""

from typing import Any

import msgspec
import pytest

from storage.catalog import KINDS
from storage.records.kinds import Kind
from storage.units import UNITS, Unit
from tests.storage.catalogs import SMALL


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_record_is_read_as_it_was_given(kind: Kind[Any]) -> None:
    records = [msgspec.convert(member, kind.record_type) for member in SMALL[kind.name]]
    documents = [kind.to_document(record) | {"added": 1} for record in records]
    assert kind.decode(documents) == records
    assert kind.decode([]) == []


def test_a_field_that_an_older_document_lacks_has_its_default() -> None:
    old = {"_id": "u", "asset_id": "a", "floor_id": "f", "name": "101"}
    new = UNITS.to_document(Unit(id="v", asset_id="a", floor_id="f", name="102", map_ids=["m"]))
    first, second = UNITS.decode([old, new])
    assert first == Unit(id="u", asset_id="a", floor_id="f", name="101")
    assert second.map_ids == ["m"]
