"""A database is opened prepared, by the driver asked for, and closed whatever happens."""

from pathlib import Path
from typing import Any

import pytest
from motor.motor_asyncio import AsyncIOMotorClient
from pymongo import AsyncMongoClient
from pymongo.errors import InvalidOperation

from storage.catalog import RECORD_TYPES
from storage.errors import MigrationRunningError
from storage.mongo.connection import ConnectionSettings, DriverName
from storage.mongo.lease import Lease
from storage.setup import preparation
from storage.setup.database import open_database

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("driver", "client_type"), [("motor", AsyncIOMotorClient), ("pymongo", AsyncMongoClient)]
)
async def test_a_database_is_prepared_and_its_client_closed_at_the_end(
    mongo_url: str, database_name: str, tmp_path: Path, driver: DriverName, client_type: type
) -> None:
    settings = ConnectionSettings(tmp_path, mongo_url, driver, database_name)
    async with open_database(settings, 30) as client:
        assert isinstance(client, client_type)
        names = await client[database_name].list_collection_names()
        assert {kind.name for kind in RECORD_TYPES} <= {*names}
    with pytest.raises(InvalidOperation, match="after close"):
        await client[database_name].list_collection_names()
    assert not [*tmp_path.iterdir()]  # another MongoDB needs no data directory


async def test_migrations_that_do_not_end_are_an_error(
    database: Any, mongo_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ConnectionSettings(tmp_path, mongo_url, database=database.name)
    monkeypatch.setattr(preparation, "WAIT_SECONDS", 0.0)
    await database.create_collection("assets")  # not a new database, which has none to run
    assert await Lease(
        database[preparation.MIGRATIONS_COLLECTION], preparation.STATE_ID
    ).try_acquire()
    with pytest.raises(MigrationRunningError):
        async with open_database(settings, 30):
            pass


async def test_without_an_address_the_embedded_mongodb_is_started_in_the_data_directory(
    tmp_path: Path,
) -> None:
    settings = ConnectionSettings(tmp_path)
    async with open_database(settings, 30) as first, open_database(settings, 30) as second:
        await first["floorgate"]["notes"].insert_one({"_id": 1})
        assert await second["floorgate"]["notes"].find_one({}) == {"_id": 1}
    assert (tmp_path / "mongod").is_dir()
