"""Errors of `/v1`: one form, from any layer."""

from typing import Any
from urllib.parse import quote

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from gateway.middleware import RequestMiddleware
from rest.dispatch import PathRoute, PathRouter
from rest.errors import (
    ERROR_CODES,
    STATUS_BY_CODE,
    from_graphql_error,
    render_errors_page,
)
from schema.execution import RequestError
from storage.errors import UnavailableCause
from tests.doc_pages import page, rows, section
from tests.endpoints import ENDPOINTS
from tests.fixtures import ALL_FLAGS, BASE_URL, MAP, World, gateway_client, open_client, run_gateway
from tests.gateway.small_app import admitting
from tests.rest.error_bodies import read_error

pytestmark = pytest.mark.anyio


def assert_is_error(response: httpx.Response, status: int, message: str | None = None) -> None:
    """Every error has a `message`, and `fields` too if the input is invalid."""
    assert response.status_code == status
    assert response.headers["content-type"] == "application/json"
    body: dict[str, Any] = response.json()
    assert isinstance(body["message"], str)
    assert body["message"]
    assert ("fields" in read_error(response)) <= (status == 422)
    assert ERROR_CODES[body["code"]].status == status
    if message is not None:
        assert body["message"] == message


@pytest.mark.parametrize(
    "path",
    ["/v2", "/v2/units", "/v2/", "/v1/nothing", "/pages/none.js", "/pages"],
)
async def test_an_unknown_address_is_not_found(anonymous: httpx.AsyncClient, path: str) -> None:
    for method in ("GET", "POST", "DELETE"):
        if path.startswith("/pages") and method != "GET":
            continue
        assert_is_error(await anonymous.request(method, path), 404, "Not found")


@pytest.mark.parametrize("path", sorted({row.path for row in ENDPOINTS}))
async def test_a_wrong_method_is_rejected_with_the_allowed_ones(
    anonymous: httpx.AsyncClient, path: str
) -> None:
    methods = {row.method for row in ENDPOINTS if row.path == path}
    allowed = methods | {"OPTIONS"} | ({"HEAD"} if "GET" in methods else set())
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND"} - allowed:
        response = await anonymous.request(method, path)
        assert_is_error(response, 405, "Method not allowed")
        assert response.headers["allow"] == ", ".join(sorted(allowed))
    options = await anonymous.options(path)
    assert (options.status_code, options.content) == (204, b"")
    assert options.headers["allow"] == ", ".join(sorted(allowed))


ASSIGN = "/v1/units/attribute-groups/view/assignments"


@pytest.mark.parametrize("content_type", ["application/xml", "application/jsonx", ""])
async def test_another_content_type_is_rejected_with_the_right_one(
    client: httpx.AsyncClient, content_type: str
) -> None:
    headers = {**ALL_FLAGS, "Content-Type": content_type}
    response = await client.put(ASSIGN, content=b"{}", headers=headers)
    assert_is_error(response, 415, "Content-Type must be application/json")


@pytest.mark.parametrize("coding", ["gzip", "identity, gzip", "identity"])
async def test_a_compressed_body_is_rejected_and_never_expanded(
    client: httpx.AsyncClient, coding: str
) -> None:
    for path in (ASSIGN, "/graphql"):
        headers = {**ALL_FLAGS, "Content-Type": "application/json", "Content-Encoding": coding}
        method = "PUT" if path == ASSIGN else "POST"
        response = await client.request(method, path, content=b"{}", headers=headers)
        if coding == "identity":
            assert response.status_code in (400, 422)
            continue
        assert response.status_code == 415
        assert response.headers["accept-encoding"] == "identity"
        assert "send the body uncompressed" in response.text


async def test_wrong_types_and_broken_rules_are_named_at_once(client: httpx.AsyncClient) -> None:
    sources = [{"x": "1"}, {"id": ""}, {}, 7, {"x": 1, "y": 2, "floorId": "a"}]
    asked = {"sources": sources, "targets": [{"id": "a"}] * 51, "costing": "car", "more": 1}
    response = await client.post(
        f"/v1/maps/{quote(MAP, safe='')}/distance-matrix", json={"data": asked}, headers=ALL_FLAGS
    )
    assert_is_error(response, 422)
    assert [*response.json()["fields"]] == [
        "data.sources[0].x",
        "data.sources[3]",
        "data.more",
        "data.sources",
        "data.sources[1].id",
        "data.sources[2]",
        "data.targets",
        "data.costing",
    ]
    wrong = {"attribute_id": "a", "group_id": "", "unit_id": 7}
    assigned = [{"asset_id": "a", **wrong}, {"asset_id": "", **wrong}, None]
    response = await client.put(ASSIGN, json={"data": assigned}, headers=ALL_FLAGS)
    assert_is_error(response, 422)
    assert {*response.json()["fields"]} == {
        *("data[0].unit_id", "data[0].group_id"),
        *("data[1].unit_id", "data[1].group_id", "data[1].asset_id", "data[2]"),
    }


