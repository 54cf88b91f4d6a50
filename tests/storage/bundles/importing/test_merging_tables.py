"""Merging spreadsheets: only filled cells change something."""

from pathlib import Path
from typing import Any

import pytest

from storage.bundles.changes.change_request import ChangeRequest
from storage.bundles.importing.import_bundles import ImportCounts, import_bundles
from storage.bundles.reading.tables.mapping.files import parse_mapping
from storage.bundles.reading.tables.reader import Spreadsheet
from storage.errors import BundleError
from tests.storage.bundles.importing.test_merging import find
from tests.storage.catalogs import SMALL, contents, write_arrays

pytestmark = pytest.mark.anyio


@pytest.fixture
async def catalog(database: Any, tmp_path: Path) -> Any:
    await import_bundles(database, [write_arrays(tmp_path / "small.json", SMALL)])
    return database


async def merge(database: Any, path: Path, text: str, mapping: Any = None) -> ImportCounts:
    path.write_text(text)
    sheet = Spreadsheet(path, parse_mapping(mapping or {}))
    summary = await import_bundles(database, [sheet], changes=ChangeRequest(merges=True))
    return summary.total


async def merge_violations(database: Any, path: Path, text: str) -> list[str]:
    before = await contents(database)
    with pytest.raises(BundleError) as caught:
        await merge(database, path, text)
    assert await contents(database) == before
    return [each.removeprefix(f"{path}: ") for each in caught.value.violations]


async def test_an_empty_cell_changes_nothing_and_an_empty_list_is_written(
    catalog: Any, tmp_path: Path
) -> None:
    path = tmp_path / "units.csv"
    before = await find(catalog, "units", "u1")
    assert before["map_ids"]
    await merge(catalog, path, "id,name,map_ids\nu1,101A,\n")
    assert (await find(catalog, "units", "u1"))["map_ids"] == before["map_ids"]
    await merge(catalog, path, "id,name,map_ids\nu1,,[]\n")
    after = await find(catalog, "units", "u1")
    assert (after["name"], after["map_ids"]) == ("101A", [])


async def test_a_member_always_needs_its_key(catalog: Any, tmp_path: Path) -> None:
    assert await merge_violations(catalog, tmp_path / "units.csv", "name,floor_id\n1,a1\n") == [
        'row 1: there is no column "ID", which is required'
    ]


async def test_defaults_of_the_mapping_are_for_new_records(catalog: Any, tmp_path: Path) -> None:
    path = tmp_path / "maps.csv"
    mapping = {"asset": "a", "defaults": {"style": "b", "tags": "ils"}}
    before = await find(catalog, "maps", "am")
    await merge(catalog, path, "id,name\nam,Renamed\nnew,New\n", mapping)
    after, new = await find(catalog, "maps", "am"), await find(catalog, "maps", "new")
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
    assert await merge(database, path, text) == ImportCounts(unchanged=7)
    assert await contents(database) == before

    changed = await merge(
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
    catalog: Any, tmp_path: Path
) -> None:
    """The sheet has no column for them, so they stay as they are."""
    groups, table = tmp_path / "attribute-groups.csv", tmp_path / "layouts.csv"
    groups.write_text("group_id,group_name\nplan,Layout\n")
    table.write_text("Asset ID,Unit ID,attribute:Layout\na,u1,s\n")
    changes = ChangeRequest(merges=True)
    summary = await import_bundles(catalog, [groups, table], changes=changes)
    assert (summary.total.updated, summary.total.unchanged) == (1, 1)
    table.write_text("Asset ID,Unit ID,attribute:Layout\na,u1,none such\n")
    with pytest.raises(BundleError, match='group "plan" has no attribute "none such"'):
        await import_bundles(catalog, [groups, table], changes=changes)
