"""Importing: what goes in, what is refused, and that it is all or nothing."""

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from storage.administration.import_lease import ImportLease
from storage.bundles.importing.import_bundles import ImportCounts, ImportProgress, import_bundles
from storage.bundles.importing.recovery import finish_interrupted_import
from storage.errors import ImportRunningError
from storage.setup.preparation import prepare_database
from tests.storage.catalogs import (
    ONE_DRIVER,
    SMALL,
    contents,
    small,
    write_arrays,
    write_lines,
)

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


ROOT = Path(__file__).parents[4]
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


async def test_the_key_of_an_exclusive_assignment_is_its_group_and_unit(
    database: Any, bundle: Path
) -> None:
    await import_bundles(database, [bundle])
    keys = [document["_id"] async for document in database["attribute_assignments"].find()]
    assert sorted(keys) == ["extras\0u1\0quiet", "extras\0u1\0view", "plan\0u1"]


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
    ("given", "kept"),
    [("2021-01-01T00:00:00Z", True), ("2019-01-01T00:00:00Z", False)],
)
async def test_a_changed_member_takes_the_bundles_time_if_it_is_later(
    database: Any, path: Path, given: str, kept: bool
) -> None:
    asset = {"id": "a", "name": "A", "updated_at": "2020-01-01T00:00:00Z"}
    await import_bundles(database, [write_arrays(path, {"assets": [asset]})])
    asset |= {"name": "B", "updated_at": given}
    await import_bundles(database, [write_arrays(path, {"assets": [asset]})])
    found = await database["assets"].find_one({"_id": "a"})
    assert (found["updated_at"] == "2021-01-01T00:00:00+00:00") == kept


async def test_only_changed_values_of_a_level_tag_get_a_new_time(database: Any, path: Path) -> None:
    bundle = small()
    for value in bundle["level_tags"][0]["values"]:
        value |= {"created_at": "2020-01-01T00:00:00Z", "updated_at": "2020-01-01T00:00:00Z"}
    await import_bundles(database, [write_arrays(path, bundle)])
    changed = small()
    changed["level_tags"][0]["values"][1]["name"] = "Terrace"
    await import_bundles(database, [write_arrays(path, changed)])
    first, roof = (await database["level_tags"].find_one())["values"]
    assert (first["name"], first["updated_at"]) == ("First", "2020-01-01T00:00:00+00:00")
    assert (roof["name"], roof["created_at"]) == ("Terrace", "2020-01-01T00:00:00+00:00")
    assert roof["updated_at"] > "2026"


async def test_bundles_of_one_import_complete_each_other(database: Any, tmp_path: Path) -> None:
    units = write_lines(tmp_path / "units.ndjson", {"units": SMALL["units"]})
    rest = {name: array for name, array in SMALL.items() if name != "units"}
    summary = await import_bundles(database, [units, write_arrays(tmp_path / "rest.json", rest)])
    assert summary.total == ImportCounts(inserted=MEMBERS)


async def test_owners_may_be_in_the_catalog_already(
    database: Any, bundle: Path, path: Path
) -> None:
    await import_bundles(database, [bundle])
    unit = {"id": "u9", "asset_id": "a", "floor_id": "a1", "name": "909"}
    summary = await import_bundles(database, [write_arrays(path, {"units": [unit]})])
    assert summary.total == ImportCounts(inserted=1)


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


async def test_an_exclusive_attribute_is_replaced(database: Any, bundle: Path, path: Path) -> None:
    await import_bundles(database, [bundle])
    other = SMALL["attribute_assignments"][0] | {"attribute_id": "t"}
    summary = await import_bundles(
        database, [write_arrays(path, {"attribute_assignments": [other]})]
    )
    assert summary.total == ImportCounts(updated=1)
    plan = await database["attribute_assignments"].find({"group_id": "plan"}).to_list(None)
    assert [document["attribute_id"] for document in plan] == ["t"]


async def test_ids_may_look_like_operators_or_paths(database: Any, path: Path) -> None:
    odd = ["$gt", "a.b", "{}", "é/%2F", "\N{GRINNING FACE}", "x" * 255]
    assets = [{"id": id, "name": id} for id in odd]
    floors = [{"id": id, "asset_id": id, "name": id} for id in odd]
    bundle = write_arrays(path, {"floors": floors, "assets": assets})
    assert (await import_bundles(database, [bundle])).total == ImportCounts(inserted=12)
    assert (await import_bundles(database, [bundle])).total == ImportCounts(unchanged=12)


@ONE_DRIVER
async def test_the_example_of_the_guide_is_a_bundle(database: Any, path: Path) -> None:
    guide = (ROOT / "docs/bundles.md").read_text()
    example, line = (block.partition("```")[0] for block in guide.split("```json\n")[1:3])
    path.write_text(example)
    lines = path.with_name("b.ndjson")
    lines.write_text(line)
    summary = await import_bundles(database, [path])
    assert summary.total == ImportCounts(inserted=12)
    assert (await import_bundles(database, [lines])).total == ImportCounts(unchanged=1)


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


async def test_there_may_be_nothing_to_finish(database: Any) -> None:
    await prepare_database(database)
    assert await finish_interrupted_import(database)


async def test_a_summary_reads_as_json(database: Any, bundle: Path) -> None:
    summary = json.loads(msgspec.json.encode(await import_bundles(database, [bundle])))
    assert summary["kinds"]["floors"] == {"inserted": 2, "updated": 0, "unchanged": 0, "removed": 0}
    assert summary["notes"] == []
