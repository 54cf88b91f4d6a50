"""Importing: what goes in, what is refused, and that it is all or nothing."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from storage.administration.import_lease import ImportLease
from storage.bundles.importing.import_bundles import ImportCounts, ImportProgress, import_bundles
from storage.bundles.importing.recovery import finish_interrupted_import
from storage.errors import ImportRunningError
from tests.storage.catalogs import (
    SMALL,
    contents,
    small,
    write_arrays,
    write_lines,
)

pytestmark = pytest.mark.anyio

MEMBERS = sum(len(array) for array in SMALL.values())


async def test_a_bundle_is_inserted_completely(database: Any, bundle: Path) -> None:
    summary = await import_bundles(database, [bundle])
    assert summary.total == ImportCounts(inserted=MEMBERS)
    assert {name: counts.inserted for name, counts in summary.kinds.items()} == {
        name: len(array) for name, array in SMALL.items()
    }
    unit = await database["units"].find_one({"_id": "u1"})
    assert (unit["asset_id"], unit["floor_id"], unit["map_ids"]) == ("a", "a1", ["am"])
    assert unit["created_at"] == unit["updated_at"]


async def test_the_same_bundle_again_changes_nothing(
    database: Any, bundle: Path, tmp_path: Path
) -> None:
    await import_bundles(database, [bundle])
    before = await contents(database)
    for again in (bundle, write_lines(tmp_path / "b.ndjson", SMALL)):
        assert (await import_bundles(database, [again])).total == ImportCounts(unchanged=MEMBERS)
    assert await contents(database) == before


async def test_a_dry_run_counts_and_writes_nothing(database: Any, bundle: Path) -> None:
    summary = await import_bundles(database, [bundle], dry_run=True)
    assert summary.total == ImportCounts(inserted=MEMBERS)
    assert await contents(database) == {}


async def test_changed_members_are_updated_and_keep_when_they_were_created(
    database: Any, path: Path
) -> None:
    first = small()
    first["units"][0] |= {
        "created_at": "2020-01-01T00:00:00Z",
        "updated_at": "2020-01-01T00:00:00Z",
    }
    await import_bundles(database, [write_arrays(path, first)])
    other = await database["units"].find_one({"_id": "u2"})
    first["units"][0] = SMALL["units"][0] | {"name": "101A"}
    summary = await import_bundles(database, [write_arrays(path, first)])
    assert summary.kinds["units"] == ImportCounts(updated=1, unchanged=2)
    unit = await database["units"].find_one({"_id": "u1"})
    assert (unit["name"], unit["created_at"]) == ("101A", "2020-01-01T00:00:00+00:00")
    assert unit["updated_at"] > "2026"
    assert await database["units"].find_one({"_id": "u2"}) == other


@pytest.mark.parametrize(
    ("kind", "stored", "given", "is_changed"),
    [
        ("units", {}, {}, False),
        ("units", {}, {"name": "101A"}, True),
        ("units", {}, {"map_ids": None}, True),
        ("units", {}, {"updated_at": "2001-01-01T00:00:00Z"}, False),
        ("units", {"added_by_a_later_release": 1}, {}, False),
        ("units", {"name": "101A"}, {}, True),
        # a field that an older document lacks counts as its default
        ("maps", {"style": None}, {"style": "a"}, False),
        ("maps", {"style": None}, {"style": "b"}, True),
        # what processing has set
        ("maps", {"network": "n", "tags": ["ils", "pathfinding"]}, {"tags": ["ils"]}, False),
    ],
)
async def test_a_member_is_changed_if_its_content_is(
    database: Any,
    bundle: Path,
    path: Path,
    kind: str,
    stored: dict[str, Any],
    given: dict[str, Any],
    is_changed: bool,
) -> None:
    await import_bundles(database, [bundle])
    absent = {name: "" for name, value in stored.items() if value is None}
    new = {name: value for name, value in stored.items() if value is not None}
    change = ({"$set": new} if new else {}) | ({"$unset": absent} if absent else {})
    if change:
        await database[kind].update_one({"_id": SMALL[kind][0]["id"]}, change)
    member = SMALL[kind][0] | given
    summary = await import_bundles(database, [write_arrays(path, {kind: [member]})])
    assert summary.total.updated == is_changed


async def test_fields_are_copied_from_owners_of_the_bundle_or_the_catalog(
    database: Any, bundle: Path, path: Path
) -> None:
    await import_bundles(database, [bundle])
    new = {"id": "new", "unit_map_id": "am", "name": "Night"}
    await import_bundles(database, [write_arrays(path, {"backgrounds": [new]})])
    owners = {each["_id"]: each["asset_id"] async for each in database["backgrounds"].find()}
    assert owners == {"ab": "a", "bb": "b", "new": "a"}


async def test_fields_that_others_added_to_a_document_stay(
    database: Any, bundle: Path, path: Path
) -> None:
    await import_bundles(database, [bundle])
    await database["maps"].update_one({"_id": "am"}, {"$set": {"processed": {"version": 3}}})
    changed = small()
    changed["maps"][0]["name"] = "Floor plates"
    await import_bundles(database, [write_arrays(path, changed)])
    found = await database["maps"].find_one({"_id": "am"})
    assert (found["name"], found["processed"]) == ("Floor plates", {"version": 3})


async def test_ids_may_look_like_operators_or_paths(database: Any, path: Path) -> None:
    odd = ["$gt", "a.b", "{}", "é/%2F", "\N{GRINNING FACE}", "x" * 255]
    assets = [{"id": id, "name": id} for id in odd]
    floors = [{"id": id, "asset_id": id, "name": id} for id in odd]
    bundle = write_arrays(path, {"floors": floors, "assets": assets})
    assert (await import_bundles(database, [bundle])).total == ImportCounts(inserted=12)
    assert (await import_bundles(database, [bundle])).total == ImportCounts(unchanged=12)


async def test_progress_reports_the_phases(database: Any, bundle: Path) -> None:
    seen: list[ImportProgress] = []
    await import_bundles(database, [bundle], progress=seen.append)
    size = bundle.stat().st_size
    last = {progress.phase: progress for progress in seen}
    assert last == {
        "reading": ImportProgress("reading", size, size),
        "checking": ImportProgress("checking", MEMBERS, MEMBERS),
        "writing": ImportProgress("writing", MEMBERS, MEMBERS),
    }


async def test_imports_at_once_go_one_after_the_other(database: Any, tmp_path: Path) -> None:
    paths = []
    for number in range(3):
        bundle = small()
        bundle["assets"][0]["name"] = bundle["units"][0]["name"] = f"of {number}"
        paths.append(write_arrays(tmp_path / f"{number}.json", bundle))
    summaries = await asyncio.gather(*(import_bundles(database, [path]) for path in paths))
    assert sum(summary.total.inserted for summary in summaries) == MEMBERS
    assert sum(summary.total.updated for summary in summaries) == 4
    asset = await database["assets"].find_one({"_id": "a"})
    unit = await database["units"].find_one({"_id": "u1"})
    assert asset["name"] == unit["name"]


async def test_an_import_waits_for_the_lease_only_so_long(database: Any, bundle: Path) -> None:
    lease = ImportLease(database)
    assert await lease.try_acquire()
    async with lease.keep_alive():
        await lease.begin_staging()
        assert not await finish_interrupted_import(database)
        with pytest.raises(ImportRunningError, match="another import is running"):
            await import_bundles(database, [bundle], wait_seconds=0)
    assert (await import_bundles(database, [bundle])).total.inserted == MEMBERS
