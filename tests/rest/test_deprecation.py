"""Deprecated endpoints say so in every response, in the description and in the index."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import date
from functools import partial

import httpx
import orjson
import pytest

from gateway.app import Gateway
from rest import endpoints
from rest.endpoint_files import Deprecation, Endpoint
from rest.openapi.api_index import build_index
from rest.openapi.description import describe_endpoints
from schema.root import GRAPHQL_SCHEMA
from tests.endpoints import ENDPOINTS
from tests.fixtures import BASE_URL, World, open_client
from tests.waiting import TIMEOUT_SECONDS

pytestmark = pytest.mark.anyio

DEPRECATION = Deprecation(date(2027, 1, 1), date(2027, 7, 1))
HEADERS = {"deprecation": "@1798761600", "sunset": "Thu, 01 Jul 2027 00:00:00 GMT"}


def endpoint(path: str) -> Endpoint:
    return next(row for row in ENDPOINTS if row.path == path)


UNITS = endpoint("/v1/units")
TABLE = (replace(UNITS, deprecation=DEPRECATION), endpoint("/v1/units/{unit}"))


@pytest.fixture
def service(world: World, monkeypatch: pytest.MonkeyPatch) -> Gateway:
    """A gateway with a deprecated endpoint, and one that is not; not started yet."""
    build = partial(endpoints.build_handlers, endpoints=TABLE)
    monkeypatch.setattr(endpoints, "build_handlers", build)
    return Gateway(world.settings())


@asynccontextmanager
async def start(service: Gateway, key: str | None) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the service."""
    async with service.run(), open_client(service, key) as client:
        yield client


def deprecation_headers(response: httpx.Response) -> dict[str, str]:
    return {name: response.headers[name] for name in HEADERS if name in response.headers}


async def test_every_response_says_so(service: Gateway, world: World) -> None:
    async with start(service, world.keys.full) as client:
        for path, status in (
            ("/v1/units", 200),
            ("/v1/units?per-page=2", 200),
            ("/v1/units?page=0", 422),
        ):
            for _ in range(2):  # the second from the cache
                response = await client.get(path)
                assert response.status_code == status
                assert deprecation_headers(response) == HEADERS
            assert deprecation_headers(await client.head(path)) == HEADERS
        page = await client.get("/v1/units?per-page=2")
        assert set(page.links) == {"next"}
        etag = {"If-None-Match": page.headers["etag"]}
        unchanged = await client.get("/v1/units?per-page=2", headers=etag)
        assert unchanged.status_code == 304
        assert deprecation_headers(unchanged) == HEADERS
        assert deprecation_headers(await client.get("/v1/units/unit-1")) == {}


@pytest.mark.parametrize(("key", "status"), [(None, 401), ("unknown", 403)])
async def test_a_request_that_is_refused_is_told_so(
    service: Gateway, key: str | None, status: int
) -> None:
    async with start(service, key) as stranger:
        refused = await stranger.get("/v1/units")
    assert refused.status_code == status
    assert deprecation_headers(refused) == HEADERS


async def test_the_fast_path_leaves_it_to_the_pipeline(service: Gateway, world: World) -> None:
    raw = [(b"host", b"directory.test"), (b"api-key", world.keys.full.encode())]
    async with start(service, None) as client:

        async def is_fast(path: str) -> bool:
            request = httpx.Request("GET", BASE_URL + path, headers=raw)
            assert (await client.send(request)).status_code == 200
            assert service.state
            return service.state.fast_path.find(path.encode(), raw) is not None

        async with asyncio.timeout(TIMEOUT_SECONDS):
            while not await is_fast("/v1/units/unit-1"):
                pass  # nothing is cached until the change feed runs
        assert not await is_fast("/v1/units")
        assert not await is_fast("/v1/units")


def test_the_description_marks_the_operation() -> None:
    described = describe_endpoints(GRAPHQL_SCHEMA, TABLE)["paths"]
    operation = described["/v1/units"]["get"]
    assert operation["deprecated"] is True
    sentence = "Deprecated since 2027-01-01; it stops working on 2027-07-01."
    assert operation["description"].endswith(sentence)
    assert {"Deprecation", "Sunset"} <= set(operation["responses"]["200"]["headers"])
    other = described["/v1/units/{unit}"]["get"]
    assert "deprecated" not in other
    assert "Sunset" not in other["responses"]["200"]["headers"]


def test_the_index_has_the_dates() -> None:
    index = orjson.loads(orjson.dumps(build_index(GRAPHQL_SCHEMA, endpoints=TABLE)))
    deprecated, other = index["endpoints"]
    assert deprecated["deprecation"] == {"since": "2027-01-01", "sunset": "2027-07-01"}
    assert "deprecation" not in other


def test_an_endpoint_without_a_sunset_has_no_such_header() -> None:
    assert Deprecation(date(2027, 1, 1)).headers == [(b"deprecation", b"@1798761600")]


def test_a_sunset_before_the_deprecation_is_refused() -> None:
    with pytest.raises(ValueError, match="before"):
        Deprecation(date(2027, 1, 1), date(2026, 12, 31))
