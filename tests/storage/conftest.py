"""A database of each test's own, through either driver."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from storage.mongo import driver
from tests.drivers import EACH_DRIVER
from tests.storage.catalogs import SMALL, write_arrays
from tests.storage.mongo.replica_set_of_three import Member, find_free_ports, start_member


@pytest.fixture(params=EACH_DRIVER)
async def client(
    mongo_url: str, anyio_backend: str, request: pytest.FixtureRequest
) -> AsyncIterator[Any]:
    """A client of each driver: every test runs with both."""
    client = driver.connect(mongo_url, request.param, timeout_seconds=30)
    yield client
    await driver.close(client)


@pytest.fixture
def database(client: Any, database_name: str) -> Any:
    return client[database_name]


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
