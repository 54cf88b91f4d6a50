"""Probes: liveness needs nothing, readiness needs MongoDB."""

import pytest
from starlette.requests import Request

from gateway.health import HealthEndpoints
from storage.mongo.connection import ConnectionSettings
from storage.setup.database import open_database
from tests.fixtures import World

pytestmark = pytest.mark.anyio

REQUEST = Request({"type": "http"})


async def test_a_process_without_a_database_is_live_and_not_ready() -> None:
    health = HealthEndpoints(lambda: None)
    assert (await health.liveness(REQUEST)).status_code == 200
    response = await health.readiness(REQUEST)
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")


async def test_a_process_that_reaches_its_database_is_ready(world: World) -> None:
    connection = world.settings().connection
    assert isinstance(connection, ConnectionSettings)
    async with open_database(connection) as client:
        health = HealthEndpoints(lambda: client[world.database])
        response = await health.readiness(REQUEST)
    assert (response.status_code, response.body) == (200, b'{"status":"ready"}')
