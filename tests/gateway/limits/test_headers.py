"""Every response to a valid key says how many requests the key has left."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from storage.errors import Cause, UnavailableError
from storage.store import Store
from tests.fixtures import World, freeze_limiter, gateway_client, open_client, run_gateway

pytestmark = pytest.mark.anyio

LIMITS = {"rate_limit": 1, "rate_burst": 1000}
POLICY = '"default";q=1000;w=1000'


@pytest.fixture(scope="module")
async def limited(world: World, anyio_backend: str) -> AsyncIterator[httpx.AsyncClient]:
    async with run_gateway(world.settings(**LIMITS)) as gateway:
        freeze_limiter(gateway)
        async with open_client(gateway, world.keys.full) as client:
            yield client


def remaining(response: httpx.Response) -> int:
    """The `r` of a response, which must have both headers, once."""
    assert response.headers.get_list("ratelimit-policy") == [POLICY]
    [limit] = response.headers.get_list("ratelimit")
    found = re.fullmatch(r'"default";r=(\d+);t=(\d+)', limit)
    assert found is not None
    return int(found[1])


@pytest.mark.parametrize(
    ("status", "options"),
    [
        (200, {"method": "HEAD", "url": "/v1/units"}),
        (200, {"method": "GET", "url": "/v1/units", "headers": {"Accept-Encoding": "gzip"}}),
        (304, {"method": "GET", "url": "/v1/units", "headers": {"If-None-Match": "*"}}),
        (404, {"method": "GET", "url": "/v1/units/none"}),
        (422, {"method": "GET", "url": "/v1/units?page=0"}),
        (200, {"method": "POST", "url": "/graphql", "json": {"query": "{ nothing }"}}),
        (415, {"method": "POST", "url": "/graphql", "content": "x"}),
        (405, {"method": "GET", "url": "/graphql?query=mutation{__typename}"}),
    ],
)
async def test_a_response_says_what_is_left(
    limited: httpx.AsyncClient, status: int, options: dict[str, Any]
) -> None:
    before = remaining(await limited.get("/v1/units/unit-1"))
    response = await limited.request(**options)
    assert response.status_code == status
    assert remaining(response) == before - 1


async def test_a_failure_says_what_is_left(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async with gateway_client(world.settings(**LIMITS), world.keys.full) as client:
        await client.get("/v1/units/unit-1")  # the key is cached now
        for error, status in (
            (UnavailableError("down", Cause.UNREACHABLE), 503),
            (ZeroDivisionError(), 500),
        ):

            async def fail(*_: object, error: Exception = error, **__: object) -> None:
                raise error

            monkeypatch.setattr(Store, "list_page", fail)
            response = await client.get("/v1/units")
            assert response.status_code == status
            assert remaining(response)


async def test_responses_without_a_valid_key_have_no_limit(
    limited: httpx.AsyncClient,
) -> None:
    for key in ("", "not a key"):
        response = await limited.get("/v1/units", headers={"API-Key": key})
        assert response.status_code in (401, 403)
        assert not [name for name in response.headers if name.startswith("ratelimit")]
    for path in ("/v1/openapi.json", "/health/live", "/v1/nothing"):
        assert "ratelimit" not in (await limited.get(path)).headers


async def test_requests_at_once_take_one_each(world: World) -> None:
    async with run_gateway(world.settings(**LIMITS)) as gateway:
        freeze_limiter(gateway)
        async with open_client(gateway, world.keys.full) as client:
            responses = await asyncio.gather(*(client.get("/v1/units/unit-1") for _ in range(20)))
        async with open_client(gateway, world.keys.restricted) as other:
            assert remaining(await other.get("/v1/units/unit-1")) == 999  # each key has its own
    assert sorted(remaining(response) for response in responses) == list(range(980, 1000))
