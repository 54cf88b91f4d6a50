"""A client of MongoDB and a prepared database for each test, and a replica set for all."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from storage.embedded.embedded_mongo import run_embedded_mongo
from storage.mongo import driver
from tests.storage.catalogs import SMALL, write_arrays
from tests.storage.mongo.replica_set_of_three import (
    Member,
    ReplicaSet,
    find_free_ports,
    run_replica_set,
    start_member,
)


@pytest.fixture
async def client(
    mongo_url: str, anyio_backend: str, request: pytest.FixtureRequest
) -> AsyncIterator[Any]:
    """A client of MongoDB; tests of `storage/mongo` run with each driver."""
    client = driver.connect(mongo_url, getattr(request, "param", "motor"), timeout_seconds=30)
    yield client
    await driver.close(client)


@pytest.fixture
def database(client: Any, database_name: str) -> Any:
    return client[database_name]


@pytest.fixture
async def forgetful_database(tmp_path: Path, anyio_backend: str) -> AsyncIterator[Any]:
    """A database of a MongoDB that keeps a snapshot for one second instead of five minutes."""
    with run_embedded_mongo(tmp_path) as url:
        client = driver.connect(url, timeout_seconds=30)
        await client.admin.command({"setParameter": 1, "minSnapshotHistoryWindowInSeconds": 1})
        yield client["forgetful"]
        await driver.close(client)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return write_arrays(tmp_path / "small.json", SMALL)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "b.json"


@pytest.fixture(scope="session")
def uninitiated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Member]:
    """A mongod that knows the name of its replica set and must stay without a configuration."""
    (port,) = find_free_ports(1)
    member = start_member(tmp_path_factory.mktemp("uninitiated"), port)
    try:
        member.command("ping")
        yield member
    finally:
        member.kill()


@pytest.fixture(scope="session")
def _shared_three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReplicaSet]:
    with run_replica_set(tmp_path_factory.mktemp("three"), chaining=False) as replica_set:
        yield replica_set


@pytest.fixture
def three(_shared_three: ReplicaSet) -> Iterator[ReplicaSet]:
    """A replica set of three that all tests share: killed members are started again afterwards.

    There is no election unless a test asks for one. Tests that take it belong to the xdist group
    `three`.
    """
    yield _shared_three
    _shared_three.restore()
