"""Each command is noted, sent by the driver or past it, in its context."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

import pymongo
import pytest
from pymongo.errors import DuplicateKeyError, OperationFailure, PyMongoError

from storage.errors import UnavailableCause
from storage.mongo import driver, topology
from storage.mongo.spans import Command
from tests.databases import EACH_DRIVER
from tests.waiting import TIMEOUT_SECONDS

request: ContextVar[str] = ContextVar("request", default="")
NUMBERS = {"$range": [0, {"$add": ["$_id", 1_000_000]}]}
SLOW = {"$expr": {"$lt": [{"$sum": {"$map": {"input": NUMBERS, "in": "$$this"}}}, 0]}}
"""Takes 0.03 to 0.3 seconds for each document."""


class Observed:
    """A database, and what was told of its commands."""

    def __init__(self) -> None:
        self.database: Any = None
        self.told: list[tuple[str, Command]] = []

    def observe(self, end: Command) -> None:
        self.told.append((request.get(), end))

    def of(self, collection: str) -> list[tuple[str, str, str]]:
        """Return the request, command and code of each end."""
        return [(by, e.command, e.code) for by, e in self.told if e.collection == collection]


@pytest.fixture(params=EACH_DRIVER)
async def observed(
    mongo_url: str,
    fresh_database_name: str,
    anyio_backend: str,
    request: pytest.FixtureRequest,
) -> AsyncIterator[Observed]:
    observed = Observed()
    client = driver.connect(mongo_url, request.param, 30, observe=observed.observe)
    observed.database = client[fresh_database_name]
    await observed.database["things"].insert_many([{"_id": key} for key in range(100)])
    observed.told.clear()
    yield observed
    await driver.close(client)


async def test_commands_of_the_driver_are_told(observed: Observed) -> None:
    request.set("of the driver")
    await observed.database["things"].insert_one({"_id": 100})
    await observed.database["things"].find({}, batch_size=100).to_list(None)
    with suppress(OperationFailure):
        await observed.database.command({"find": "things", "filter": {"$no": 1}})
    assert observed.of("things") == [
        ("of the driver", "insert", ""),
        ("of the driver", "find", ""),
        ("of the driver", "getMore", ""),
        ("of the driver", "find", "BadValue"),
    ]
    assert all(0 < end.seconds < TIMEOUT_SECONDS for _, end in observed.told)


async def test_reads_past_the_driver_are_told(observed: Observed) -> None:
    request.set("direct")
    database = observed.database
    async with driver.open_read_connections(database.client):
        read: Any = topology.of(database.client).read
        assert read is not None, "the observer costs no direct reads"
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while await read(database.name, {"find": "any"}) is None:
                await asyncio.sleep(0.01)
        await driver.find_documents(database, "things", {}, {}, limit=1)
        with suppress(OperationFailure):
            await driver.find_documents(database, "things", {"$no": 1}, {}, limit=1)
        with pymongo.timeout(0.05), suppress(PyMongoError):
            await driver.find_documents(database, "things", SLOW, {}, limit=1)
    assert observed.of("things") == [
        ("direct", "find", ""),
        ("direct", "find", "BadValue"),
        ("direct", "find", str(UnavailableCause.DEADLINE_EXCEEDED)),
    ]


async def test_an_error_that_is_not_of_mongodb_has_the_cause_as_code(observed: Observed) -> None:
    request.set("too late")
    with pymongo.timeout(0.05), pytest.raises(PyMongoError):
        await observed.database["things"].find_one(SLOW)
    assert observed.of("things") == [("too late", "find", str(UnavailableCause.DEADLINE_EXCEEDED))]


async def test_an_insert_that_finds_its_key_taken_is_a_command_that_succeeded(
    observed: Observed,
) -> None:
    request.set("taken")
    with pytest.raises(DuplicateKeyError):
        await observed.database["things"].insert_one({"_id": 1})
    assert observed.of("things") == [("taken", "insert", "")]