async def test_a_body_over_its_limit_is_rejected_with_the_limit(client: httpx.AsyncClient) -> None:
    headers = {**ALL_FLAGS, "Content-Type": "application/json"}
    response = await client.put(ASSIGN, content=b" " * 8_000_001, headers=headers)
    assert_is_error(response, 413)
    assert "8000000 bytes" in response.json()["message"]


async def test_requests_over_the_maximum_in_flight_are_shed(world: World) -> None:
    async with run_gateway(world.settings(requests_in_flight=1)) as gateway:
        app = admitting(gateway.build_app(), gateway.admission)
        async with open_client(gateway, world.keys.full) as client:
            assert (await client.get("/v1/units")).status_code == 200
        gateway.admission.keyed.taken = 1
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="https://x") as client:
            response = await client.get("/v1/units")
            assert_is_error(response, 503, "Service unavailable")
            assert response.json()["code"] == "QUEUE_FULL"
            assert response.headers["retry-after"] == "1"
            assert (await client.get("/health/live")).status_code == 200


async def test_behind_a_proxy_only_https_is_served(world: World) -> None:
    async with gateway_client(world.settings(behind_proxy=True), world.keys.full) as client:
        for headers in ({}, {"X-Forwarded-Proto": "http"}, {"X-Forwarded-Proto": "https, http"}):
            response = await client.get("/v1/units", headers=headers)
            assert_is_error(response, 403)
        secure = {"X-Forwarded-Proto": "https"}
        assert (await client.get("/v1/units", headers=secure)).status_code == 200


async def test_behind_a_proxy_addresses_are_https_ones(world: World) -> None:
    settings = world.settings(behind_proxy=True, base_url=None)
    async with run_gateway(settings) as gateway:
        transport = httpx.ASGITransport(gateway.build_app())
        headers = {"API-Key": world.keys.full, "X-Forwarded-Proto": "https"}
        async with httpx.AsyncClient(
            transport=transport, base_url="http://inside", headers=headers
        ) as client:
            page = (await client.get("/v1/units?per-page=1")).json()
    assert page["paging"]["next_url"].startswith("https://inside/v1/units?")


async def test_an_unexpected_exception_in_a_handler_is_masked() -> None:
    async def fail(_: Request) -> Response:
        raise ZeroDivisionError("secret detail")

    route = PathRoute("/v1/units", {"GET": fail})
    transport = httpx.ASGITransport(RequestMiddleware(PathRouter(lambda: [route], Starlette())))
    async with httpx.AsyncClient(transport=transport, base_url="https://x") as client:
        assert_is_error(await client.get("/v1/units"), 500, "Server error")


@pytest.mark.parametrize("code", STATUS_BY_CODE)
def test_every_code_becomes_its_status(code: str) -> None:
    class Failure(RequestError):
        pass

    Failure.code = code
    error = from_graphql_error(Failure("a sentence"))
    assert (error.status, error.message) == (STATUS_BY_CODE[code], "a sentence")
    assert ("Retry-After" in error.headers) == (error.status == 503)


def test_an_unknown_code_is_an_internal_error() -> None:
    class Failure(RequestError):
        code = "UNHEARD_OF"

    assert from_graphql_error(Failure("detail")).status == 500


def test_each_code_of_a_503_is_a_cause_and_operators_read_what_to_do() -> None:
    codes = {code for code, status in STATUS_BY_CODE.items() if status == 503}
    assert codes == {*UnavailableCause, "ENDPOINT_INVALID"}
    explained = [row[0] for row in rows(section(page("runbook.md"), "### Codes"))]
    later = [code for code, status in STATUS_BY_CODE.items() if status in (429, 500, 503)]
    assert sorted(explained[1:]) == sorted(later)


# Codes


def test_the_docs_have_the_table_of_codes() -> None:
    documented = [row for row in rows(section(page("rest.md"), "## Errors")) if len(row) == 4]
    assert documented[1:] == [
        [str(entry.status), code, entry.when.replace("`", ""), entry.retry.replace("`", "")]
        for code, entry in ERROR_CODES.items()
    ]


async def test_an_error_leads_to_the_page_that_explains_it(anonymous: httpx.AsyncClient) -> None:
    error = (await anonymous.get("/v1/units")).json()
    assert error["docs"] == f"{BASE_URL}/v1/errors#UNAUTHENTICATED"
    shown = await anonymous.get(error["docs"])
    assert shown.headers["content-type"] == "text/html; charset=utf-8"
    assert 'id="UNAUTHENTICATED"' in shown.text
    assert "default-src 'none'" in shown.headers["content-security-policy"]


def test_the_page_has_an_anchor_for_every_code() -> None:
    html = render_errors_page()
    for code, entry in ERROR_CODES.items():
        assert f'<dt id="{code}">' in html
        assert f"</a> {entry.status}<dd>" in html
