"""A database of each test's own, through either driver."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from storage.mongo import driver
from tests.storage.catalogs import SMALL, write_arrays


@pytest.fixture(params=["motor", "pymongo"])
async def client(
    mongo_url: str, anyio_backend: str, request: pytest.FixtureRequest
) -> AsyncIterator[Any]:
    """A client of each driver: what a test says holds for both."""
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
