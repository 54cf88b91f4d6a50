"""The code that calls the drivers is tested with each of them."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from storage.mongo import driver
from tests.databases import EACH_DRIVER


@pytest.fixture(params=EACH_DRIVER)
async def client(
    mongo_url: str, anyio_backend: str, request: pytest.FixtureRequest
) -> AsyncIterator[Any]:
    """A client of each driver."""
    client = driver.connect(mongo_url, request.param, timeout_seconds=30)
    yield client
    await driver.close(client)
