"""The application as a whole: what is open without a key, what is logged, and without MongoDB."""

import asyncio
import contextlib
import gc
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import orjson
import pytest
from starlette.types import Message, Scope

from gateway.app import Gateway
from gateway.exchange import log_request
from gateway.server.admission import SCOPE_ADMISSION
from gateway.server.worker import set_up_garbage_collection
from gateway.settings import Settings
from resolvers.request.context import Context
from rest.endpoints import EndpointHandler
from storage.administration import api_keys
from storage.embedded import embedded_mongo
from storage.store import Store
from tests.databases import EACH_DRIVER
from tests.endpoints import ENDPOINTS
from tests.fixtures import ALL_FLAGS, SEEN, World, create_world, gateway_client, open_database
from tests.gateway.floorgate_process import serve_with_fast_path
from tests.gateway.log_lines import LogLines
from tests.waiting import TIMEOUT_SECONDS


async def wait_until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Waits for something that takes its time."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while not await holds():
            await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        ("/health/live", "application/json"),
        ("/health/ready", "application/json"),
        ("/", "text/html; charset=utf-8"),
        ("/v1", "application/json"),
        ("/v1/openapi.json", "application/json"),
        ("/v1/openapi.yaml", "application/yaml"),
        ("/v1/postman.json", "application/json"),
        ("/v1/openapi", "text/html; charset=utf-8"),
        ("/v1/bundle.schema.json", "application/schema+json"),
    ],
)
async def test_some_addresses_need_no_key(
    anonymous: httpx.AsyncClient, path: str, content_type: str
) -> None:
    response = await anonymous.get(path, headers={"Accept": "text/html"})
    assert response.headers["content-type"] == content_type
    assert response.status_code in (200, 503 if content_type.startswith("text/html") else 200)


async def test_an_application_that_has_not_started_is_unavailable() -> None:
    transport = httpx.ASGITransport(Gateway(Settings()).build_app())
    async with httpx.AsyncClient(transport=transport, base_url="https://x") as client:
        for path in ("/v1/units", "/graphql?query={__typename}", "/health/ready"):
            response = await client.get(path, headers={"API-Key": "any"})
            assert (response.status_code, response.headers["retry-after"]) == (503, "1")
        assert (await client.get("/health/live")).status_code == 200


@pytest.mark.parametrize("driver", EACH_DRIVER)
async def test_without_mongodb_rest_and_graphql_are_unavailable_until_it_is_back(
    tmp_path: Path, driver: str
) -> None:
    async with contextlib.AsyncExitStack() as stack:
        mongod = stack.enter_context(contextlib.ExitStack())
        url = mongod.enter_context(embedded_mongo.run_embedded_mongo(tmp_path))
        world = await create_world(url, "floorgate", tmp_path / "bundle.json")
        settings = world.settings(mongo_driver=driver)
        client = await stack.enter_async_context(gateway_client(settings, world.keys.full))
        assert (await client.get("/v1/units")).status_code == 200

        mongod.close()
        await wait_until(lambda: is_closed(url))
        await wait_until(
            lambda: is_unavailable(client, "/v1/units")
        )  # the cached response lives a little longer
        for path in ("/v1/units", "/v1/units/none", "/graphql?query={units{data{id}}}"):
            response = await client.get(path)
            assert response.status_code == 503
            assert response.headers["retry-after"] == "1"
            assert "Service unavailable" in response.text
        assert (await client.get("/health/ready")).status_code == 503
        assert (await client.get("/health/live")).status_code == 200

        assert stack.enter_context(embedded_mongo.run_embedded_mongo(tmp_path)) == url
        await wait_until(lambda: is_served(client, "/v1/units"))
        await wait_until(lambda: is_served(client, "/health/ready"))


async def is_unavailable(client: httpx.AsyncClient, path: str) -> bool:
    return (await client.get(path)).status_code == 503


async def is_closed(url: str) -> bool:
    """Whether nothing listens at a MongoDB's address any more."""
    parts = urlsplit(url)
    with socket.socket() as probe:
        return probe.connect_ex((parts.hostname or "", parts.port or 0)) != 0


async def is_served(client: httpx.AsyncClient, path: str) -> bool:
    return (await client.get(path)).status_code == 200


@pytest.mark.parametrize("option", ["cors", "proxy"])
async def test_the_slot_of_a_request_that_middleware_answers_is_released(
    world: World, option: str
) -> None:
    cors = {"cors_origins": "https://a.example"}
    gateway = Gateway(world.settings(**(cors if option == "cors" else {"behind_proxy": True})))
    app = gateway.build_app()
    preflight = [(b"origin", b"https://a.example"), (b"access-control-request-method", b"GET")]
    scope: Scope = {
        "type": "http",
        "method": "OPTIONS",
        "path": "/v1/units",
        "raw_path": b"/v1/units",
        "query_string": b"",
        "headers": preflight,
        "client": ("192.0.2.1", 1),
    }
    scope[SCOPE_ADMISSION] = gateway.admission.admit(scope)  # as the protocol does
    assert gateway.admission.in_flight == 1
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    assert sent[0]["status"] == (204 if option == "cors" else 403)
    assert gateway.admission.in_flight == 0


