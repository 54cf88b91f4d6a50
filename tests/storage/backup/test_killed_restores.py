"""Restores that are killed: everything is old or everything is new afterwards."""

import asyncio
import io
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pymongo import monitoring

from storage.administration.import_lease import STAGING_PREFIX
from storage.backup import backups
from storage.importing.import_bundles import finish_interrupted_import, import_bundles
from tests.storage.backup.archives import change_everything, fill_and_save, saved_contents
from tests.storage.catalogs import contents, expire_lease
from tests.storage.importing.killing import Killed, open_with_listener

pytestmark = pytest.mark.anyio


@pytest.fixture
async def archive(database: Any, bundle: Path, tmp_path: Path) -> Path:
    """An archive of another state than the database has."""
    path = tmp_path / "archive.tar"
    path.write_bytes(await fill_and_save(database, bundle))
    await change_everything(database, tmp_path)
    await database["api_keys"].delete_many({})
    return path


async def finish(database: Any) -> None:
    while not await finish_interrupted_import(database):
        await asyncio.sleep(0.1)
    names = await database.list_collection_names()
    assert not [name for name in names if name.startswith(STAGING_PREFIX)]


def kill_before(
    command: str, number: int, seen: list[str]
) -> Callable[[monitoring.CommandStartedEvent], None]:
    """Let so many commands of a kind be sent; the next one is not, nor is any after it."""

    def count(event: monitoring.CommandStartedEvent) -> None:
        if event.command_name == command:
            seen.append(command)
        if len(seen) > number:
            raise Killed

    return count


@pytest.mark.parametrize(
    ("command", "number", "is_restored"),
    [
        ("insert", 1, False),  # the catalog is staged
        ("insert", 5, False),
        ("commitTransaction", 0, False),  # it is not yet committed
        ("renameCollection", 0, True),  # it is, and no collection is replaced
        ("renameCollection", 4, True),
    ],
)
async def test_a_restore_killed_at_any_point_is_whole_or_has_not_happened(
    database: Any, mongo_url: str, archive: Path, command: str, number: int, is_restored: bool
) -> None:
    old, seen = await saved_contents(database), list[str]()
    async with open_with_listener(mongo_url, kill_before(command, number, seen)) as doomed:
        with pytest.raises(Killed):
            content = io.BytesIO(archive.read_bytes())
            await backups.restore_backup(doomed[database.name], content, "archive.tar")
    assert len(seen) > number
    await expire_lease(database)
    await finish(database)
    found = await saved_contents(database)
    recorded = await database["audit_log"].count_documents({"action": "catalog.restored"})
    assert (found == old, recorded) == ((False, 1) if is_restored else (True, 0))
    if is_restored:
        await backups.restore_backup(database, io.BytesIO(archive.read_bytes()), "archive.tar")
        assert await saved_contents(database) == found


RESTORE = """
import asyncio, sys
from storage.backup import backups as restoring
from storage.mongo import driver, lease

url, name, path = sys.argv[1:]
lease.LEASE_SECONDS, lease.HEARTBEAT_SECONDS = 5.0, 0.2

async def main():
    client = driver.connect(url, timeout_seconds=30)
    report = lambda progress: print(progress.phase, flush=True)
    with open(path, "rb") as file:
        await restoring.restore_backup(client[name], file, "archive.tar", progress=report)
    await driver.close(client)

asyncio.run(main())
"""


@pytest.mark.slow
async def test_a_restore_that_stood_still_does_not_write_over_what_came_later(
    database: Any, mongo_url: str, archive: Path, bundle: Path
) -> None:
    command = [sys.executable, "-c", RESTORE, mongo_url, database.name, str(archive)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
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
