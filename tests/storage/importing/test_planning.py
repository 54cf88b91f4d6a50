"""What staged members change in the catalog, and the plan and the undoing of an import."""

import asyncio
import errno
import io
import json
import os
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from storage.administration.import_lease import STAGING_PREFIX
from storage.bundles.drawings import ParsedSource, to_data_url
from storage.bundles.json_bundles import read_members
from storage.bundles.violations import Violations
from storage.catalog import ASSIGNMENTS, LOCATIONS, RECORD_TYPES, UNITS
from storage.errors import BundleError
from storage.importing import staging as staging_module
from storage.importing.change_plan import (
    ChangeRequest,
    FieldChange,
    RecordChange,
    open_pending_file,
)
from storage.importing.import_bundles import ImportCounts, import_bundles
from storage.importing.planning import PipelinedWriter, has_same_content, read_ahead, set_timestamps
from storage.importing.staging import Staging
from storage.mongo import driver
from storage.records.kinds import RecordType
from storage.spreadsheets.mapping_file import parse_mapping
from storage.spreadsheets.reader import Spreadsheet
from tests.storage.catalogs import SMALL, Bundle, contents, small, stage, write_arrays
from tests.storage.importing.random_catalogs import records_of
from tests.storage.importing.test_mirroring import MIRROR, exported, ids_of, mirror

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


@pytest.fixture
async def catalog_of_tables(database: Any, tmp_path: Path) -> Any:
    await import_bundles(database, [write_arrays(tmp_path / "small.json", SMALL)])
    return database


async def merge_table(database: Any, path: Path, text: str, mapping: Any = None) -> ImportCounts:
    path.write_text(text)
    sheet = Spreadsheet(path, parse_mapping(mapping or {}))
    summary = await import_bundles(database, [sheet], changes=ChangeRequest(merges=True))
    return summary.total


async def table_violations(database: Any, path: Path, text: str) -> list[str]:
    before = await contents(database)
    with pytest.raises(BundleError) as caught:
        await merge_table(database, path, text)
    assert await contents(database) == before
    return [each.removeprefix(f"{path}: ") for each in caught.value.violations]


async def test_an_empty_cell_changes_nothing_and_an_empty_list_is_written(
    catalog_of_tables: Any, tmp_path: Path
) -> None:
    path = tmp_path / "units.csv"
    before = await find(catalog_of_tables, "units", "u1")
    assert before["map_ids"]
    await merge_table(catalog_of_tables, path, "id,name,map_ids\nu1,101A,\n")
    assert (await find(catalog_of_tables, "units", "u1"))["map_ids"] == before["map_ids"]
    await merge_table(catalog_of_tables, path, "id,name,map_ids\nu1,,[]\n")
    after = await find(catalog_of_tables, "units", "u1")
    assert (after["name"], after["map_ids"]) == ("101A", [])


async def test_a_row_always_needs_its_key(catalog_of_tables: Any, tmp_path: Path) -> None:
    assert await table_violations(
        catalog_of_tables, tmp_path / "units.csv", "name,floor_id\n1,a1\n"
    ) == ['row 1: there is no column "ID", which is required']


async def test_defaults_of_the_mapping_are_for_new_records(
    catalog_of_tables: Any, tmp_path: Path
) -> None:
    path = tmp_path / "maps.csv"
    mapping = {"asset": "a", "defaults": {"style": "b", "tags": "ils"}}
    before = await find(catalog_of_tables, "maps", "am")
    await merge_table(catalog_of_tables, path, "id,name\nam,Renamed\nnew,New\n", mapping)
    after, new = (
        await find(catalog_of_tables, "maps", "am"),
        await find(catalog_of_tables, "maps", "new"),
    )
    assert after["name"] == "Renamed"
    assert (after["style"], after["tags"]) == (before["style"], before["tags"])
    assert (new["style"], new["tags"], new["asset_id"]) == ("b", ["ils"], "a")


