"""Mirroring a source: what an import removes, of bundles and of spreadsheets."""

from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest
from hypothesis import Phase, given, settings

from storage.errors import BundleError, PlanChangedError, RemovalRefusedError
from storage.exporting.bundles import export_bundle
from storage.importing.change_plan import NO_REMOVALS, ChangeRequest, FieldChange, RecordChange
from storage.importing.import_bundles import (
    ImportCounts,
    ImportRun,
    ImportSummary,
    finish_interrupted_import,
    import_bundles,
)
from storage.importing.removals import RemovalLimit
from tests.storage.catalogs import (
    SMALL,
    Bundle,
    contents,
    expire_lease,
    small,
    text_of,
    write_arrays,
    write_lines,
)
from tests.storage.importing.random_catalogs import DEAR, catalogs, load_alone, records_of

NO_LIMIT = RemovalLimit(None)
MIRROR = ChangeRequest(mirrors=True, limit=NO_LIMIT, is_planned=True)


async def mirror(
    database: Any, path: Path, bundle: Bundle, request: ChangeRequest = MIRROR, **options: Any
) -> ImportSummary:
    """Import a bundle so that the catalog has what it has, and nothing else."""
    source = write_arrays(path, bundle)
    return await import_bundles(database, [source], changes=request, **options)


async def remove(database: Any, kind: str, *keys: str, **options: Any) -> ImportSummary:
    request = ChangeRequest(
        removed_kind=kind, removed_keys=keys, limit=NO_LIMIT, is_planned=True, **options
    )
    return await import_bundles(database, [], changes=request)


def removed_by(summary: ImportSummary) -> dict[str, list[str]]:
    """The ids of what is removed, by kind."""
    found: dict[str, list[str]] = {}
    for change in changes_of(summary, "removed"):
        found.setdefault(change.kind, []).append(change.record_id)
    return found


def changes_of(summary: ImportSummary, operation: str) -> list[RecordChange]:
    assert summary.plan is not None
    return [change for change in summary.plan.changes if change.operation == operation]


async def exported(database: Any) -> bytes:
    return await text_of(export_bundle(database))


async def ids_of(database: Any, kind: str) -> list[str]:
    return sorted([document["_id"] async for document in database[kind].find()])


async def test_what_the_source_no_longer_has_is_removed(
    database: Any, bundle: Path, path: Path
) -> None:
    await import_bundles(database, [bundle])
    source = {"units": SMALL["units"][1:], "unit_references": []}
    summary = await mirror(database, path, {**source, "attribute_assignments": []})
    assert removed_by(summary) == {
        "units": ["u1"],
        "unit_references": ["u1/keyring"],
        "attribute_assignments": ["extras/u1/quiet", "extras/u1/view", "plan/u1/s"],
    }
    assert summary.kinds["units"] == ImportCounts(unchanged=2, removed=1)
    assert await ids_of(database, "units") == ["u2", "v1"]
    assert await ids_of(database, "unit_references") == []


async def test_a_kind_that_the_source_does_not_mention_stays(
    database: Any, bundle: Path, path: Path
) -> None:
    await import_bundles(database, [bundle])
    before = await exported(database)
    for source in ({"assets": SMALL["assets"]}, {"floors": SMALL["floors"]}):
        assert (await mirror(database, path, source)).total.removed == 0
    lines = write_lines(path.with_suffix(".ndjson"), {"units": SMALL["units"]})
    assert (await import_bundles(database, [lines], changes=MIRROR)).total.removed == 0
    assert await exported(database) == before


