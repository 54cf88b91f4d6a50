"""What is exported into a bundle or a workbook is read from it again."""

import csv
import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.bundles.description import build_bundle_schema
from storage.bundles.drawings import ParsedSource
from storage.bundles.json_bundles import parse_member
from storage.bundles.names import header_of
from storage.catalog import ASSIGNMENTS, RECORD_TYPES, RECORD_TYPES_BY_NAME
from storage.errors import StorageError
from storage.exporting.bundles import export_bundle
from storage.exporting.workbooks import (
    create_workbook,
    export_attributes,
    export_workbook,
    title_of,
)
from storage.importing.import_bundles import ImportCounts, import_bundles
from storage.records.visibility import AssetScope
from storage.spreadsheets.cells import ERROR_VALUES, INVISIBLE
from storage.spreadsheets.record_sheets import column_fields
from tests.storage.catalogs import SMALL, Bundle, small, text_of, write_arrays
from tests.storage.importing.random_catalogs import DEAR, catalogs, load_alone, without_times
from tests.storage.spreadsheets.spreadsheets import read

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>'
MEMBERS = sum(len(array) for array in SMALL.values())


async def load(database: Any, path: Path, bundle: Bundle) -> ImportCounts:
    return (await import_bundles(database, [write_arrays(path, bundle)])).total


async def test_an_empty_catalog_is_an_empty_bundle(database: Any) -> None:
    exported = json.loads(await text_of(export_bundle(database)))
    assert exported == {kind.name: [] for kind in RECORD_TYPES}
    assert await text_of(export_bundle(database, lines=True)) == b""


async def test_members_have_the_fields_of_their_resource(database: Any, path: Path) -> None:
    await load(database, path, small())
    exported = json.loads(await text_of(export_bundle(database)))
    jsonschema_rs.validate(build_bundle_schema(), exported)
    unit = exported["units"][0]
    assert unit.pop("created_at") == unit.pop("updated_at")
    assert unit == SMALL["units"][0]
    assert exported["attribute_assignments"][-1] == SMALL["attribute_assignments"][0]


async def test_members_come_in_the_order_of_their_keys(database: Any, path: Path) -> None:
    ids = ["b", "a", "\N{GRINNING FACE}", "\uffee", "A", "a/"]
    await load(database, path, {"assets": [{"id": id, "name": ""} for id in ids]})
    exported = json.loads(await text_of(export_bundle(database)))
    assert [asset["id"] for asset in exported["assets"]] == sorted(ids)


def two_assets() -> Bundle:
    """Two properties; each uses a group of attributes of its own, and both use a third."""
    bundle = small()
    attributes = [{"attribute_id": "x", "attribute_name": "X", "attribute_key": "x"}]
    bundle["attribute_groups"].append(
        {"group_id": "both", "group_name": "Both", "attributes": attributes}
    )
    bundle["attribute_assignments"] += [
        {"group_id": "extras", "attribute_id": "view", "asset_id": "b", "unit_id": "v1"},
        {"group_id": "both", "attribute_id": "x", "asset_id": "a", "unit_id": "u2"},
        {"group_id": "both", "attribute_id": "x", "asset_id": "b", "unit_id": "v1"},
    ]
    bundle["attribute_assignments"] = [
        each
        for each in bundle["attribute_assignments"]
        if (each["group_id"], each["asset_id"]) != ("extras", "a")
    ]
    return bundle


async def test_the_scope_of_an_asset_has_the_groups_that_its_units_use(
    database: Any, path: Path
) -> None:
    await load(database, path, two_assets())
    for asset, groups in (("a", ["both", "plan"]), ("b", ["both", "extras"])):
        scope = AssetScope(frozenset({asset}))
        exported = json.loads(await text_of(export_bundle(database, scope)))
        assert [group["group_id"] for group in exported["attribute_groups"]] == groups
        assert [each["id"] for each in exported["assets"]] == [asset]
        assert {unit["asset_id"] for unit in exported["units"]} == {asset}


@pytest.mark.parametrize("lines", [False, True])
async def test_the_exports_of_all_assets_are_together_the_whole_export(
    database: Any, path: Path, lines: bool
) -> None:
    await load(database, path, two_assets())
    whole = await text_of(export_bundle(database))
    scopes = [AssetScope(frozenset({asset})) for asset in ("b", "a")]
    parts = [await text_of(export_bundle(database, scope, lines=lines)) for scope in scopes]
    await load_alone(database, path, {"assets": []})
    for part in parts:
        await import_bundles(database, [part])
    assert await text_of(export_bundle(database)) == whole