async def test_a_table_of_apartments_changes_what_its_cells_hold(
    database: Any, tmp_path: Path
) -> None:
    path = tmp_path / "rents.csv"
    text = "Property,Floor,Unit,Status,Map IDs\nOak,1,101,Vacant,\nOak,2,201,Vacant,\n"
    path.write_text(text)
    await import_bundles(database, [path])
    before = await contents(database)
    assert await merge_table(database, path, text) == ImportCounts(unchanged=7)
    assert await contents(database) == before

    changed = await merge_table(
        database,
        path,
        "Property,Unit ID,Unit,Floor,Status\nOak,oak-101,101A,,\nOak,oak-201,,1,Leased\n",
    )
    assert changed.removed == 0
    first, second = (
        await find(database, "units", "oak-101"),
        await find(database, "units", "oak-201"),
    )
    assert (first["name"], first["floor_id"]) == ("101A", "oak-floor-1")
    assert (second["name"], second["floor_id"]) == ("201", "oak-floor-1")
    assignments = {
        document["_id"]: document async for document in database["attribute_assignments"].find({})
    }
    assert {each["unit_id"]: each["attribute_id"] for each in assignments.values()} == {
        "oak-101": "status-vacant",
        "oak-201": "status-leased",
    }


async def test_a_table_beside_a_sheet_of_groups_finds_the_attributes_of_the_catalog(
    catalog_of_tables: Any, tmp_path: Path
) -> None:
    """The sheet has no column for them, so they stay as they are."""
    groups, table = tmp_path / "attribute-groups.csv", tmp_path / "layouts.csv"
    groups.write_text("group_id,group_name\nplan,Layout\n")
    table.write_text("Asset ID,Unit ID,attribute:Layout\na,u1,s\n")
    changes = ChangeRequest(merges=True)
    summary = await import_bundles(catalog_of_tables, [groups, table], changes=changes)
    assert (summary.total.updated, summary.total.unchanged) == (1, 1)
    table.write_text("Asset ID,Unit ID,attribute:Layout\na,u1,none such\n")
    with pytest.raises(BundleError, match='group "plan" has no attribute "none such"'):
        await import_bundles(catalog_of_tables, [groups, table], changes=changes)


NOW = "2026-05-01T00:00:00+00:00"
OLD = "2020-01-01T00:00:00+00:00"
OLDER = "2019-01-01T00:00:00+00:00"


def stamps(created: str = "", updated: str = "") -> dict[str, str]:
    return {"created_at": created, "updated_at": updated}


def tag(key: str, value: str, **given: str) -> dict[str, str]:
    return {"key": key, "value": value, **stamps(), **given}


@pytest.mark.parametrize(
    ("given", "live", "expected"),
    [
        (stamps(), None, stamps(NOW, NOW)),
        (stamps(updated=OLD), None, stamps(OLD, OLD)),
        (stamps(created=OLD), None, stamps(OLD, NOW)),
        (stamps(), stamps(OLDER, OLD), stamps(OLDER, NOW)),
        (stamps(updated=OLDER), stamps(OLDER, OLD), stamps(OLDER, NOW)),
        (stamps(updated=OLD), stamps(OLDER, OLDER), stamps(OLDER, OLD)),
    ],
)
def test_a_record_takes_the_latest_timestamps(
    given: dict[str, str], live: dict[str, str] | None, expected: dict[str, str]
) -> None:
    document: dict[str, Any] = dict(given)
    set_timestamps(UNITS, document, live, NOW)
    assert document == expected


def test_only_changed_items_get_new_timestamps() -> None:
    live = stamps(OLD, OLD) | {
        "tags": [tag("same", "1", **stamps(OLD, OLD)), tag("changed", "1", **stamps(OLD, OLD))]
    }
    document: dict[str, Any] = stamps() | {
        "tags": [tag("same", "1"), tag("changed", "2"), tag("new", "1")]
    }
    set_timestamps(LOCATIONS, document, live, NOW)
    assert [(item["created_at"], item["updated_at"]) for item in document["tags"]] == [
        (OLD, OLD),
        (OLD, NOW),
        (NOW, NOW),
    ]


def test_items_with_the_same_key_are_told_apart_by_their_content() -> None:
    tags = [tag("k", "1", **stamps(OLDER, OLDER)), tag("k", "2", **stamps(OLD, OLD))]
    document: dict[str, Any] = stamps() | {"tags": [tag("k", "1"), tag("k", "2"), tag("k", "3")]}
    set_timestamps(LOCATIONS, document, stamps(OLD, OLD) | {"tags": tags}, NOW)
    assert document["tags"] == [*tags, tag("k", "3", **stamps(OLD, NOW))]


def test_timestamps_are_not_content() -> None:
    one = {"_id": "l", "name": "Pool", "tags": [tag("k", "v")], **stamps()}
    same = {**one, "tags": [tag("k", "v", **stamps(OLD, OLD))], **stamps(OLD, OLD)}
    assert has_same_content(LOCATIONS, one, same)
    assert not has_same_content(LOCATIONS, one, {**same, "name": "Gym"})
    assert not has_same_content(LOCATIONS, one, {**same, "tags": [tag("k", "w")]})
    assert not has_same_content(LOCATIONS, one, {**same, "tags": []})