async def test_dependents_are_removed_with_their_owner(
    database: Any, bundle: Path, path: Path
) -> None:
    await import_bundles(database, [bundle])
    summary = await remove(database, "asset", "a")
    assert {name: counts.removed for name, counts in summary.kinds.items()} == {
        "assets": 1,
        "floors": 1,
        "backgrounds": 1,
        "maps": 1,
        "units": 2,
        "level_tags": 1,
        "asset_references": 1,
        "unit_references": 1,
        "attribute_assignments": 3,
        "locations": 1,
    }
    assert {change.record_id: change.removed_with for change in changes_of(summary, "removed")} == {
        "a": None,
        "a1": "asset a",
        "ab": "map am",
        "am": "asset a",
        "u1": "asset a",
        "u2": "asset a",
        "am/floor": "map am",
        "r": "asset a",
        "u1/keyring": "asset a",
        "extras/u1/quiet": "asset a",
        "extras/u1/view": "asset a",
        "plan/u1/s": "asset a",
        "l": "asset a",
    }
    left = small()
    left = {
        name: [each for each in array if "b" in (each.get("id"), each.get("asset_id"))]
        for name, array in left.items()
    } | {"attribute_groups": SMALL["attribute_groups"], "backgrounds": [SMALL["backgrounds"][1]]}
    again = await mirror(database, path, left)
    assert again.total.written == 0


async def test_references_to_what_is_removed_are_cleared(database: Any, path: Path) -> None:
    catalog = small()
    catalog["floors"].append({"id": "a2", "asset_id": "a", "name": "Second"})
    catalog["locations"][0]["floors"] = [{"id": "a1"}, {"id": "a2"}]
    await import_bundles(database, [write_arrays(path, catalog)])
    summary = await remove(database, "floors", "a2")
    assert changes_of(summary, "changed") == [
        RecordChange(
            "locations",
            "changed",
            "l",
            [FieldChange("floors", '[{"id":"a1"},{"id":"a2"}]', '[{"id":"a1"}]')],
        )
    ]
    assert (await database["locations"].find_one())["floors"] == [{"id": "a1"}]
    summary = await remove(database, "background", "ab")
    assert (await database["maps"].find_one({"_id": "am"}))["background_id"] is None
    assert summary.kinds["maps"] == ImportCounts(updated=1)
    await remove(database, "map", "am")
    # Not null, which would show the unit on every other map of the asset.
    assert (await database["units"].find_one({"_id": "u1"}))["map_ids"] == []


async def test_a_location_goes_with_its_last_floor_and_its_unit(database: Any, path: Path) -> None:
    catalog = small()
    catalog["floors"].append({"id": "a2", "asset_id": "a", "name": "Second"})
    tags = [{"key": "svc:type", "value": "unit"}, {"key": "svc:id", "value": "u1"}]
    at = {"asset_id": "a", "unit_map_id": "am", "name": "Door", "x": 0, "y": 0}
    catalog["locations"] += [
        {"id": "of-unit", **at, "tags": tags},
        {"id": "of-other-case", **at, "tags": [tags[0], {"key": "svc:id", "value": "U1"}]},
        {"id": "no-unit", **at, "tags": tags[1:]},
        {"id": "upstairs", **at, "floors": [{"id": "a2"}]},
    ]
    await import_bundles(database, [write_arrays(path, catalog)])
    assert removed_by(await remove(database, "units", "u1"))["locations"] == ["of-unit"]
    assert removed_by(await remove(database, "floors", "a2")) == {
        "floors": ["a2"],
        "locations": ["upstairs"],
    }
    assert await ids_of(database, "locations") == ["l", "no-unit", "of-other-case"]


async def test_a_member_must_not_refer_to_what_is_removed(
    database: Any, bundle: Path, path: Path
) -> None:
    await import_bundles(database, [bundle])
    before = await contents(database)
    with pytest.raises(BundleError) as caught:
        await mirror(database, path, {"floors": SMALL["floors"][1:], "units": SMALL["units"]})
    assert caught.value.violations == [
        f'{path}: $.units[{number}].floor_id: floor "a1" is removed by this import: the bundle does'
        " not have it"
        for number in (0, 1)
    ]
    assert await contents(database) == before