async def test_an_export_is_a_snapshot_of_when_it_began(database: Any, path: Path) -> None:
    bundle = small()
    bundle["units"] += [
        {"id": f"n{number:06}", "asset_id": "a", "floor_id": "a1", "name": "before"}
        for number in range(9000)  # more than one piece
    ]
    await load(database, path, bundle)
    parts = export_bundle(database)
    first = await anext(parts)
    await database["locations"].delete_many({})
    await database["units"].update_many({}, {"$set": {"name": "after"}})
    exported = json.loads(first + await text_of(parts))
    assert {unit["name"] for unit in exported["units"]} == {"101", "102", "before"}
    assert len(exported["locations"]) == 1


async def uppercase_source(content: bytes) -> ParsedSource:
    return ParsedSource(content.upper())


async def test_an_export_contains_the_drawings(database: Any, tmp_path: Path) -> None:
    (tmp_path / "am.svg").write_bytes(SVG)
    bundle = small()
    bundle["maps"][0]["source"] = "am.svg"
    path = write_arrays(tmp_path / "b.json", bundle)
    await import_bundles(database, [path], parse_source=uppercase_source)
    exported = await text_of(export_bundle(database))
    path.write_bytes(exported)
    (tmp_path / "am.svg").unlink()
    again = await import_bundles(database, [path], parse_source=uppercase_source)
    assert again.total == ImportCounts(unchanged=MEMBERS)
    await load_alone(database, tmp_path / "none.json", {"assets": []})
    await import_bundles(database, [path], parse_source=uppercase_source)
    assert await text_of(export_bundle(database)) == exported


@given(bundle=catalogs(), lines=st.booleans())
@DEAR
async def test_any_catalog_survives_export_and_import(
    database: Any, path: Path, bundle: Bundle, lines: bool
) -> None:
    await load_alone(database, path, bundle)
    exported = await text_of(export_bundle(database, lines=lines))
    size = sum(len(array) for array in bundle.values())
    assert await load(database, path, bundle) == ImportCounts(unchanged=size)
    await load_alone(database, path, {"assets": []})
    path.write_bytes(exported or b'{"assets": []}')
    assert (await import_bundles(database, [path])).total == ImportCounts(inserted=size)
    assert await text_of(export_bundle(database, lines=lines)) == exported


def is_kept_by_a_cell(text: str) -> bool:
    return text == text.strip().strip(INVISIBLE).strip() and text not in {*ERROR_VALUES, "[]"}


TEXT = st.text(
    st.characters(codec="utf-8", exclude_characters="\0\r\ufffe\uffff"), min_size=1, max_size=12
).filter(is_kept_by_a_cell)
TAG = TEXT.filter(lambda text: "," not in text)
NUMBER = st.floats(-1e9, 1e9)
STRATEGIES: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "units": {
        **dict.fromkeys(("id", "asset_id", "floor_id", "name"), TEXT),
        "map_ids": st.none() | st.lists(TEXT, max_size=3),
    },
    "floors": {**dict.fromkeys(("id", "asset_id", "name"), TEXT), "sort": st.integers(-9, 99)},
    "maps": {
        **dict.fromkeys(("id", "asset_id", "name", "style"), TEXT),
        "tags": st.lists(TAG, max_size=3),
        "feet_per_unit": st.none() | st.floats(1e-6, 1e6),
    },
    "level_tags": {
        **dict.fromkeys(("map_id", "key", "name"), TEXT),
        "values": st.lists(st.fixed_dictionaries({"name": TEXT, "value": TEXT}), max_size=3),
    },
    "attribute_groups": {
        **dict.fromkeys(("group_id", "group_name"), TEXT),
        "one_attribute_per_unit": st.booleans(),
        "attributes": st.lists(
            st.fixed_dictionaries(
                dict.fromkeys(("attribute_id", "attribute_name", "attribute_key"), TEXT)
            ),
            max_size=3,
            unique_by=lambda attribute: attribute["attribute_id"],
        ),
    },
    "locations": {
        **dict.fromkeys(("id", "asset_id", "unit_map_id", "name"), TEXT),
        "x": NUMBER,
        "y": NUMBER,
        "floors": st.lists(st.fixed_dictionaries({"id": TEXT}), max_size=2),
        "tags": st.lists(st.fixed_dictionaries({"key": TEXT, "value": TEXT}), max_size=2),
    },
}
CATALOGS = st.fixed_dictionaries(
    {
        kind: st.lists(st.fixed_dictionaries(fields), max_size=3)
        for kind, fields in STRATEGIES.items()
    }
)


