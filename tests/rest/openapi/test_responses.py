"""What the service sends is what is described: resources, member by member, and errors."""

from typing import Any
from urllib.parse import quote

import httpx
import pytest

from gateway.server.config import ConnectionLimits
from rest.errors import ErrorSource
from rest.openapi.responses import COMMON_STATUSES, ERROR_RESPONSES
from tests.endpoints import ENDPOINTS
from tests.fixtures import (
    ALL_FLAGS,
    BACKGROUND,
    FLOOR,
    MAP,
    SEEN,
    UNIT,
    World,
    freeze_limiter,
    gateway_client,
    open_client,
    run_gateway,
)
from tests.rest.error_bodies import read_error
from tests.rest.openapi.described import DESCRIPTION, errors_of

pytestmark = pytest.mark.anyio

MATRIX = f"/v1/maps/{quote(MAP, safe='')}/distance-matrix"
ASSIGN = "/v1/units/attribute-groups/view/assignments"
JSON = {**ALL_FLAGS, "Content-Type": "application/json"}

FULL = [
    (400, "flag", {"method": "GET", "url": "/v1/assets/references"}),
    (400, "body", {"method": "PUT", "url": ASSIGN, "content": b'{"data": ]}', "headers": JSON}),
    (404, "id", {"method": "GET", "url": "/v1/units/none"}),
    (
        413,
        "distances",
        {"method": "POST", "url": MATRIX, "content": b" " * 1_000_001, "headers": JSON},
    ),
    (415, "type", {"method": "POST", "url": MATRIX, "content": b"x", "headers": ALL_FLAGS}),
    (422, "page", {"method": "GET", "url": "/v1/units?page=0"}),
]
"""Requests of a key with every permission."""


def documented(status: int, name: str) -> dict[str, Any]:
    """The documented `message`, `code` and `fields`."""
    body = ERROR_RESPONSES[status].examples[name].describe(ErrorSource("r1"))
    return {key: value for key, value in body.items() if key not in ("request_id", "docs")}


@pytest.mark.parametrize(("status", "name", "request_options"), FULL)
async def test_an_invalid_request_gets_the_documented_error(
    client: httpx.AsyncClient, status: int, name: str, request_options: dict[str, Any]
) -> None:
    response = await client.request(**request_options)
    assert (response.status_code, read_error(response)) == (status, documented(status, name))


async def test_a_key_that_lacks_a_permission_gets_the_documented_error(
    restricted: httpx.AsyncClient,
) -> None:
    response = await restricted.post(MATRIX, json={}, headers=ALL_FLAGS)
    assert (response.status_code, read_error(response)) == (403, documented(403, "permission"))


@pytest.mark.parametrize(
    ("status", "name", "keys"),
    [(401, "missing", []), (401, "duplicate", ["a", "b"]), (403, "key", ["fgk_none"])],
)
async def test_an_unauthenticated_request_gets_the_documented_error(
    anonymous: httpx.AsyncClient, status: int, name: str, keys: list[str]
) -> None:
    response = await anonymous.get("/v1/units", headers=[("API-Key", key) for key in keys])
    assert (response.status_code, read_error(response)) == (status, documented(status, name))
    assert {*ERROR_RESPONSES[status].headers} <= {*_names(response)}


async def test_requests_over_the_rate_limit_get_the_documented_error(world: World) -> None:
    async with run_gateway(world.settings(rate_limit=1, rate_burst=1)) as gateway:
        freeze_limiter(gateway)
        async with open_client(gateway, world.keys.full) as client:
            responses = [await client.get("/v1/units") for _ in range(3)]
    response = responses[-1]
    assert (response.status_code, read_error(response)) == (429, documented(429, "rate"))
    assert "Retry-After" in _names(response)


async def test_many_invalid_keys_get_the_documented_error(world: World) -> None:
    settings = world.settings(bad_key_limit=1, bad_key_burst=1)
    async with gateway_client(settings, "fgk_none") as client:
        responses = [await client.get("/v1/units") for _ in range(20)]
    throttled = [response for response in responses if response.status_code == 429]
    assert read_error(throttled[0]) == documented(429, "keys")
    assert "Retry-After" in _names(throttled[0])


def test_each_status_that_any_request_can_end_with_has_a_description() -> None:
    assert {*COMMON_STATUSES} <= {*ERROR_RESPONSES}


def test_the_documented_limits_are_the_default_ones() -> None:
    limits = ConnectionLimits()
    assert f"{limits.max_url_bytes} bytes" in str(documented(414, "address"))
    assert f"{limits.max_header_bytes} bytes" in str(documented(431, "size"))


IDS = {"asset": SEEN, "floor": FLOOR, "unit": UNIT, "background": BACKGROUND, "group-id": "view"}


HERE = {"from": "0,0," + FLOOR, "to": "1,1," + FLOOR, "minutes": "1"}


GETS = [row.path for row in ENDPOINTS if row.method == "GET"]


@pytest.mark.parametrize("path", GETS)
async def test_a_response_has_nothing_that_is_not_described(
    client: httpx.AsyncClient, path: str
) -> None:
    ids = {name: quote(value, safe="") for name, value in IDS.items()}
    url = path.format(map=quote(MAP, safe=""), unitMapId=quote(MAP, safe=""), **ids)
    parameters: dict[str, str] = HERE if path.endswith(("route", "nearest", "reachable")) else {}
    response = await client.get(url, params=parameters, headers=ALL_FLAGS)
    assert response.status_code in (200, 404, 422)
    if response.headers["content-type"] == "image/svg+xml":
        return  # no JSON
    assert errors_of(response, path) == []


def test_every_path_describes_the_error_for_other_methods() -> None:
    for operations in DESCRIPTION["paths"].values():
        assert all("405" in each["responses"] for each in operations.values())


def _names(response: httpx.Response) -> set[str]:
    return {name.title().replace("Www", "WWW") for name in response.headers}