async def test_a_member_that_has_moved_stays_when_its_old_owner_is_removed(
    database: Any, bundle: Path, path: Path
) -> None:
    await import_bundles(database, [bundle])
    moved = small()
    moved["floors"][0]["id"] = moved["units"][0]["floor_id"] = moved["units"][1]["floor_id"] = "new"
    moved["locations"][0]["floors"] = [{"id": "new"}]
    summary = await mirror(database, path, moved)
    assert removed_by(summary) == {"floors": ["a1"]}
    assert (await mirror(database, path, moved)).total.written == 0


async def test_an_attribute_leaves_its_group_with_its_last_assignments(
    database: Any, bundle: Path, path: Path
) -> None:
    await import_bundles(database, [bundle])
    source = small()
    del source["attribute_groups"][1]["attributes"][0]
    del source["attribute_groups"][0]["attributes"][0]
    kept = source["attribute_assignments"]
    kept[0]["attribute_id"] = "t"  # in the place of what its group no longer has
    with pytest.raises(BundleError, match="cannot be removed while attribute_assignments refer"):
        await mirror(database, path, {"attribute_groups": source["attribute_groups"]})
    source["attribute_assignments"] = [kept[0], kept[2]]
    summary = await mirror(database, path, source)
    assert removed_by(summary) == {"attribute_assignments": ["extras/u1/view"]}
    assert await ids_of(database, "attribute_assignments") == ["extras\0u1\0quiet", "plan\0u1"]


async def test_only_the_named_assets_are_mirrored(database: Any, bundle: Path, path: Path) -> None:
    await import_bundles(database, [bundle])
    request = MIRROR._replace(asset_ids=frozenset({"b"}))
    source: Bundle = {name: [] for name in SMALL} | {"assets": [SMALL["assets"][1]]}
    summary = await mirror(database, path, source, request)
    assert removed_by(summary) == {
        "floors": ["b1"],
        "backgrounds": ["bb"],
        "maps": ["bm"],
        "units": ["v1"],
    }
    with pytest.raises(BundleError) as caught:
        await mirror(database, path, {"units": SMALL["units"][:1]}, request)
    assert caught.value.violations == [
        f'{path}: $.units[0]: unit "u1" belongs to asset "a", which is not one of those to mirror:'
        ' "b"'
    ]


async def test_more_than_a_fifth_of_a_kind_is_not_removed(database: Any, path: Path) -> None:
    units = [
        {"id": f"n{number:02}", "asset_id": "a", "floor_id": "a1", "name": "n"}
        for number in range(40)
    ]
    place = {name: SMALL[name][:1] for name in ("assets", "floors")}
    await import_bundles(database, [write_arrays(path, place | {"units": units})])
    default = MIRROR._replace(limit=RemovalLimit())
    with pytest.raises(RemovalRefusedError, match="9 of 40 units would be removed, more than 20%"):
        await mirror(database, path, {"units": units[9:]}, default)
    assert len(await ids_of(database, "units")) == 40
    summary = await mirror(database, path, {"units": units[9:]}, default, dry_run=True)
    assert summary.refusal == "9 of 40 units would be removed, more than 20% of a kind"
    assert len(removed_by(summary)["units"]) == 9
    with pytest.raises(RemovalRefusedError, match="1 of 1 floors"):  # with each goes much else
        await mirror(database, path, {"floors": []}, default)
    summary = await mirror(database, path, {"units": units[8:]}, default)
    assert summary.kinds["units"].removed == 8
    nine = MIRROR._replace(limit=RemovalLimit.parse("9"))
    with pytest.raises(RemovalRefusedError, match="10 records would be removed, more than the 9"):
        await mirror(database, path, {"units": units[18:]}, nine)
    await mirror(database, path, {"units": units[17:]}, nine)
    share = MIRROR._replace(limit=RemovalLimit.parse("50%"))
    await mirror(database, path, {"units": units[28:]}, share)


