"""Imports as a whole: all or nothing, also after a kill."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from storage.administration.import_lease import STAGING_PREFIX, ImportLease
from storage.errors import ImportRunningError
from storage.importing.batches import MAX_BATCH_MEMBERS
from storage.importing.change_plan import ChangeRequest
from storage.importing.import_bundles import (
    ImportCounts,
    ImportProgress,
    finish_interrupted_import,
    import_bundles,
)
from tests.storage.catalogs import SMALL, contents, expire_lease, small, write_arrays, write_lines
from tests.storage.spreadsheets.spreadsheets import rent_roll, write_csv

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


async def test_progress_of_a_spreadsheet_counts_its_members(database: Any, tmp_path: Path) -> None:
    """In batches, as the size of its file says nothing of them."""
    path = write_csv(tmp_path / "rents.csv", rent_roll(12, 90))
    seen: list[ImportProgress] = []
    await import_bundles(database, [path], progress=seen.append)
    reading = [each for each in seen if each.phase == "reading"]
    assert {each.total for each in reading} == {None}
    assert sorted({each.done for each in reading}) == [each.done for each in reading]
    assert reading[0].done == MAX_BATCH_MEMBERS < reading[-1].done


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


async def test_an_import_waits_for_the_lease_only_so_long(
    database: Any, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.importing.import_bundles.WAIT_SECONDS", 0.0)
    lease = ImportLease(database)
    assert await lease.try_acquire()
    async with lease.keep_alive():
        await lease.begin_staging()
        assert not await finish_interrupted_import(database)
        with pytest.raises(ImportRunningError, match="another import is running"):
            await import_bundles(database, [bundle])
    assert (await import_bundles(database, [bundle])).total.inserted == MEMBERS


UNITS = 30
MEMBERS_RECOVERY = sum(len(array) for array in SMALL.values()) + UNITS

IMPORT = """
import asyncio, os, signal, sys
from storage.mongo import driver, lease
from storage.errors import ImportInterruptedError
from storage.importing.change_plan import ChangeRequest
from storage.importing.import_bundles import import_bundles

url, name, path, phase, times, signal_name = sys.argv[1:]
driver.APPLICATION = name
lease.LEASE_SECONDS, lease.HEARTBEAT_SECONDS = 5.0, 0.2
left = int(times)

def stop_in_time(progress):
    global left
    left -= progress.phase == phase
    if left == 0:
        left = -1
        print("here", flush=True)
        os.kill(os.getpid(), signal.Signals[signal_name])

async def main():
    client = driver.connect(url, timeout_seconds=30)
    try:
        changes = ChangeRequest(import_id="nightly")
        await import_bundles(client[name], [path], progress=stop_in_time, changes=changes)
    except ImportInterruptedError:
        sys.exit("interrupted")
    finally:
        await driver.close(client)

asyncio.run(main())
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    bundle = small()
    bundle["units"] += [
        {"id": f"n{number:05}", "asset_id": "a", "floor_id": "a1", "name": str(number)}
        for number in range(UNITS)
    ]
    return write_lines(tmp_path / "b.ndjson", bundle)


@contextmanager
def importing(
    url: str, name: str, path: Path, phase: str, times: int, by: signal.Signals
) -> Iterator[subprocess.Popen[str]]:
    """A process that imports and is signalled when it has reported a phase so many times."""
    command = [sys.executable, "-c", IMPORT, url, name, str(path), phase, str(times), by.name]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout and process.stdout.readline() == "here\n"
            yield process
        finally:
            process.kill()


async def finish(database: Any) -> None:
    while not await finish_interrupted_import(database):
        await asyncio.sleep(0.1)


async def kill(database: Any, url: str, path: Path, phase: str, times: int) -> None:
    with importing(url, database.name, path, phase, times, signal.SIGKILL) as process:
        process.wait()
    connections = {"currentOp": 1, "$all": True, "appName": database.name}
    while (await database.client.admin.command(connections))["inprog"]:
        await asyncio.sleep(0.02)  # MongoDB does what the process had sent
    await expire_lease(database)
    await finish(database)
    assert not [
        name for name in await database.list_collection_names() if name.startswith(STAGING_PREFIX)
    ]


async def audit_records(database: Any) -> list[dict[str, Any]]:
    """The records of the audit log, the first first."""
    found: list[dict[str, Any]] = await database["audit_log"].find().sort("_id").to_list(None)
    return found


@pytest.mark.parametrize("times", [4, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 7))])
async def test_an_import_killed_while_it_applies_is_carried_to_its_end(
    database: Any, mongo_url: str, path: Path, times: int, caplog: pytest.LogCaptureFixture
) -> None:
    await import_bundles(database, [write_lines(path.parent / "before.ndjson", renamed())])
    await kill(database, mongo_url, path, "writing", times)
    first, killed = await audit_records(database)
    assert first["request_id"] != killed["request_id"]
    assert killed["target"]["ids"] == [str(path)]
    assert sum(change["count"] for change in killed["changes"] if change["kind"] == "units") == (
        UNITS + len(SMALL["units"])
    )
    assert (await import_bundles(database, [path])).total == ImportCounts(
        unchanged=MEMBERS_RECOVERY
    )
    # An import has one time, whichever process finishes it.
    assert len(await database["units"].distinct("updated_at")) == 1
    assert (await database["assets"].find_one({"_id": "a"}))["name"] == "Alder Court"
    # Who sends it again learns what it has changed, and changes nothing.
    assert vars(caplog.records[-1])["fields"]["given_id"] == killed["import_id"] == "nightly"
    again = await import_bundles(database, [path], changes=ChangeRequest(import_id="nightly"))
    assert again.is_repetition
    assert again.kinds["units"].written == UNITS + len(SMALL["units"])
    assert await audit_records(database) == [first, killed]


@pytest.mark.slow
async def test_an_import_that_stood_still_does_not_write_over_a_later_one(
    database: Any, mongo_url: str, path: Path
) -> None:
    with importing(mongo_url, database.name, path, "writing", 1, signal.SIGSTOP) as process:
        await finish(database)
        await import_bundles(database, [write_lines(path.parent / "next.ndjson", renamed())])
        before = await contents(database)
        process.send_signal(signal.SIGCONT)
        _, error = process.communicate()
    assert error == "interrupted\n"
    assert await contents(database) == before


def renamed() -> dict[str, list[dict[str, Any]]]:
    bundle = small()
    for array in bundle.values():
        for member in array:
            if "name" in member:
                member["name"] += " (renamed)"
    return bundle
