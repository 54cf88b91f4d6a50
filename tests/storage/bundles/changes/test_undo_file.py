"""Undo files bring back what was, whatever the import has added that stays."""

from pathlib import Path
from typing import Any

import pytest

from storage.bundles.importing.import_bundles import import_bundles
from tests.storage.bundles.removing.mirroring import MIRROR, exported, ids_of, mirror
from tests.storage.catalogs import ONE_DRIVER, SMALL, Bundle, contents, small, write_arrays

pytestmark = [pytest.mark.anyio, pytest.mark.slow, ONE_DRIVER]


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


async def test_undone_changes_keep_all_but_the_time_of_the_last_change(
    database: Any, bundle: Path, path: Path
) -> None:
    await import_bundles(database, [bundle])
    before = await contents(database)
    source = small()
    source["units"] = source["units"][1:]
    source["units"][0]["name"] = "wrong"
    undo = path.with_name("undo.ndjson")
    await mirror(database, path, {"units": source["units"]}, MIRROR._replace(undo_path=undo))
    await import_bundles(database, [undo])
    after = await contents(database)
    for documents in (before["units"], after["units"]):
        for document in documents:
            del document["updated_at"]
    for name in SMALL:
        assert after[name] == before[name]


async def test_the_undo_file_takes_no_attribute_from_a_unit_that_stays(
    database: Any, bundle: Path, path: Path
) -> None:
    await import_bundles(database, [bundle])
    [group, *groups] = SMALL["attribute_groups"]
    new = {"attribute_id": "new", "attribute_name": "New", "attribute_key": "new"}
    added = {**SMALL["units"][0], "id": "added"}
    assignment = {
        "group_id": group["group_id"],
        "attribute_id": "new",
        "asset_id": added["asset_id"],
        "unit_id": "added",
    }
    changed = {
        "units": [*SMALL["units"][1:], added],
        "attribute_groups": [{**group, "attributes": [*group["attributes"], new]}, *groups],
        "attribute_assignments": [assignment],
    }
    undo = path.with_name("undo.ndjson")
    await mirror(database, path, changed, MIRROR._replace(undo_path=undo))
    await import_bundles(database, [undo])
    assert {"added", SMALL["units"][0]["id"]} <= {*await ids_of(database, "units")}


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