async def test_what_is_applied_is_what_was_shown(database: Any, bundle: Path, path: Path) -> None:
    await import_bundles(database, [bundle])
    shown = await mirror(database, path, {"units": SMALL["units"][1:]}, dry_run=True)
    assert shown.plan is not None
    expected = MIRROR._replace(expected_digest=shown.plan.digest)
    renamed = small()
    renamed["units"][1]["name"] = "renamed meanwhile"
    await import_bundles(database, [write_arrays(path, renamed)])
    with pytest.raises(PlanChangedError):
        await mirror(database, path, {"units": SMALL["units"][1:]}, expected)
    await import_bundles(database, [bundle])
    summary = await mirror(database, path, {"units": SMALL["units"][1:]}, expected)
    assert removed_by(summary)["units"] == ["u1"]


async def test_named_records_that_do_not_exist_are_named_with_similar_ones(
    database: Any, bundle: Path, path: Path
) -> None:
    catalog = small()
    catalog["units"][1]["id"] = "oak-102"
    await import_bundles(database, [write_arrays(path, catalog)])
    with pytest.raises(BundleError) as caught:
        await remove(database, "unit", "u1", "oak-103", "none")
    assert caught.value.violations == [
        'units: there is no unit "oak-103"; did you mean "oak-102"?',
        'units: there is no unit "none"',
    ]
    with pytest.raises(BundleError, match='no kind "untis"; did you mean units\\? Kinds are'):
        await remove(database, "untis", "u1")
    with pytest.raises(BundleError, match='there is no kind "flat"; kinds are asset, floor'):
        await remove(database, "flat", "u1")
    with pytest.raises(BundleError, match="write unit_id/key"):
        await remove(database, "unit-references", "u1")
    with pytest.raises(BundleError, match='no attribute_assignment "plan/u1/t"'):
        await remove(database, "attribute_assignment", "plan/u1/t")
    await remove(database, "attribute_assignment", "plan/u1/s", '["extras","u1","view"]')
    assert await ids_of(database, "attribute_assignments") == ["extras\0u1\0quiet"]


async def test_removals_are_in_the_audit_log(database: Any, bundle: Path) -> None:
    await import_bundles(database, [bundle])
    await remove(database, "unit", "u1", "u2")
    record = await database["audit_log"].find_one(sort=[("_id", -1)])
    assert record["action"] == "records.removed"
    assert record["target"] == {"kind": "units", "ids": ["u1", "u2"]}
    assert record["asset_ids"] == ["a"]
    assert {(c["kind"], c["operation"], c["count"]) for c in record["changes"]} == {
        ("units", "removed", 2),
        ("unit_references", "removed", 1),
        ("attribute_assignments", "removed", 3),
    }


@given(before=catalogs(), after=catalogs())
@settings(DEAR, phases=[Phase.explicit, Phase.generate])  # shrinking takes minutes
async def test_a_mirrored_catalog_is_its_source(
    database: Any, path: Path, before: Bundle, after: Bundle
) -> None:
    """Whatever the catalog had, and whatever its references: it becomes what the source has."""
    await load_alone(database, path, before)
    undo = path.with_name("undo.ndjson")
    undo.unlink(missing_ok=True)
    await mirror(database, path, after, MIRROR._replace(undo_path=undo))
    mirrored = await records_of(database)
    assert mirrored == await load_alone(database, path, after)


HEADERS = "Property,Floor,Unit #,Status,PMS Unit ID\n"
OAK = "Oak,1,101,Vacant,P1\nOak,1,102,Vacant,P2\nOak,2,201,Vacant,P3\n"
ELM = "Elm,1,101,Vacant,P9\n"


async def import_table(database: Any, path: Path, rows: str, **options: Any) -> Any:
    path.write_text(HEADERS + rows)
    return await import_bundles(database, [path], **options)


async def test_a_table_mirrors_the_floors_and_units_of_its_properties(
    database: Any, tmp_path: Path
) -> None:
    table = tmp_path / "units.csv"
    await import_table(database, table, OAK + ELM)
    summary = await import_table(
        database, table, OAK.replace("Oak,2,201,Vacant,P3\n", ""), changes=MIRROR
    )
    assert removed_by(summary) == {
        "floors": ["oak-floor-2"],
        "units": ["oak-201"],
        "unit_references": ["oak-201/pms-unit-id"],
        "attribute_assignments": ["status/oak-201/status-vacant"],
    }


