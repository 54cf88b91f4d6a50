"""Failed operations are in the access log by the operation's name and the codes of its errors."""

from typing import Any

import httpx
import orjson
import pytest

from gateway.exchange import log_request
from storage.administration import api_keys
from storage.store import Store
from tests.fixtures import World, gateway_client
from tests.gateway.fast_path_server import serve_with_fast_path
from tests.gateway.log_lines import LogLines

pytestmark = pytest.mark.anyio

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
    assert line["errors"] == ["SERVER_ERROR"]
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
