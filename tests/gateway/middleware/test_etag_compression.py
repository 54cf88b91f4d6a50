"""Entity tags, conditional requests and compression, at every address that is read with GET."""

import gzip

import httpx
import pytest
import zstandard

from gateway.app import Gateway
from tests.fixtures import World, open_client

pytestmark = pytest.mark.anyio

ADDRESSES = [
    "/v1/units",
    "/v1/units/unit-1",
    "/v1/maps/plan-two/levels/tags",
    "/v1",
    "/v1/openapi.json",
    "/v1/bundle.schema.json",
    "/v1/openapi.yaml",
    "/graphql?query={units{data{id name}}}",
    "/health/ready",
]


@pytest.mark.parametrize("address", ADDRESSES)
async def test_every_get_has_a_strong_etag_and_is_cacheable_only_by_its_client(
    client: httpx.AsyncClient, address: str
) -> None:
    first = await client.get(address)
    assert first.status_code == 200
    assert first.headers["etag"].startswith('"')
    assert first.headers["cache-control"] == "private, no-cache"
    for name in ("API-Key", "Experimental-Flags", "Accept-Encoding"):
        assert name in first.headers["vary"]
    again = await client.get(address, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    for name in ("etag", "cache-control", "vary"):
        assert again.headers[name] == first.headers[name]


@pytest.mark.parametrize("coding", ["identity", "gzip", "zstd"])
async def test_head_has_the_headers_of_get_and_no_body(
    client: httpx.AsyncClient, coding: str
) -> None:
    for address in ADDRESSES:
        wanted = {"Accept-Encoding": coding}
        got = await client.get(address, headers=wanted)
        headed = await client.head(address, headers=wanted)
        for each in (got, headed):
            for name in ("x-request-id", "ratelimit"):
                each.headers.pop(name, None)
        assert headed.headers == got.headers
        assert (headed.status_code, headed.content) == (200, b"")


async def test_an_error_is_never_answered_304(client: httpx.AsyncClient) -> None:
    for address, status in (("/v1/units/none", 404), ("/v1/units?page=0", 422)):
        response = await client.get(address, headers={"If-None-Match": "*"})
        assert response.status_code == status
        assert "etag" not in response.headers


async def test_an_error_says_that_no_shared_cache_may_keep_it(client: httpx.AsyncClient) -> None:
    for address in ("/v1/units/none", "/v1/nothing", "/v1/units?page=0"):
        response = await client.get(address)
        assert response.headers["cache-control"] == "private, no-cache"
        assert "API-Key" in response.headers["vary"]


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
async def test_a_response_travels_in_the_coding_that_was_asked_for(
    gateway: Gateway, world: World, coding: str
) -> None:
    async with open_client(gateway, world.keys.full) as client:
        plain = await client.get("/v1/units")
        async with client.stream(
            "GET", "/v1/units", headers={"Accept-Encoding": coding}
        ) as response:
            sent = b"".join([part async for part in response.aiter_raw()])
    assert response.headers["content-encoding"] == coding
    assert response.headers["content-length"] == str(len(sent))
    decoded = gzip.decompress(sent) if coding == "gzip" else zstandard.decompress(sent)
    assert decoded == plain.content


async def test_a_304_repeats_the_link_to_the_next_page(client: httpx.AsyncClient) -> None:
    first = await client.get("/v1/units?per-page=2")
    again = await client.get("/v1/units?per-page=2", headers={"If-None-Match": "*"})
    assert again.status_code == 304
    assert again.headers["link"] == first.headers["link"]


async def test_a_post_is_compressed_but_has_no_tag(client: httpx.AsyncClient) -> None:
    response = await client.post(
        "/graphql",
        json={"query": "{units{data{id name createdAt}}}"},
        headers={"Accept-Encoding": "gzip", "If-None-Match": "*"},
    )
    assert response.status_code == 200
    assert response.headers["content-encoding"] == "gzip"
    assert "etag" not in response.headers