async def test_a_property_that_is_no_longer_in_the_table_is_noted(
    database: Any, tmp_path: Path
) -> None:
    table = tmp_path / "units.csv"
    await import_table(database, table, OAK + ELM)
    note = 'not in the source, and so left as they are: units of the assets "elm"'
    assert note in (await import_table(database, table, OAK, changes=MIRROR)).notes
    for changes in (NO_REMOVALS, MIRROR._replace(asset_ids=frozenset(["oak"]))):
        assert note not in (await import_table(database, table, OAK, changes=changes)).notes
    assert note not in (await import_table(database, table, OAK + ELM, changes=MIRROR)).notes


async def test_what_has_no_column_stays_and_an_emptied_cell_removes(
    database: Any, tmp_path: Path
) -> None:
    """Others may have given references to the units of the table."""
    table = tmp_path / "units.csv"
    await import_table(database, table, OAK)
    unit = {"asset_id": "oak", "unit_id": "oak-101"}
    others: Bundle = {"unit_references": [{"group_id": "g", **unit, "key": "lock", "value": "L1"}]}
    await import_bundles(database, [write_arrays(tmp_path / "others.json", others)])
    assert removed_by(await import_table(database, table, OAK, changes=MIRROR)) == {}
    emptied = OAK.replace("101,Vacant,P1", "101,,")
    assert removed_by(await import_table(database, table, emptied, changes=MIRROR)) == {
        "unit_references": ["oak-101/pms-unit-id"],
        "attribute_assignments": ["status/oak-101/status-vacant"],
    }


async def test_a_floor_that_a_row_has_by_its_id_alone_stays_with_all_of_its_asset(
    database: Any, tmp_path: Path
) -> None:
    """Something else lists the floors then: in another asset of the table they are mirrored."""
    table = tmp_path / "units.csv"
    await import_table(database, table, OAK + ELM + "Elm,2,201,Vacant,P10\n")
    headers = "Property,Floor,Floor ID,Unit #,Status,PMS Unit ID\n"
    rows = "Oak,,oak-floor-1,101,Vacant,P1\nOak,,oak-floor-1,102,Vacant,P2\nElm,1,,101,Vacant,P9\n"
    table.write_text(headers + rows)
    summary = await import_bundles(database, [table], changes=MIRROR, dry_run=True)
    assert removed_by(summary).get("floors") == ["elm-floor-2"]
    table.write_text(headers + rows + "Oak,1,oak-floor-1,103,Vacant,P3\n")  # now a row lists it
    summary = await import_bundles(database, [table], changes=MIRROR, dry_run=True)
    assert removed_by(summary)["floors"] == ["elm-floor-2", "oak-floor-2"]


async def test_the_limit_is_a_fifth_of_what_the_table_mirrors(
    database: Any, tmp_path: Path
) -> None:
    """A table that was cut off loses most of its property, however many others there are."""
    table = tmp_path / "units.csv"
    oak = "".join(f"Oak,1,{100 + number},Vacant,\n" for number in range(30))
    elms = "".join(
        f"Elm {name},1,{100 + number},Vacant,\n" for name in "ABCDE" for number in range(30)
    )
    await import_table(database, table, oak + elms)
    cut_off = oak.splitlines(keepends=True)[0]
    default = MIRROR._replace(limit=RemovalLimit())
    with pytest.raises(RemovalRefusedError, match="29 of 30 units"):
        await import_table(database, table, cut_off, changes=default)


async def test_locations_of_processing_are_none_that_a_mirror_may_remove(
    database: Any, bundle: Path, tmp_path: Path
) -> None:
    await import_bundles(database, [bundle])
    made = [
        {**SMALL["locations"][0], "id": f"{kind}{number}"}
        for kind, count in (("hand", 11), ("processed", 60))
        for number in range(count)
    ]
    await import_bundles(database, [write_arrays(tmp_path / "made.json", {"locations": made})])
    await database["locations"].update_many(
        {"_id": {"$regex": "^processed"}}, {"$set": {"processed": True}}
    )
    none = write_arrays(tmp_path / "none.json", {"locations": []})
    default = MIRROR._replace(limit=RemovalLimit())
    with pytest.raises(RemovalRefusedError, match="12 of 12 locations"):
        await import_bundles(database, [none], changes=default)