@given(catalog=CATALOGS)
@DEAR
def test_random_records_are_read_as_they_were_written(
    catalog: dict[str, list[dict[str, Any]]], tmp_path: Path
) -> None:
    path = tmp_path / "catalog.xlsx"
    with create_workbook(path) as workbook:
        for name, members in catalog.items():
            fields = column_fields(RECORD_TYPES_BY_NAME[name])
            headers = [header_of(each.name) for each in fields]
            sheet = workbook.add_sheet(title_of(name), headers)
            for member in members:
                workbook.add_record(sheet, fields, member)
    assert workbook.notes == []
    found = read(path)
    assert found.errors == []
    assert found.members == {
        name: [parse_member(RECORD_TYPES_BY_NAME[name], member) for member in members]
        for name, members in catalog.items()
        if members
    }


def test_what_a_cell_cannot_hold_is_noted(tmp_path: Path) -> None:
    kind = RECORD_TYPES_BY_NAME["assets"]
    with create_workbook(tmp_path / "a.xlsx") as workbook:
        sheet = workbook.add_sheet("Assets", [each.name for each in column_fields(kind)])
        for name in ("Oak", " Oak", "", "#REF!"):
            workbook.add_record(sheet, column_fields(kind), {"id": "a", "name": name})
    assert [note.split(":")[0] for note in workbook.notes] == [
        '"Assets", cell B3',
        '"Assets", cell B4',
        '"Assets", cell B5',
    ]


def test_what_does_not_fit_a_cell_is_an_error_and_leaves_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    path.write_text("before")
    with pytest.raises(StorageError, match=r"row 3, name: a cell holds 32,767 characters"):  # noqa: SIM117
        with create_workbook(path) as workbook:
            sheet = workbook.add_sheet("Assets", ["name"])
            sheet.add_row(["x" * 32_767])
            sheet.add_row(["x" * 32_768])
    assert path.read_text() == "before"
    assert [*tmp_path.iterdir()] == [path]


async def test_an_exported_workbook_goes_back_in_unchanged(database: Any, tmp_path: Path) -> None:
    await import_bundles(database, [write_arrays(tmp_path / "b.json", small())])
    before = await text_of(export_bundle(database))
    path = tmp_path / "catalog.xlsx"
    assert await export_workbook(database, path) == []
    summary = await import_bundles(database, [path])
    assert summary.total == ImportCounts(unchanged=MEMBERS)
    assert await text_of(export_bundle(database)) == before


async def test_exported_attributes_go_back_in_unchanged(database: Any, tmp_path: Path) -> None:
    name = "attributes.xlsx"
    await import_bundles(database, [write_arrays(tmp_path / "b.json", small())])
    await export_attributes(database, tmp_path / name)
    summary = await import_bundles(database, [tmp_path / name])
    assert summary.total == ImportCounts(unchanged=len(SMALL["attribute_assignments"]))


async def test_of_exported_attributes_exactly_the_changed_cells_change(
    database: Any, tmp_path: Path
) -> None:
    await import_bundles(database, [write_arrays(tmp_path / "b.json", small())])
    before = json.loads(await text_of(export_bundle(database)))
    path = tmp_path / "attributes.csv"
    await export_attributes(database, path)
    with path.open(encoding="utf-8-sig", newline="") as file:
        headers, *rows = csv.reader(file)
    for row in rows:
        if row[1] == "u1":
            row[headers.index("attribute:Floor plan")] = "Two rooms"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([headers, *rows])
    assert (await import_bundles(database, [path])).total.written == 1
    after = json.loads(await text_of(export_bundle(database)))
    for member in before[ASSIGNMENTS.name]:
        if member["group_id"] == "plan":
            member["attribute_id"] = "t"
    assert without_times(after) == without_times(before)


async def test_errors_of_owners_name_the_column(database: Any, tmp_path: Path) -> None:
    await import_bundles(database, [write_arrays(tmp_path / "b.json", small())])
    path = tmp_path / "units.csv"
    path.write_text("ID,Asset ID,Floor ID,Name\nn1,a,nowhere,1\nu1,b,b1,101\n")
    with pytest.raises(Exception) as caught:
        await import_bundles(database, [path])
    assert f'{path}: row 2, column "Floor ID": there is no floor "nowhere"' in str(caught.value)
    assert f'{path}: row 3, column "Asset ID": unit "u1" belongs to "a"' in str(caught.value)
