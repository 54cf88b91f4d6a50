"""A merge changes only the fields that members give; all checks are those of the whole record."""

import json
from pathlib import Path
from typing import Any

import pytest

from storage.bundles.changes.change_plan import FieldChange, RecordChange
from storage.bundles.changes.change_request import ChangeRequest
from storage.bundles.importing.import_bundles import ImportCounts, ParsedSource, import_bundles
from storage.bundles.reading.sources import to_data_url
from storage.errors import BundleError
from tests.storage.bundles.random_catalogs import records_of
from tests.storage.catalogs import Bundle, contents, small

pytestmark = pytest.mark.anyio

MERGE = ChangeRequest(merges=True)
LONG_AGO = "2001-01-01T00:00:00+00:00"


async def parse(source: bytes) -> ParsedSource:
    return ParsedSource(source.upper())


async def load(database: Any, bundle: Bundle, *, merge: bool = False) -> ImportCounts:
    content = json.dumps(bundle).encode()
    summary = await import_bundles(
        database, [content], parse_source=parse, changes=ChangeRequest(merges=merge)
    )
    return summary.total


async def merge(database: Any, bundle: Bundle) -> ImportCounts:
    return await load(database, bundle, merge=True)


async def merge_violations(database: Any, bundle: Bundle) -> list[str]:
    before = await contents(database)
    with pytest.raises(BundleError) as caught:
        await merge(database, bundle)
    assert await contents(database) == before
    return [violation.removeprefix("bundle: ") for violation in caught.value.violations]


async def find(database: Any, kind: str, key: str) -> dict[str, Any]:
    document: dict[str, Any] = await database[kind].find_one({"_id": key})
    return document


@pytest.fixture
async def catalog(database: Any) -> Any:
    """The small catalog, imported long ago."""
    bundle = small()
    for member in bundle["units"] + bundle["maps"] + bundle["level_tags"]:
        member |= {"created_at": LONG_AGO, "updated_at": LONG_AGO}
    bundle["level_tags"][0]["values"][0] |= {"created_at": LONG_AGO, "updated_at": LONG_AGO}
    bundle["maps"][0]["source"] = to_data_url(b"<svg/>")
    await load(database, bundle)
    return database


async def test_fields_that_are_not_given_keep_their_stored_values(catalog: Any) -> None:
    before = await find(catalog, "units", "u1")
    assert await merge(catalog, {"units": [{"id": "u1", "name": "101A"}]}) == ImportCounts(
        updated=1
    )
    after = await find(catalog, "units", "u1")
    named = {"name": "101A", "name_words": ["1", "10", "101", "101a"]}
    assert after == before | named | {"updated_at": after["updated_at"]}
    assert after["updated_at"] > LONG_AGO
    assert after["map_ids"] == ["am"]


@pytest.mark.parametrize(
    ("kind", "key", "field"),
    [("units", "u1", "map_ids"), ("maps", "am", "background_id"), ("maps", "am", "source")],
)
async def test_null_sets_null_where_the_field_allows_it(
    catalog: Any, kind: str, key: str, field: str
) -> None:
    assert (await find(catalog, kind, key))[field] is not None
    assert await merge(catalog, {kind: [{"id": key, field: None}]}) == ImportCounts(updated=1)
    assert (await find(catalog, kind, key))[field] is None


async def test_a_map_keeps_its_drawing_unless_another_is_given(catalog: Any) -> None:
    before = await find(catalog, "maps", "am")
    await merge(catalog, {"maps": [{"id": "am", "tags": ["mls"]}]})
    after = await find(catalog, "maps", "am")
    assert after["tags"] == ["mls"]
    assert (after["source"], after["parsed"]) == (before["source"], before["parsed"])
    await merge(catalog, {"maps": [{"id": "am", "source": to_data_url(b"<svg></svg>")}]})
    drawn = await find(catalog, "maps", "am")
    assert {drawn["source"], drawn["parsed"]}.isdisjoint({before["source"], before["parsed"]})
    await merge(catalog, {"maps": [{"id": "am", "source": None}]})
    assert (await find(catalog, "maps", "am"))["parsed"] is None


@pytest.mark.parametrize(("given", "scale"), [({}, 2.0), ({"feet_per_unit": None}, None)])
async def test_a_scale_that_processing_was_given_goes_only_if_null_is_given(
    catalog: Any, given: dict[str, Any], scale: float | None
) -> None:
    state: dict[str, Any] = {"built_from": {}, "withdrawn": None, "is_scale_given": True}
    scaled = {"feet_per_unit": 2.0, "network_state": state}
    await catalog["maps"].update_one({"_id": "am"}, {"$set": scaled})
    await merge(catalog, {"maps": [{"id": "am", "name": "Renamed", **given}]})
    assert (await find(catalog, "maps", "am"))["feet_per_unit"] == scale


