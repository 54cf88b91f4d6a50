"""Imports in processes that are killed or stopped, and what the next process makes of them."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from storage.administration.import_lease import STAGING_PREFIX
from storage.bundles.importing.import_bundles import ImportCounts, import_bundles
from storage.bundles.importing.recovery import finish_interrupted_import
from tests.storage.catalogs import (
    SMALL,
    contents,
    expire_lease,
    small,
    write_lines,
)

pytestmark = pytest.mark.anyio

UNITS = 30
MEMBERS = sum(len(array) for array in SMALL.values()) + UNITS

IMPORT = """
import asyncio, os, signal, sys
from storage.mongo import driver, lease
from storage.errors import ImportInterruptedError
from storage.bundles.importing.import_bundles import import_bundles

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
        await import_bundles(client[name], [path], progress=stop_in_time)
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
    database: Any, mongo_url: str, path: Path, times: int
) -> None:
    await import_bundles(database, [write_lines(path.parent / "before.ndjson", renamed())])
    await kill(database, mongo_url, path, "writing", times)
    first, killed = await audit_records(database)
    assert first["request_id"] != killed["request_id"]
    assert killed["target"]["ids"] == [str(path)]
    assert sum(change["count"] for change in killed["changes"] if change["kind"] == "units") == (
        UNITS + len(SMALL["units"])
    )
    assert (await import_bundles(database, [path])).total == ImportCounts(unchanged=MEMBERS)
    # An import has one time, whichever process finishes it.
    assert len(await database["units"].distinct("updated_at")) == 1
    assert (await database["assets"].find_one({"_id": "a"}))["name"] == "Alder Court"
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