async def test_a_floor_without_units_stays_with_what_is_on_it(
    database: Any, tmp_path: Path
) -> None:
    """A table of apartments cannot list roofs and garages; it says which floors have apartments."""
    table = tmp_path / "units.csv"
    await import_table(database, table, OAK)
    others: Bundle = {
        "floors": [
            {"id": floor, "asset_id": "oak", "name": floor} for floor in ("oak-roof", "oak-garage")
        ]
    }
    await import_bundles(database, [write_arrays(tmp_path / "others.json", others)])
    kept = (
        "not in the source, and left as they are since they had no units: floors"
        ' "oak-garage", "oak-roof"'
    )
    summary = await import_table(database, table, OAK, changes=MIRROR)
    assert removed_by(summary) == {}
    assert kept in summary.notes
    summary = await import_table(
        database, table, OAK.replace("Oak,2,201", "Oak,1,201"), changes=MIRROR
    )
    assert removed_by(summary) == {"floors": ["oak-floor-2"]}
    assert kept in summary.notes
    whole = write_arrays(tmp_path / "floors.json", {"floors": []})
    summary = await import_bundles(database, [whole], changes=MIRROR, dry_run=True)
    assert removed_by(summary)["floors"] == ["oak-floor-1", "oak-garage", "oak-roof"]


@pytest.mark.parametrize("is_killed", [False, True])
async def test_references_that_no_column_speaks_of_are_cleared(
    database: Any, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_killed: bool
) -> None:
    """Sheets without `Map IDs` and `Floors`, beside those of maps and floors that have gone."""
    await import_bundles(database, [bundle])
    gone: Bundle = {
        "floors": [{"id": "a2", "asset_id": "a", "name": "2"}],
        "maps": [{**SMALL["maps"][0], "id": "gone", "background_id": None}],
        "units": [{**SMALL["units"][0], "map_ids": ["am", "gone"]}],
        "locations": [{**SMALL["locations"][0], "floors": [{"id": "a1"}, {"id": "a2"}]}],
    }
    await import_bundles(database, [write_arrays(tmp_path / "gone.json", gone)])
    sheets = {
        "maps": "ID,Asset ID,Name\nam,a,Renamed\nbm,b,Site\n",
        "floors": "ID,Asset ID,Name\na1,a,1\nb1,b,1\n",
        "units": "ID,Asset ID,Floor ID,Name\nu1,a,a1,1\nu2,a,a1,2\nv1,b,b1,1\n",
        "locations": "ID,Asset ID,Unit Map ID,Name,X,Y\nl,a,am,Renamed,0,0\n",
    }
    paths = [tmp_path / f"{name}.csv" for name in sheets]
    for path, text in zip(paths, sheets.values(), strict=True):
        path.write_text(text)
    if is_killed:  # once it is committed, so that another process applies it
        with monkeypatch.context() as patched, pytest.raises(OSError, match="killed"):
            patched.setattr(ImportRun, "apply", AsyncMock(side_effect=OSError("killed")))
            await import_bundles(database, paths, changes=MIRROR)
        await expire_lease(database)
        assert await finish_interrupted_import(database)
    else:
        summary = await import_bundles(database, paths, changes=MIRROR)
        assert removed_by(summary) == {"floors": ["a2"], "maps": ["gone"]}
    unit = await database["units"].find_one({"_id": "u1"})
    location = await database["locations"].find_one({"_id": "l"})
    assert unit["map_ids"] == ["am"]
    assert (location["name"], location["floors"]) == ("Renamed", [{"id": "a1"}])
    assert (await import_bundles(database, paths, changes=MIRROR)).total.written == 0