async def test_arrays_are_replaced_as_a_whole(catalog: Any) -> None:
    values = [{"name": "Ground", "value": "a1"}, {"name": "Cellar", "value": "cellar"}]
    await merge(catalog, {"level_tags": [{"map_id": "am", "key": "floor", "values": values}]})
    tag = await find(catalog, "level_tags", "am\0floor")
    assert [each["value"] for each in tag["values"]] == ["a1", "cellar"]
    first, cellar = (each["created_at"] for each in tag["values"])
    assert first == LONG_AGO < cellar
    assert (tag["name"], tag["asset_id"]) == ("Floor", "a")


async def test_a_member_always_needs_its_key(catalog: Any) -> None:
    bundle: Bundle = {
        "units": [{"name": "101"}],
        "unit_references": [{"unit_id": "u1", "value": "1_3"}],
    }
    assert await merge_violations(catalog, bundle) == [
        "$.unit_references[0]: required but missing: key",
        "$.units[0]: required but missing: id",
    ]


@pytest.mark.parametrize(
    ("kind", "member", "violation"),
    [
        (
            "units",
            {"id": "u1", "floor_id": "b1"},
            '$.units[0].floor_id: floor "b1" has asset_id "b", not "a"',
        ),
        (
            "asset_references",
            {"id": "r", "key": "Keyring"},
            "$.asset_references[0].key: Expected a lowercase letter, then 1 to 254 lowercase"
            " letters, digits or hyphens",
        ),
    ],
)
async def test_the_whole_record_must_be_valid(
    catalog: Any, kind: str, member: dict[str, Any], violation: str
) -> None:
    assert await merge_violations(catalog, {kind: [member]}) == [violation]


async def test_a_unit_has_one_attribute_of_an_exclusive_group(catalog: Any) -> None:
    changed = {"group_id": "plan", "unit_id": "u1", "attribute_id": "t"}
    assert await merge(catalog, {"attribute_assignments": [changed]}) == ImportCounts(updated=1)
    assert (await find(catalog, "attribute_assignments", "plan\0u1"))["asset_id"] == "a"
    both = [changed, changed | {"attribute_id": "s"}]
    (violation,) = await merge_violations(catalog, {"attribute_assignments": both})
    assert "the unit already has an attribute of this group" in violation


async def test_owners_of_which_some_fields_are_given_are_still_owners(catalog: Any) -> None:
    unit = {"id": "u9", "asset_id": "a", "floor_id": "a1", "name": "109"}
    bundle: Bundle = {"floors": [{"id": "a1", "name": "Ground"}], "units": [unit]}
    assert await merge(catalog, bundle) == ImportCounts(inserted=1, updated=1)
    wrong = unit | {"id": "v9", "asset_id": "b"}
    assert await merge_violations(catalog, bundle | {"units": [wrong]}) == [
        '$.units[0].floor_id: floor "a1" has asset_id "a", not "b"'
    ]


async def test_a_plan_names_the_merged_fields_and_the_undo_file_brings_them_back(
    catalog: Any, tmp_path: Path
) -> None:
    before = await records_of(catalog)
    undo = tmp_path / "undo.ndjson"
    bundle: Bundle = {"units": [{"id": "u1", "name": "101A"}, {"id": "u2"}]}
    request = MERGE._replace(is_planned=True, undo_path=undo)
    summary = await import_bundles(catalog, [json.dumps(bundle).encode()], changes=request)
    assert summary.plan is not None
    assert summary.plan.changes == [
        RecordChange("units", "changed", "u1", [FieldChange("name", '"101"', '"101A"')])
    ]
    assert (await find(catalog, "units", "u1"))["name"] == "101A"
    assert summary.undo == str(undo)
    assert (await import_bundles(catalog, [undo])).total == ImportCounts(updated=1)
    assert await records_of(catalog) == before


async def test_mistakes_in_members_and_between_them_are_reported_together(catalog: Any) -> None:
    bundle: Bundle = {
        "floors": [{"id": "a2", "nmae": "Second"}],
        "units": [
            {"id": "u1", "name": 3, "map_ids": "am"},
            {"id": "u9", "name": "109"},
            {"id": "u2", "floor_id": "a2", "map_ids": ["none"]},
        ],
    }
    assert await merge_violations(catalog, bundle) == [
        '$.floors[0]: there is no field "nmae"; did you mean name?',
        "$.units[0].map_ids: Expected `array | null`, got `str`",
        "$.units[0].name: Expected `str`, got `int`",
        '$.units[1]: there is no unit "u9" yet, and a new one also needs asset_id, floor_id',
        '$.units[2].map_ids: there is no map "none", neither in the bundle nor in the catalog',
    ]
