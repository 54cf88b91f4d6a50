"""A database is opened prepared, by the driver asked for, and closed whatever happens."""

from pathlib import Path
from typing import Any

import pytest
from motor.motor_asyncio import AsyncIOMotorClient
from pymongo import AsyncMongoClient
from pymongo.errors import InvalidOperation

from storage.catalog import RECORD_TYPES
from storage.errors import EmbeddedServerError, MigrationRunningError, UnavailableError
from storage.mongo.connection import ConnectionSettings, DriverName
from storage.mongo.lease import Lease
from storage.setup import database as opening
from storage.setup import migrations
from storage.setup.database import open_database
from tests.storage.catalogs import ONE_DRIVER

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

NOWHERE = "mongodb://127.0.0.1:9/"


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


async def test_what_was_written_is_there_when_it_is_opened_again(
    mongo_url: str, database_name: str, tmp_path: Path
) -> None:
    settings = ConnectionSettings(tmp_path, mongo_url, database=database_name)
    async with open_database(settings, 30) as client:
        await client[database_name]["notes"].insert_one({"_id": 1})
    async with open_database(settings, 30) as client:
        assert await client[database_name]["notes"].find_one({}) == {"_id": 1}


async def test_an_error_inside_closes_the_client(
    mongo_url: str, database_name: str, tmp_path: Path
) -> None:
    settings = ConnectionSettings(tmp_path, mongo_url, database=database_name)
    clients: list[Any] = []
    with pytest.raises(ZeroDivisionError):
        async with open_database(settings, 30) as client:
            clients.append(client)
            raise ZeroDivisionError
    with pytest.raises(InvalidOperation, match="after close"):
        await clients[0][database_name].list_collection_names()


@pytest.mark.parametrize("driver", ["motor", "pymongo"])
async def test_a_mongodb_that_cannot_be_reached_is_an_error(
    tmp_path: Path, driver: DriverName, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "PING_TIMEOUT_SECONDS", 0.1)
    with pytest.raises(UnavailableError, match="cannot be reached"):
        async with open_database(ConnectionSettings(tmp_path, NOWHERE, driver), 30):
            pass


@ONE_DRIVER
async def test_migrations_that_do_not_end_are_an_error(
    database: Any, mongo_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ConnectionSettings(tmp_path, mongo_url, database=database.name)
    monkeypatch.setattr(migrations, "WAIT_SECONDS", 0.0)
    await database.create_collection("assets")  # not a new database, which has none to run
    assert await Lease(
        database[migrations.MIGRATIONS_COLLECTION], migrations.STATE_ID
    ).try_acquire()
    with pytest.raises(MigrationRunningError):
        async with open_database(settings, 30):
            pass


@pytest.mark.slow
async def test_without_an_address_the_embedded_mongodb_is_started_in_the_data_directory(
    tmp_path: Path,
) -> None:
    settings = ConnectionSettings(tmp_path)
    async with open_database(settings, 30) as first, open_database(settings, 30) as second:
        await first["floorgate"]["notes"].insert_one({"_id": 1})
        assert await second["floorgate"]["notes"].find_one({}) == {"_id": 1}
    assert (tmp_path / "mongod").is_dir()


async def test_a_data_directory_that_cannot_be_used_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(EmbeddedServerError, match="must be one that this user may write to"):
        async with open_database(ConnectionSettings(file)):
            pass
