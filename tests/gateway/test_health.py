"""Probes: liveness needs nothing, readiness needs MongoDB."""

import asyncio
from typing import Any

import pytest
from starlette.requests import Request

from gateway import health as health_module
from gateway.health import HealthEndpoints
from storage.errors import Cause, UnavailableError
from storage.mongo import driver
from tests.fixtures import World, open_client, run_gateway

pytestmark = pytest.mark.anyio

REQUEST = Request({"type": "http"})


async def test_a_gateway_that_is_about_to_stop_is_live_and_serves_but_is_not_ready(
    world: World,
) -> None:
    async with (
        run_gateway(world.settings()) as gateway,
        open_client(gateway, world.keys.full) as client,
    ):
        assert (await client.get("/health/ready")).status_code == 200
        gateway.build_app_with_fast_path().on_stop()
        assert (await client.get("/health/ready")).status_code == 503
        assert (await client.get("/health/live")).status_code == 200
        assert (await client.get("/v1/units")).status_code == 200


class Pings:
    """A MongoDB that answers pings when told to, and counts them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.answered = asyncio.Event()
        self.error: Exception | None = None
        monkeypatch.setattr(driver, "ping", self.ping)

    async def ping(self, *_: Any) -> None:
        self.count += 1
        await self.answered.wait()
        if self.error is not None:
            raise self.error


def endpoints_of_any_database() -> HealthEndpoints:
    database: Any = type("Database", (), {"client": None})
    return HealthEndpoints(lambda: database)


async def test_probes_at_the_same_time_share_one_ping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health_module, "READINESS_TTL_SECONDS", 0.0)  # a ping may take longer
    pings, health = Pings(monkeypatch), endpoints_of_any_database()
    probes = [asyncio.create_task(health.readiness(REQUEST)) for _ in range(100)]
    await asyncio.sleep(0)
    probes[0].cancel()  # a client that leaves does not take the ping along
    pings.answered.set()
    responses = await asyncio.gather(*probes[1:])
    assert {response.status_code for response in responses} == {200}
    assert pings.count == 1


async def test_a_result_is_used_for_a_moment_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health_module, "READINESS_TTL_SECONDS", 3600.0)
    pings, health = Pings(monkeypatch), endpoints_of_any_database()
    pings.answered.set()
    assert [(await health.readiness(REQUEST)).status_code for _ in range(3)] == [200] * 3
    assert pings.count == 1
    monkeypatch.setattr(health_module, "READINESS_TTL_SECONDS", 0.0)
    health = endpoints_of_any_database()
    pings.error = UnavailableError("away", Cause.UNREACHABLE)
    assert (await health.readiness(REQUEST)).status_code == 503
    pings.error = None
    assert (await health.readiness(REQUEST)).status_code == 200
    assert pings.count == 3