# What a gateway leaves until it is ready is there soon after, and for the first request.


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the endpoints that have been prepared."""
    paths: list[str] = []
    prepare = EndpointHandler.__init__

    def note(self: EndpointHandler, *arguments: object) -> None:
        prepare(self, *arguments)  # type: ignore[arg-type]
        paths.append(self.endpoint.path)

    monkeypatch.setattr(EndpointHandler, "__init__", note)
    return paths


async def test_a_gateway_is_built_without_its_endpoints_and_prepares_each_once(
    world: World, prepared: list[str]
) -> None:
    gateway = Gateway(world.settings())
    gateway.build_app()
    assert not prepared
    await gateway.warm_up()
    assert sorted(prepared) == sorted(row.path for row in ENDPOINTS)
    await gateway.warm_up()
    assert len(prepared) == len(ENDPOINTS)


async def test_the_first_request_prepares_its_endpoint(world: World, prepared: list[str]) -> None:
    async with gateway_client(world.settings(), world.keys.full) as client:
        for _ in range(2):
            assert (await client.get("/v1/units/unit-1")).status_code == 200
    assert prepared == ["/v1/units/{unit}"]


FAILING = "query Failing { unitReferences { data { key } } }"
FORBIDDEN = "mutation Forbidden { revokeApiKey(input: { id: 1 }) { __typename } }"
TWO_ERRORS = """{
  asset(id: "north") { units(page: 0) { data { id } } }
  unit(id: "unit-1") { references { data { key } } }
}"""


async def post(client: httpx.AsyncClient, query: str, **members: object) -> None:
    await client.post("/graphql", json={"query": query, **members})


@pytest.mark.parametrize(
    ("query", "members", "operation", "errors"),
    [
        ("{ units { data { id } } }", {}, None, None),
        (FAILING, {}, "Failing", ["FLAG_REQUIRED"]),
        (f"{FAILING} {FORBIDDEN}", {"operationName": "Forbidden"}, "Forbidden",
         ["PERMISSION_REQUIRED"]),
        (f"{FAILING} {FORBIDDEN}", {}, None, ["OPERATION_RESOLUTION_FAILURE"]),
        ("query Broken {", {"operationName": "Broken"}, "Broken", ["GRAPHQL_PARSE_FAILED"]),
        ("query Wrong { nothing otherwise }", {}, None, ["GRAPHQL_VALIDATION_FAILED"]),
        (TWO_ERRORS, {}, None, ["FLAG_REQUIRED", "INVALID_INPUT"]),
        ("", {}, None, ["BAD_REQUEST"]),
    ],
)  # fmt: skip
async def test_a_graphql_response_is_logged_by_operation_and_codes(
    restricted: httpx.AsyncClient,
    lines: LogLines,
    query: str,
    members: dict[str, object],
    operation: str | None,
    errors: list[str] | None,
) -> None:
    await post(restricted, query, **members)
    line = lines.last()
    assert line["level"] == "info"
    assert line.get("operation") == operation
    assert line.get("errors") == errors


@pytest.mark.parametrize(
    ("path", "key", "operation", "errors"),
    [
        ("/v1/units", "", "ListUnits", ["UNAUTHENTICATED"]),
        ("/v1/units", "not a key", "ListUnits", ["FORBIDDEN"]),
        ("/v1/units", None, "ListUnits", None),
        ("/v1/units/none", None, "GetUnit", ["NOT_FOUND"]),
        ("/v1/units/references", None, "ListUnitReferences", ["FLAG_REQUIRED"]),
        ("/graphql?query={__typename}", "not a key", None, ["FORBIDDEN"]),
        ("/health/live", None, None, None),
    ],
)
async def test_an_endpoint_is_logged_by_operation_and_code(
    client: httpx.AsyncClient,
    lines: LogLines,
    path: str,
    key: str | None,
    operation: str | None,
    errors: list[str] | None,
) -> None:
    await client.get(path, headers={} if key is None else {"API-Key": key})
    line = lines.last()
    assert (line.get("operation"), line.get("errors")) == (operation, errors)


@pytest.mark.parametrize("path", ["/v1/units", "/graphql?query=query+Mine{units{data{id}}}"])
async def test_a_failure_of_the_service_is_a_warning_though_the_status_is_200(
    world: World, lines: LogLines, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Store, "list_page", fail)
    async with gateway_client(world.settings(), world.keys.full) as client:
        await client.get(path)
    line = lines.last()
    assert (line["errors"], line["failure"]) == (["SERVER_ERROR"], "ZeroDivisionError")
    assert line["level"] == "warning"
    assert line["operation"] in ("ListUnits", "Mine")


async def test_a_cached_response_is_logged_by_its_operation(
    own_world: World, lines: LogLines, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "/graphql?query=query%20Cached{units{data{id}}}"
    async with (
        serve_with_fast_path(own_world.settings(), monkeypatch) as served,
        served.connect(own_world.keys.full) as connection,
    ):
        await served.wait_for_fast_path(connection, path)
    logged: list[dict[str, Any]] = [orjson.loads(text) for text in lines.texts]
    assert len(logged) >= 2
    assert {line["operation"] for line in logged} == {"Cached"}


@pytest.mark.parametrize(
    ("operation", "logged"),
    [
        ("_1", True),
        ("a" * 64, False),  # looks like a key, and is redacted
        ("Ab_" * 21, True),
        ("Ab_" * 22, False),
        ("two words", False),
        ("new\nline", False),
        ('"', False),
        ("1a", False),
        ("\u00fcbersicht", False),
        ("", False),
    ],
)
def test_only_a_plain_name_is_logged(lines: LogLines, operation: str, logged: bool) -> None:
    log_line(operation=operation)
    assert (lines.last().get("operation") == operation) == logged


def test_a_key_as_operation_is_not_logged(lines: LogLines) -> None:
    key = api_keys.generate_key()
    for operation in (key, f"x{key}", f"{'abc_' * 10}{key}"):
        log_line(operation=operation)
        assert key[4:20] not in lines.texts[-1]


def test_codes_are_distinct_and_few(lines: LogLines) -> None:
    log_line(error_codes=["B", "A", "B"])
    assert lines.last()["errors"] == ["A", "B"]
    log_line(error_codes=[f"CODE_{number}" for number in range(1000)])
    assert len(lines.last()["errors"]) == 10


def log_line(**given: Any) -> None:
    log_request("id", method="GET", route="/", status=200, duration_ms=1, sent_bytes=1, **given)


UNUSED = ["unused"] * 3
ASSIGN = """mutation ($d: [AssignmentInput!]!) {
  assignUnitAttributes(input: { groupId: "view", assignments: $d }) {
    assignments { unit { id floor { id } } }
  }
}"""
ASSIGNMENT = {"groupId": "view", "attributeId": "sea", "assetId": SEEN, "unitId": "unit-1"}


def find_ids_of_requests() -> set[int]:
    """Return the identities of all that is there of requests."""
    # By the type itself: there may be weak proxies of what has gone, which raise at any other look.
    return {
        id(each)
        for each in gc.get_objects()
        if type(each) is Context or (type(each) is list and each == UNUSED)
    }


async def post_numbered(
    client: httpx.AsyncClient, query: str, variables: dict[str, Any], number: int
) -> None:
    """Post a query with a number in the place of NUMBER."""
    body = {"query": query.replace("NUMBER", str(number)), "variables": variables}
    assert (await client.post("/graphql", json=body, headers=ALL_FLAGS)).status_code == 200


async def test_a_worker_keeps_its_modules_out_of_collections_and_collects_seldom() -> None:
    thresholds = gc.get_threshold()
    gc.disable()  # as in a worker that starts
    try:
        set_up_garbage_collection()
        assert gc.isenabled()
        assert gc.get_freeze_count() > 10_000
        assert gc.get_threshold() == (10_000, *thresholds[1:])
    finally:
        gc.enable()
        gc.unfreeze()
        gc.set_threshold(*thresholds)


@pytest.mark.parametrize(
    ("query", "variables"),
    [
        ('{ unit(id: "unit-1") { id floor { id asset { id } } } }', {}),
        ("query ($n: Int!) { units(page: $n) { data { id } } }", {"n": "x", "unused": UNUSED}),
        (ASSIGN, {"d": [ASSIGNMENT]}),
        ("{ units { data { name } } floors: units(perPage: -NUMBER) { data { id } } }", {}),
        ('{ map(id: "plan/one") { locations { data { tags { key value createdAt } } } } }', {}),
    ],
)
async def test_what_a_request_has_read_is_freed_without_the_collector(
    own_world: World, query: str, variables: dict[str, Any]
) -> None:
    async with open_database(own_world) as database:
        await database["locations"].update_many({}, {"$unset": {"tags.0.created_at": 1}})
    async with gateway_client(own_world.settings(cache_mb=0), own_world.keys.full) as client:
        for number in range(4):
            await post_numbered(client, query, variables, number)
        gc.collect()
        before = find_ids_of_requests()
        gc.disable()
        try:
            await post_numbered(client, query, variables, 4)
            assert find_ids_of_requests() <= before
        finally:
            gc.enable()


@pytest.mark.parametrize(
    "query",
    [
        '{ units { data { name } } __type(name: "Unit") { name } }',
        'query QNUMBER { unit(id: "unit-NUMBER") { id } __type(name: "NUMBER") { name } }',
    ],
)
async def test_what_graphql_core_runs_keeps_no_request_alive(world: World, query: str) -> None:
    async with gateway_client(world.settings(cache_mb=0), world.keys.full) as client:
        gc.collect()
        before = find_ids_of_requests()
        for number in range(4):
            await post_numbered(client, query, {}, number)
        gc.collect()
        assert find_ids_of_requests() <= before
