"""Imports that mirror their source: what they remove, and what they refuse."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings

from storage.bundles.changes.change_plan import FieldChange, RecordChange
from storage.bundles.importing.import_bundles import ImportCounts, import_bundles
from storage.bundles.removing.limits import RemovalLimit
from storage.errors import BundleError, PlanChangedError, RemovalRefusedError
from tests.storage.bundles.random_catalogs import DEAR, catalogs, load_alone, records_of
from tests.storage.bundles.removing.mirroring import (
    MIRROR,
    changes_of,
    exported,
    ids_of,
    mirror,
    remove,
    removed_by,
)
from tests.storage.catalogs import (
    SMALL,
    Bundle,
    contents,
    small,
    write_arrays,
    write_lines,
)

pytestmark = pytest.mark.anyio


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
