"""Reads on connections of the event loop give what the driver gives, and lose no reply."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pymongo
import pytest
from pymongo.errors import ExecutionTimeout, OperationFailure

from storage.errors import UnavailableError
from storage.mongo import driver
from storage.mongo.consistency import read_connections, topology
from tests.waiting import TIMEOUT_SECONDS

pytestmark = pytest.mark.anyio

NUMBERS = {"$range": [0, {"$add": ["$value", 300_000]}]}
SLOW = {"$expr": {"$gte": [{"$sum": {"$map": {"input": NUMBERS, "in": "$$this"}}}, 0]}}
"""Takes a tenth of a second for each document."""


async def read_directly(database: Any, command: dict[str, Any]) -> dict[str, Any]:
    """Send a read as soon as there is a connection."""
    read = topology.of(database.client).read
    assert read is not None
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while (reply := await read(database.name, command)) is None:
            await asyncio.sleep(0.01)
    return reply


@pytest.fixture
async def direct(database: Any) -> AsyncIterator[Any]:
    """A database with a few documents, and a connection to it."""
    documents = [{"_id": key, "value": key, "text": "é" * 2_000} for key in range(500)]
    await database["things"].insert_many(documents)
    async with driver.open_read_connections(database.client):
        await read_directly(database, {"ping": 1})
        yield database


async def find(database: Any, where: dict[str, Any], **options: Any) -> list[Any]:
    with driver.translate_errors():
        return await driver.find_documents(
            database, "things", where, {"value": 1, "text": 1}, limit=1_000, **options
        )


async def test_a_reply_is_what_the_driver_returns(direct: Any) -> None:
    for where in ({"_id": 7}, {"_id": {"$lt": 0}}, {}):
        command = {"find": "things", "filter": where, "batchSize": 1_000}
        reply = await read_directly(direct, command)
        by_driver = await direct.command(command)
        assert reply["cursor"] == by_driver["cursor"]


async def test_an_error_is_what_the_driver_raises(direct: Any) -> None:
    command = {"find": "things", "filter": {"$no": 1}}
    with pytest.raises(OperationFailure) as by_driver:
        await direct.command(command)
    with pytest.raises(OperationFailure) as error:
        await read_directly(direct, command)
    assert (type(error.value), error.value.code) == (type(by_driver.value), by_driver.value.code)


async def test_reads_at_the_same_time_receive_their_own_replies(direct: Any) -> None:
    keys = [*range(200)] * 2
    found = await asyncio.gather(*(find(direct, {"_id": key}) for key in keys))
    assert [each[0]["_id"] for each in found] == keys


async def test_the_reply_to_a_cancelled_read_is_given_to_no_other(direct: Any) -> None:
    cancelled = [asyncio.create_task(find(direct, {**SLOW, "_id": {"$lt": 3}})) for _ in range(3)]
    await asyncio.sleep(0.01)
    for task in cancelled:
        task.cancel()
    await asyncio.wait(cancelled)
    for key in range(50):
        assert [each["_id"] for each in await find(direct, {"_id": key})] == [key]


async def test_mongodb_ends_a_read_in_time(direct: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_connections, "_GRACE_SECONDS", 60.0)  # MongoDB looks at times only
    with pymongo.timeout(1.0), pytest.raises(ExecutionTimeout):
        await read_directly(direct, {"find": "things", "filter": SLOW})
    with driver.limit_time(0.05), pytest.raises(UnavailableError):
        await find(direct, SLOW)
    assert len(await find(direct, {"_id": 1})) == 1


async def test_a_read_on_a_lost_connection_is_sent_by_the_driver(direct: Any) -> None:
    listener = topology.of(direct.client).listener
    reading = asyncio.create_task(find(direct, {**SLOW, "_id": {"$lt": 2}}))
    await asyncio.sleep(0.01)
    assert listener.on_loss is not None
    listener.on_loss()
    assert len(await reading) == 2


async def test_the_driver_reads_before_there_is_a_connection_and_after(database: Any) -> None:
    await database["things"].insert_one({"_id": 1})
    async with driver.open_read_connections(database.client):
        assert len(await find(database, {})) == 1
    assert topology.of(database.client).read is None
    assert len(await find(database, {})) == 1


async def test_a_connection_that_was_idle_for_too_long_is_replaced(mongo_url: str) -> None:
    client = driver.connect(f"{mongo_url}&maxIdleTimeMS=500")
    await client.admin.command("ping")
    async with driver.open_read_connections(client):
        database = client["admin"]
        first = await read_directly(database, {"hello": 1})
        await asyncio.sleep(0.6)
        assert (await read_directly(database, {"hello": 1}))["connectionId"] > first["connectionId"]
    await driver.close(client)
