"""Fixtures of the commands that need a database."""

from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from tests.databases import Documents, ReusedDatabase, read_documents
from tests.gateway.cli.commands import floorgate
from tests.gateway.floorgate_process import storage_options
from tests.resolvers import worlds

PROCESS = ["maps", "process"]


@pytest.fixture
def storage(mongo_url: str, database_name: str, tmp_path: Path) -> list[str]:
    """The options that name an empty database of the test's own."""
    return storage_options(mongo_url, database_name, tmp_path)


@pytest.fixture(scope="session")
def yard_documents(
    mongo_url: str, reused_database: ReusedDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Documents:
    """What a database has with the map `yard`, which is routable, and `plain`, which is not."""
    folder = tmp_path_factory.mktemp("yard")
    bundle = worlds.write_bundle(folder)
    return record(mongo_url, reused_database, folder, ["import", bundle], [*PROCESS, "yard"])


@pytest.fixture
def yard_storage(
    mongo_url: str, reused_database: ReusedDatabase, yard_documents: Documents, tmp_path: Path
) -> list[str]:
    """The options of a database with the yard; the folder of the test has its drawing."""
    worlds.write_bundle(tmp_path)
    reused_database.refill(yard_documents)
    return storage_options(mongo_url, reused_database.name, tmp_path)


@pytest.fixture(scope="session")
def tower_documents(
    mongo_url: str, reused_database: ReusedDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Documents:
    """What a database has with the map `tower`, which is routable."""
    folder = tmp_path_factory.mktemp("tower")
    bundle = worlds.write(folder)
    return record(mongo_url, reused_database, folder, ["import", bundle], [*PROCESS, "tower"])


@pytest.fixture
def tower_storage(
    mongo_url: str, reused_database: ReusedDatabase, tower_documents: Documents, tmp_path: Path
) -> list[str]:
    """The options of a database with the tower."""
    reused_database.refill(tower_documents)
    return storage_options(mongo_url, reused_database.name, tmp_path)


def record(
    mongo_url: str, database: ReusedDatabase, folder: Path, *commands: list[Any]
) -> Documents:
    """Run commands on an empty database, and return what it has then."""
    database.refill()
    storage = storage_options(mongo_url, database.name, folder)
    for command in commands:
        run = floorgate(*command, *storage)
        assert run.exit_code == 0, run.output
    with MongoClient[dict[str, Any]](mongo_url) as client:
        return read_documents(client, database.name)
