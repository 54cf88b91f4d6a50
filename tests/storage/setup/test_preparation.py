"""Preparing a database: once or often, alone or with others at the same time."""

import asyncio
import subprocess
import sys
from typing import Any

import pytest

from storage.catalog import RECORD_TYPES
from storage.setup.preparation import prepare_database
from storage.setup.validators import build_validator

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

PREPARE = """
import asyncio, sys
from storage.mongo import driver
from storage.setup.preparation import prepare_database

async def main(url, name):
    client = driver.connect(url, timeout_seconds=30)
    await prepare_database(client[name])
    await driver.close(client)

print("ready", flush=True)
sys.stdin.readline()
asyncio.run(main(*sys.argv[1:]))
"""


async def shape(database: Any) -> dict[str, Any]:
    """The validator and indexes of every collection."""
    found = {}
    for name in sorted(await database.list_collection_names()):
        info = (await database.command("listCollections", filter={"name": name}))["cursor"]
        indexes = await database[name].index_information()
        found[name] = (
            info["firstBatch"][0]["options"].get("validator"),
            {index: keys["key"] for index, keys in indexes.items()},
        )
    return found


async def test_every_kind_gets_its_validator_and_indexes(database: Any) -> None:
    await prepare_database(database)
    found = await shape(database)
    for kind in RECORD_TYPES:
        rule, indexes = found[kind.name]
        assert rule == build_validator(kind)
        wanted = [[("_id", 1)], *([(field, 1) for field in index] for index in kind.indexes)]
        assert sorted(indexes.values()) == sorted(wanted)


async def test_doing_it_again_changes_nothing(database: Any) -> None:
    await prepare_database(database)
    before = await shape(database)
    await prepare_database(database)
    assert await shape(database) == before


async def test_an_older_validator_is_replaced(database: Any) -> None:
    await database.create_collection("assets", validator={"name": {"$type": "string"}})
    await prepare_database(database)
    assert (await shape(database))["assets"][0] == build_validator(RECORD_TYPES[0])


async def test_tasks_at_once_prepare_what_one_does(client: Any, database_name: str) -> None:
    alone, together = client[f"{database_name}-alone"], client[database_name]
    try:
        await prepare_database(alone)
        await asyncio.gather(*(prepare_database(together) for _ in range(6)))
        assert await shape(together) == await shape(alone)
    finally:
        await client.drop_database(alone.name)


@pytest.mark.parametrize("client", ["pymongo"], indirect=True)
async def test_processes_at_once_prepare_what_one_does(
    client: Any, database_name: str, mongo_url: str
) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PREPARE, mongo_url, database_name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(6)
    ]
    for process in processes:  # all are loaded before the first begins
        assert process.stdout and process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    errors = [process.communicate()[1] for process in processes]
    assert (errors, [process.returncode for process in processes]) == ([""] * 6, [0] * 6)
    before = await shape(client[database_name])
    await prepare_database(client[database_name])
    assert await shape(client[database_name]) == before