async def test_writes_run_in_order_and_one_at_a_time() -> None:
    events: list[str] = []

    async def write(name: str) -> None:
        events.append(f"{name} begins")
        await asyncio.sleep(0)
        events.append(f"{name} ends")

    writer = PipelinedWriter()
    await writer.submit(write("a"))
    await writer.submit(write("b"))
    events.append("prepared")
    await writer.drain()
    assert events == ["a begins", "a ends", "b begins", "prepared", "b ends"]


async def test_writes_of_which_the_order_does_not_matter_run_side_by_side() -> None:
    events: list[str] = []
    may_end = asyncio.Event()

    async def write(name: str) -> None:
        events.append(f"{name} begins")
        await may_end.wait()
        events.append(f"{name} ends")

    writer = PipelinedWriter(2)
    await writer.submit(write("a"))
    await writer.submit(write("b"))
    third = asyncio.ensure_future(writer.submit(write("c")))
    while len(events) < 2:
        await asyncio.sleep(0)
    assert not third.done()
    may_end.set()
    await third
    assert events[:4] == ["a begins", "b begins", "a ends", "b ends"]
    await writer.drain()
    assert events[4:] == ["c begins", "c ends"]


async def test_the_next_batch_is_read_while_one_is_worked_on() -> None:
    events: list[str] = []

    async def read() -> AsyncGenerator[int]:
        for number in range(3):
            events.append(f"{number} is read")
            yield number

    async for number in read_ahead(read()):
        events += [f"{number} is worked on"]
    assert events[:3] == ["0 is read", "1 is read", "0 is worked on"]
    assert events[-1] == "2 is worked on"


async def test_reading_ahead_ends_with_its_consumer_and_raises_the_error_of_the_reader() -> None:
    closed = asyncio.Event()

    async def read() -> AsyncGenerator[int]:
        try:
            yield 1
            await asyncio.sleep(60)
        finally:
            closed.set()

    batches = read_ahead(read())
    assert await anext(batches) == 1
    await batches.aclose()
    assert closed.is_set()

    async def fail() -> AsyncGenerator[int]:
        yield 1
        raise OSError("MongoDB is lost")

    with pytest.raises(OSError, match="MongoDB is lost"):
        assert [number async for number in read_ahead(fail())] == []


async def test_an_error_is_raised_by_the_next_call_and_no_other_write_starts() -> None:
    async def fail() -> None:
        raise OSError("disk full")

    async def write() -> None:
        raise AssertionError("must not start")

    writer = PipelinedWriter()
    await writer.submit(fail())
    with pytest.raises(OSError, match="disk full"):
        await writer.submit(write())
    await writer.drain()


def assets(*ids: str) -> dict[str, list[dict[str, Any]]]:
    return {"assets": [{"id": id, "name": f"Name of {id}"} for id in ids]}


async def staged(staging: Staging, kind: RecordType[Any]) -> list[list[tuple[str, str]]]:
    """The keys and origins of the staged members, batch by batch."""
    return [
        [(document["_id"], document["_place"]) for document in batch]
        async for batch in staging.iter_batches(kind)
    ]


async def test_members_come_back_in_bundle_order_in_batches(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "BATCH_DOCUMENTS", 2)
    staging = await stage(database, assets("c", "a"), assets("b"))
    assert await staged(staging, RECORD_TYPES[0]) == [
        [("c", "b0: $.assets[0]"), ("a", "b0: $.assets[1]")],
        [("b", "b1: $.assets[0]")],
    ]


async def test_members_that_may_share_a_key_come_sorted_so_that_they_are_neighbours(
    database: Any,
) -> None:
    staging = await stage(database, {"attribute_assignments": SMALL["attribute_assignments"]})
    (batch,) = await staged(staging, ASSIGNMENTS)
    assert [key for key, _ in batch] == ["extras\0u1\0quiet", "extras\0u1\0view", "plan\0u1\0s"]


async def test_a_repeated_key_is_a_violation_that_names_both_origins(database: Any) -> None:
    with pytest.raises(BundleError) as caught:
        await stage(database, assets("a", "b", "a"), assets("b", "c"))
    assert caught.value.violations == [
        'b0: $.assets[2]: asset "a" is already at b0: $.assets[0]',
        'b1: $.assets[0]: asset "b" is already at b0: $.assets[1]',
    ]


