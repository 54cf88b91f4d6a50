"""Restores in processes that are killed: everything is old or everything is new afterwards."""

import asyncio
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from storage.administration.api_keys import create_api_key
from storage.administration.import_lease import STAGING_PREFIX
from storage.bundles.importing.import_bundles import import_bundles
from storage.bundles.importing.recovery import finish_interrupted_import
from storage.mongo import files
from tests.storage.backup.archives import save, saved_contents
from tests.storage.catalogs import (
    ONE_DRIVER,
    contents,
    expire_lease_of_killed,
    small,
    write_arrays,
)

pytestmark = [pytest.mark.slow, pytest.mark.anyio, ONE_DRIVER]

KILLS = 10

RESTORE = """
import asyncio, os, signal, sys
from storage.backup import backup_file, restoring
from storage.mongo import driver, lease

url, name, path, events = sys.argv[1:]
lease.LEASE_SECONDS, lease.HEARTBEAT_SECONDS = 5.0, 0.2
left = int(events)

def kill_in_time(progress):
    global left
    left -= 1
    print(progress.phase, flush=True)
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

async def main():
    client = driver.connect(url, timeout_seconds=30)
    with open(path, "rb") as file:
        await restoring.restore_backup(client[name], file, "archive.tar", progress=kill_in_time)
    await driver.close(client)

asyncio.run(main())
"""


@pytest.fixture
async def archive(database: Any, bundle: Path, tmp_path: Path) -> Path:
    """An archive of another state than the database has."""
    await import_bundles(database, [bundle])
    await create_api_key(database, name="k", permissions=[], asset_ids=["a"], expires_at=None)
    digest = await files.write_file(database, b"a network")
    await database["maps"].update_one({"_id": "am"}, {"$set": {"network": digest}})
    path = tmp_path / "archive.tar"
    path.write_bytes(await save(database))
    changed = small()
    for array in changed.values():
        for member in array:
            if "name" in member:
                member["name"] += " (changed)"
    await import_bundles(database, [write_arrays(tmp_path / "changed.json", changed)])
    await database["locations"].delete_many({})
    await database["api_keys"].delete_many({})
    return path


def start_restore(url: str, database: Any, archive: Path, events: int) -> subprocess.Popen[str]:
    """A process that restores and is killed at its event of this number, or never if it is 0."""
    return subprocess.Popen(
        [sys.executable, "-c", RESTORE, url, database.name, str(archive), str(events)],
        stdout=subprocess.PIPE,
        text=True,
    )


async def finish(database: Any) -> None:
    while not await finish_interrupted_import(database):
        await asyncio.sleep(0.1)
    names = await database.list_collection_names()
    assert not [name for name in names if name.startswith(STAGING_PREFIX)]


async def test_a_restore_killed_at_any_point_is_whole_or_has_not_happened(
    database: Any, mongo_url: str, archive: Path
) -> None:
    old, all_old = await saved_contents(database), await contents(database)
    rehearsal = start_restore(mongo_url, database, archive, 0)
    output, _ = rehearsal.communicate()
    assert rehearsal.returncode == 0
    phases = output.split()
    new = await saved_contents(database)
    assert new != old
    for event in sorted(random.sample(range(1, len(phases) + 1), KILLS)):
        await put_back(database, all_old)
        with start_restore(mongo_url, database, archive, event) as process:
            process.communicate()
        assert process.returncode == -signal.SIGKILL
        await expire_lease_of_killed(database)
        await finish(database)
        found = await saved_contents(database)
        assert found in (old, new), (event, phases[event - 1])
        assert (found == new) == (phases[event - 1] == "switching")
        recorded = await database["audit_log"].count_documents({"action": "catalog.restored"})
        assert recorded == (found == new)


async def put_back(database: Any, documents: dict[str, list[dict[str, Any]]]) -> None:
    """Make the database what it was, as nothing but MongoDB sees it."""
    for name in await database.list_collection_names():
        await database[name].delete_many({})
        if name in documents:
            await database[name].insert_many(documents[name])
    await database["migrations"].insert_one({"_id": "current", "number": 1})


async def test_a_restore_killed_by_time_is_whole_or_has_not_happened(
    database: Any, mongo_url: str, archive: Path
) -> None:
    """At points between the events too: while a rename, an insert or a commit is on its way."""
    old, all_old = await saved_contents(database), await contents(database)
    with start_restore(mongo_url, database, archive, 0) as process:
        process.communicate()
    new = await saved_contents(database)
    for _ in range(KILLS):
        await put_back(database, all_old)
        with start_restore(mongo_url, database, archive, 0) as process:
            assert process.stdout is not None
            while (line := process.stdout.readline()) and random.random() < 0.9:
                pass
            await asyncio.sleep(random.uniform(0, 0.02))
            process.kill()
        assert line or process.returncode in (0, -signal.SIGKILL)
        await expire_lease_of_killed(database)
        await finish(database)
        assert await saved_contents(database) in (old, new)


async def test_a_restore_that_stood_still_does_not_write_over_what_came_later(
    database: Any, mongo_url: str, archive: Path, bundle: Path
) -> None:
    with start_restore(mongo_url, database, archive, 0) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line == "switching\n":
                process.send_signal(signal.SIGSTOP)
                break
        await finish(database)
        await import_bundles(database, [bundle])
        await database["units"].delete_many({})
        before = await contents(database)
        process.send_signal(signal.SIGCONT)
        process.wait()
    assert process.returncode != 0
    assert await contents(database) == before
