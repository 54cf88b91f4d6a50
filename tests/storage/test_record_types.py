"""Types of records: the members of bundles that they accept, their keys and their documents."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from storage.bundles.json_bundles import parse_member
from storage.catalog import (
    ASSETS,
    ASSIGNMENTS,
    LEVEL_TAGS,
    LOCATIONS,
    RECORD_TYPES,
    RECORD_TYPES_BY_NAME,
    UNITS,
    LevelTagValue,
    Location,
    Unit,
)
from storage.importing.import_bundles import ImportCounts, import_bundles
from storage.records.kinds import KEY_SEPARATOR, RecordType
from storage.records.paging import PageRequest
from storage.records.visibility import ALL_ASSETS, AssetScope
from storage.store import Store
from tests.storage.catalogs import SMALL, import_violations, small, write_arrays

ASSIGNMENT = {"group_id": "g", "attribute_id": "x", "asset_id": "a", "unit_id": "u"}
TAG = SMALL["level_tags"][0]


def test_an_asset_is_residential_unless_its_market_is_given() -> None:
    [plain] = ASSETS.decode([parse_member(ASSETS, {"id": "x" * 255, "name": "x" * 2048})])
    assert plain.market == "multifamily"


@pytest.mark.parametrize(
    ("given", "map_ids"),
    [({}, None), ({"map_ids": None}, None), ({"map_ids": []}, []), ({"map_ids": ["m"]}, ["m"])],
)
def test_a_unit_on_no_map_differs_from_one_on_all_maps(
    given: dict[str, Any], map_ids: list[str] | None
) -> None:
    document = parse_member(UNITS, {**SMALL["units"][1], **given})
    assert UNITS.decode([document])[0].map_ids == document["map_ids"] == map_ids


@pytest.mark.parametrize("kind", RECORD_TYPES, ids=lambda kind: kind.name)
def test_a_record_is_read_as_it_was_given(kind: RecordType[Any]) -> None:
    assert {owner.kind for owner in kind.foreign_keys} <= {*RECORD_TYPES_BY_NAME}
    records = [msgspec.convert(member, kind.struct) for member in SMALL[kind.name]]
    documents = [kind.to_document(record) | {"added": 1} for record in records]
    assert kind.decode(documents) == records
    assert kind.decode([]) == []


def test_a_document_has_the_key_as_its_id() -> None:
    document = UNITS.to_document(Unit(id="u", asset_id="a", floor_id="f", name="101"))
    assert (document["_id"], {*document}) == ("u", {"_id", *UNITS.stored_fields})
    assert UNITS.key_of({"id": "u"}) == "u"
    keys = [ASSIGNMENT[field] for field in ASSIGNMENTS.key_fields]
    assert ASSIGNMENTS.key_of(ASSIGNMENT).split(KEY_SEPARATOR) == keys
    single = ASSIGNMENTS.key_of({**ASSIGNMENT, ASSIGNMENTS.single_valued_flag: True})
    assert single.split(KEY_SEPARATOR) == keys[:-1]


def test_fields_and_items_that_older_documents_lack_have_their_defaults() -> None:
    old = {"_id": "l", "asset_id": "a", "unit_map_id": "m", "name": "Pool", "x": 1.0, "y": 2.0}
    first, second = LOCATIONS.decode([old, old])
    assert first == Location(id="l", asset_id="a", unit_map_id="m", name="Pool", x=1.0, y=2.0)
    assert first.tags is not second.tags
    [tag] = LEVEL_TAGS.decode(
        [
            {
                "_id": "m\0k",
                "map_id": "m",
                "key": "k",
                "name": "",
                "values": [{"name": "", "value": "f"}],
            }
        ]
    )
    assert tag.values == [LevelTagValue(name="", value="f")]
    filled, other = LOCATIONS.fill_defaults(old), LOCATIONS.fill_defaults(old)
    assert LOCATIONS.decode([filled]) == [first]
    assert {*filled} == {*LOCATIONS.projection}
    assert filled["tags"] is not other["tags"]


def test_a_document_without_a_required_field_cannot_be_decoded() -> None:
    with pytest.raises(KeyError, match="floor_id"):
        UNITS.decode([{"_id": "u", "asset_id": "a", "name": "101"}])


async def test_level_tags_are_of_one_key_each_on_a_map_in_the_order_of_keys(
    client: Any, database: Any, path: Path
) -> None:
    bundle = small()
    bundle["level_tags"] = [
        TAG | {"map_id": map_id, "key": key} for map_id in ("am", "bm") for key in ("wing", "floor")
    ]
    summary = await import_bundles(database, [write_arrays(path, bundle)])
    assert summary.kinds["level_tags"] == ImportCounts(inserted=4)
    store, page = Store(client, database.name), PageRequest(1, 10)
    listed = await store.list_page(LEVEL_TAGS, ALL_ASSETS, {"map_id": "am"}, page)
    assert [(tag.map_id, tag.key) for tag in listed.data] == [("am", "floor"), ("am", "wing")]
    assert [value.name for value in listed.data[0].values] == ["First", "Roof"]
    only_b = await store.list_page(LEVEL_TAGS, AssetScope(frozenset({"b"})), {}, page)
    assert {tag.map_id for tag in only_b.data} == {"bm"}


async def test_a_unit_moves_within_its_asset_and_a_background_stays_with_its_map(
    database: Any, bundle: Path, path: Path
) -> None:
    await import_bundles(database, [bundle])
    found = database["backgrounds"].find().sort("_id", 1)
    assert [(each["_id"], each["asset_id"]) async for each in found] == [("ab", "a"), ("bb", "b")]
    moved = small()
    moved["floors"].append({"id": "a2", "asset_id": "a", "name": "Second", "sort": 2})
    moved["units"][0] |= {"floor_id": "a2", "map_ids": []}
    summary = await import_bundles(database, [write_arrays(path, moved)])
    assert summary.kinds["units"] == ImportCounts(updated=1, unchanged=2)
    background = SMALL["backgrounds"][0]
    for change, message in (
        ({"unit_map_id": "bm"}, 'background "ab" belongs to "am" and cannot move to "bm"'),
        ({"id": "new", "unit_map_id": "missing"}, 'unit_map_id: there is no map "missing"'),
        ({"id": "new", "asset_id": "a"}, ': there is no field "asset_id"'),
    ):
        changed = write_arrays(path, {"backgrounds": [background | change]})
        [violation] = await import_violations(database, changed)
        assert message in violation