@pytest.mark.parametrize("many", [1, 3])
async def test_this_is_so_too_where_the_index_is_built_at_the_end(
    database: Any, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    monkeypatch.setattr(staging_module, "BULK_MEMBERS", many)
    with pytest.raises(BundleError) as caught:
        await stage(database, assets("a", "b"), assets("c", "d"), assets("d", "e", "a"))
    assert sorted(caught.value.violations) == [
        'b2: $.assets[0]: asset "d" is already at b1: $.assets[1]',
        'b2: $.assets[2]: asset "a" is already at b0: $.assets[0]',
    ]


async def test_only_the_first_member_of_a_key_is_kept_so_that_others_can_be_checked(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging_module, "BULK_MEMBERS", 1)
    monkeypatch.setattr(driver, "BATCH_DOCUMENTS", 2)
    staging, violations = Staging(database, "import"), Violations()
    content = io.BytesIO(json.dumps(assets("a", "b", "a", "b", "a", "c")).encode())
    for member in read_members(content, "b", violations):
        await staging.add_members([member], violations)
    await staging.build_indexes(violations)
    batches = await staged(staging, RECORD_TYPES[0])
    assert [key for batch in batches for key, _ in batch] == ["a", "b", "c"]
    assert [each.place for each in violations.list_first()] == [
        f"b: $.assets[{number}]" for number in (2, 3, 4)
    ]
    indexes = await database[staging.collection_of("assets").name].index_information()
    assert "_key_1__id_1" in indexes


async def test_dropping_also_drops_what_killed_imports_left_and_nothing_else(database: Any) -> None:
    await database["api_key_uses"].insert_one({"_id": "live"})
    await stage(database, assets("a"), import_id="killed")
    staging = await stage(database, SMALL)
    await staging.drop(await staging.list_names())
    names = await database.list_collection_names()
    assert [name for name in names if name.startswith(STAGING_PREFIX)] == []
    assert await database["api_key_uses"].count_documents({}) == 1
    assert await staged(staging, RECORD_TYPES[0]) == []


async def test_a_plan_names_what_is_added_and_each_field_that_changes(
    database: Any, bundle: Path, path: Path
) -> None:
    await import_bundles(database, [bundle])
    source = {"units": [*small()["units"], {**SMALL["units"][0], "id": "u9"}]}
    source["units"][0] |= {"name": "x" * 200, "map_ids": None}
    source["level_tags"] = [SMALL["level_tags"][0] | {"values": []}]
    summary = await mirror(database, path, source, dry_run=True)
    assert summary.plan is not None
    assert summary.plan.changes == [
        RecordChange(
            "units",
            "changed",
            "u1",
            [
                FieldChange("name", '"101"', '"' + "x" * 78 + "\N{HORIZONTAL ELLIPSIS}"),
                FieldChange("map_ids", '["am"]', "null"),
            ],
        ),
        RecordChange("units", "added", "u9"),
        RecordChange(
            "level_tags",
            "changed",
            "am/floor",
            [
                FieldChange(
                    "values",
                    '[{"name":"First","value":"a1"},{"name":"Roof","value":"roof"}]',
                    "[]",
                )
            ],
        ),
    ]


async def test_a_plan_shows_the_items_and_drawings_that_differ(
    database: Any, bundle: Path, path: Path
) -> None:
    plan = small()["attribute_groups"][0]
    plan["attributes"] = [
        {"attribute_id": each, "attribute_name": each.title(), "attribute_key": each}
        for each in ("s", "vacant", "occupied", "leased")
    ]
    group = {"attribute_groups": [{**plan, "attributes": plan["attributes"][:3]}]}
    drawing = {
        "id": "am",
        "asset_id": "a",
        "name": "Plates",
        "background_id": "ab",
        "tags": ["ils"],
    }
    old, new = (to_data_url(f"<svg>{text}</svg>".encode()) for text in ("one", "x" * 1_000))
    await import_bundles(database, [bundle])
    written: list[RecordChange] = []
    request = ChangeRequest(is_planned=True, write_change=written.append)
    await mirror(database, path, {**group, "maps": [{**drawing, "source": old}]}, request)
    written.clear()
    source = {"attribute_groups": [plan], "maps": [{**drawing, "source": new}]}
    summary = await mirror(database, path, source, request, dry_run=True)
    assert summary.plan is not None
    shown = {each.record_id: each.fields for each in summary.plan.changes}
    leased = '{"attribute_id":"leased","attribute_name":"Leased","attribute_key":"leased"}'
    assert shown["plan"] == [FieldChange("attributes", "[…]", f"[…,{leased}]")]
    [change] = shown["am"]
    assert re.fullmatch(r"drawing [0-9a-f]{8} \(14 bytes\)", change.before)
    assert re.fullmatch(r"drawing [0-9a-f]{8} \(1,0\d\d bytes\)", change.after)
    [whole] = [each.fields[0] for each in written if each.record_id == "plan"]
    assert json.loads(whole.after) == plan["attributes"]


async def test_a_plan_lists_the_first_changes_and_writes_all(
    database: Any, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.importing.change_plan.MAX_LISTED_CHANGES", 2)
    written: list[RecordChange] = []
    request = ChangeRequest(is_planned=True, write_change=written.append)
    summary = await mirror(database, path, SMALL, request)
    assert summary.plan is not None
    total = sum(len(array) for array in SMALL.values())
    assert len(written) == total == len(summary.plan.changes) + summary.plan.unlisted
    assert sum(change.kind == "units" for change in summary.plan.changes) == 2


async def test_a_wrong_mirror_is_undone_by_importing_its_undo_file(
    database: Any, bundle: Path, path: Path
) -> None:
    await import_bundles(database, [bundle])
    before = await exported(database)
    undo = path.with_name("undo.ndjson")
    request = MIRROR._replace(undo_path=undo)
    wrong: Bundle = {name: [] for name in SMALL}
    assert (await mirror(database, path, wrong, request, dry_run=True)).undo is None
    assert not undo.exists()
    summary = await mirror(database, path, wrong, request)
    assert summary.undo == str(undo)
    assert await ids_of(database, "units") == []
    await import_bundles(database, [undo])
    assert await exported(database) == before
    with pytest.raises(Exception, match="exists already"):
        await mirror(database, path, wrong, request)
    assert [each.name for each in path.parent.iterdir() if "partial" in each.name] == []


@pytest.mark.parametrize("was_single", [True, False])
async def test_the_undo_file_leaves_how_many_attributes_units_have(
    database: Any, path: Path, was_single: bool
) -> None:
    """Units that stay may have got as many: there were none, or the import would be refused."""
    catalog = small() | {"attribute_assignments": []}
    [group, *groups] = catalog["attribute_groups"]
    group["one_attribute_per_unit"] = was_single
    await import_bundles(database, [write_arrays(path, catalog)])
    changed = {**group, "group_name": "wrong", "one_attribute_per_unit": not was_single}
    given = [
        {"group_id": "plan", "attribute_id": each, "asset_id": "a", "unit_id": "u1"}
        for each in (["s", "t"] if was_single else ["s"])
    ]
    source = catalog | {
        "units": catalog["units"][:1],
        "attribute_groups": [changed, *groups],
        "attribute_assignments": given,
    }
    undo = path.with_name("undo.ndjson")
    await mirror(database, path, source, MIRROR._replace(undo_path=undo))
    await import_bundles(database, [undo])
    assert await ids_of(database, "units") == ["u1", "u2", "v1"]
    undone = await database["attribute_groups"].find_one({"_id": "plan"})
    assert undone["group_name"] == group["group_name"]
    assert undone["one_attribute_per_unit"] is not was_single


# Files that get their name when they are kept


def test_a_kept_file_has_its_name_and_all_that_was_written(tmp_path: Path) -> None:
    path = tmp_path / "undo.ndjson"
    with open_pending_file(path) as file:
        file.stream.write(b"{}\n")
        assert not path.exists()
        file.keep()
        assert path.read_bytes() == b"{}\n"
    assert [*tmp_path.iterdir()] == [path]
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_not_kept_is_deleted(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), open_pending_file(tmp_path / "undo.ndjson"):
        raise ZeroDivisionError
    assert [*tmp_path.iterdir()] == []


def test_a_file_that_has_taken_the_name_meanwhile_stays(tmp_path: Path) -> None:
    path = tmp_path / "undo.ndjson"
    with open_pending_file(path) as file:
        path.write_text("of another program")
        with pytest.raises(FileExistsError):
            file.keep()
    assert path.read_text() == "of another program"
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize("fails", ["open", "fsync"])
def test_an_error_names_the_file_that_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    def is_full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "undo.ndjson"
    monkeypatch.setattr(os, fails, is_full)
    with pytest.raises(OSError, match="No space left") as caught, open_pending_file(path) as file:
        file.keep()
    assert caught.value.filename == str(path)


def test_what_a_killed_program_has_left_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "undo.ndjson"
    (tmp_path / "undo.ndjson.partial").write_text("half")
    with open_pending_file(path) as file:
        file.keep()
    assert path.read_bytes() == b""
