"""Which pages of other origins may call the API, and what they may read."""

import httpx
import pytest

from rest.envelopes import WARNINGS_HEADER
from tests.fixtures import World, gateway_client

pytestmark = pytest.mark.anyio

ORIGIN = {"Origin": "https://app.example"}
PREFLIGHT = {
    **ORIGIN,
    "Access-Control-Request-Method": "GET",
    "Access-Control-Request-Headers": "api-key, experimental-flags, floorgate-explain",
}


async def test_other_origins_are_not_allowed_by_default(client: httpx.AsyncClient) -> None:
    response = await client.get("/v1/units", headers=ORIGIN)
    assert not [name for name in response.headers if name.startswith("access-control")]
    preflight = await client.options("/v1/units", headers=PREFLIGHT)
    assert preflight.status_code == 204
    assert not [name for name in preflight.headers if name.startswith("access-control")]


async def test_pages_of_configured_origins_may_call(world: World) -> None:
    settings = world.settings(cors_origins="https://app.example, https://other.example")
    async with gateway_client(settings) as client:
        preflight = await client.options("/v1/units", headers=PREFLIGHT)
        assert preflight.status_code == 204
        assert preflight.headers["access-control-allow-origin"] == "https://app.example"
        assert "api-key" in preflight.headers["access-control-allow-headers"].lower()
        response = await client.get("/v1/units", headers=ORIGIN)
        assert response.status_code == 401  # readable for the page, as any answer
        assert response.headers["access-control-allow-origin"] == "https://app.example"
        exposed = response.headers["access-control-expose-headers"]
        assert {"ETag", "Link", WARNINGS_HEADER, "RateLimit", "RateLimit-Policy"} <= {
            *exposed.split(", ")
        }
        assert "Origin" in response.headers["vary"]


async def test_other_origins_get_the_usual_error_response(world: World) -> None:
    async with gateway_client(world.settings(cors_origins="https://app.example")) as client:
        for changed in (
            {"Origin": "https://evil.example"},
            {"Access-Control-Request-Method": "DELETE"},
            {"Access-Control-Request-Headers": "x-unheard-of"},
        ):
            response = await client.options("/v1/units", headers={**PREFLIGHT, **changed})
            assert response.status_code == 400
            assert response.headers["content-type"] == "application/json"
            assert response.json()["code"] == "ORIGIN_NOT_ALLOWED"


async def test_every_origin_may_be_let_in(world: World) -> None:
    async with gateway_client(world.settings(cors_origins="*")) as client:
        response = await client.options("/v1/units", headers=PREFLIGHT)
    assert response.headers["access-control-allow-origin"] == "*"
