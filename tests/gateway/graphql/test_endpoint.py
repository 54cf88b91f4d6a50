"""GraphQL over HTTP: media types, request bodies, limits and errors."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import httpx
import orjson
import pytest

import resolvers.maps
from gateway.authentication import Authenticator
from gateway.graphql.endpoint import write_result
from gateway.graphql.request import MAX_BODY_BYTES
from resolvers.processing.process_pool import ProcessPool
from resolvers.request import context as budget
from resolvers.request.caller import Caller
from resolvers.request.context import Context
from rest.errors import JSON_MEDIA_TYPE, HttpError, rate_limit_error, service_unavailable_error
from schema.execution import Executor, OperationResult
from schema.query_limits import QueryLimits
from schema.validation import MAX_VALIDATION_ERRORS
from storage.errors import UnavailableCause
from storage.mongo import driver
from storage.records.visibility import ALL_ASSETS
from tests.fixtures import (
    ALL_FLAGS,
    CATALOG,
    MAP,
    SEEN,
    World,
    data_of,
    gateway_client,
    open_client,
    post_graphql,
    run_gateway,
)
from tests.resolvers.directory import Commands, listening
from tests.rest.error_bodies import read_message
from tests.schema.test_query_size import flat_fragments, nested_fragments

GRAPHQL_RESPONSE = "application/graphql-response+json"
JSON = "application/json"


async def post(client: httpx.AsyncClient, content: bytes, **headers: str) -> httpx.Response:
    return await client.post("/graphql", content=content, headers={"Content-Type": JSON} | headers)


def codes(body: dict[str, Any]) -> list[str]:
    return [error["extensions"]["code"] for error in body["errors"]]


@pytest.mark.parametrize(
    ("accept", "media_type", "status"),
    [
        ("", JSON, 200),
        ("*/*", JSON, 200),
        ("application/*", JSON, 200),
        (JSON, JSON, 200),
        (GRAPHQL_RESPONSE, GRAPHQL_RESPONSE, 400),
        (f"{GRAPHQL_RESPONSE}, {JSON};q=0.9", GRAPHQL_RESPONSE, 400),
        (f"{JSON};q=0.1, {GRAPHQL_RESPONSE};q=0.9", GRAPHQL_RESPONSE, 400),
    ],
)
async def test_the_media_type_is_negotiated_and_decides_the_status_of_an_invalid_document(
    client: httpx.AsyncClient, accept: str, media_type: str, status: int
) -> None:
    headers = {"Accept": accept}
    response = await client.post("/graphql", json={"query": "{"}, headers=headers)
    assert response.headers["content-type"] == f"{media_type}; charset=utf-8"
    assert response.status_code == status
    assert codes(response.json()) == ["GRAPHQL_PARSE_FAILED"]


@pytest.mark.parametrize(
    ("headers", "content", "status", "code"),
    [
        ({"API-Key": ""}, b"{}", 401, "UNAUTHENTICATED"),
        ({"API-Key": "fgk_wrong"}, b"{}", 403, "FORBIDDEN"),
        ({"Content-Type": "multipart/form-data"}, b"{}", 415, "UNSUPPORTED_MEDIA_TYPE"),
        ({"Content-Type": ""}, b"{}", 415, "UNSUPPORTED_MEDIA_TYPE"),
        ({}, b" " * 1_000_001, 413, "BODY_TOO_LARGE"),
        ({}, b"[]", 400, "BAD_REQUEST"),
    ],
)
async def test_an_error_of_the_whole_request_has_the_media_type_that_its_client_prefers(
    client: httpx.AsyncClient, headers: dict[str, str], content: bytes, status: int, code: str
) -> None:
    for accept, media_type in (
        ("", JSON),
        (f"{GRAPHQL_RESPONSE}, {JSON};q=0.9", GRAPHQL_RESPONSE),
        ("text/event-stream", JSON),
        ("application/xml", JSON),
    ):
        response = await post(client, content, **{"Accept": accept} | headers)
        assert response.headers["content-type"] == f"{media_type}; charset=utf-8"
        assert "Accept" in response.headers["vary"]
        # A key is checked before the rest of a request.
        is_acceptable = accept != "application/xml" or "API-Key" in headers
        expected = (status, [code]) if is_acceptable else (406, ["NOT_ACCEPTABLE"])
        assert (response.status_code, codes(response.json())) == expected


@pytest.mark.parametrize(
    "error", [rate_limit_error(1), service_unavailable_error(UnavailableCause.QUEUE_FULL)]
)
async def test_a_refusal_that_asks_to_wait_has_the_media_type_that_its_client_prefers(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, error: HttpError
) -> None:
    async def refuse(*_: Any) -> None:
        raise error

    monkeypatch.setattr(Authenticator, "__call__", refuse)
    response = await post(client, b"{}", Accept=GRAPHQL_RESPONSE)
    assert response.headers["content-type"] == f"{GRAPHQL_RESPONSE}; charset=utf-8"
    assert response.headers["retry-after"] == "1"
    assert (response.status_code, codes(response.json())) == (error.status, [error.code])


async def test_get_runs_queries_with_variables(client: httpx.AsyncClient) -> None:
    response = await client.get(
        "/graphql",
        params={
            "query": "query A($id: ID!) { asset(id: $id) { id } } query B { __typename }",
            "variables": json.dumps({"id": SEEN}),
            "operationName": "A",
        },
    )
    assert response.json() == {"data": {"asset": {"id": SEEN}}}


@pytest.mark.parametrize("name", ["query", "operationName", "variables"])
async def test_a_repeated_member_of_a_get_is_rejected(client: httpx.AsyncClient, name: str) -> None:
    params = [("query", "query A { __typename }"), ("operationName", "A"), ("variables", "{}")]
    response = await client.get("/graphql", params=[*params, (name, dict(params)[name])])
    assert response.status_code == 400
    [error] = response.json()["errors"]
    assert error["message"] == f"{name} must be given once, not 2 times"


async def test_get_never_runs_mutations(client: httpx.AsyncClient) -> None:
    query = 'mutation { createApiKey(input: { name: "n" }) { apiKey { id } } }'
    response = await client.get("/graphql", params={"query": query})
    assert response.status_code == 405
    assert response.headers["allow"] == "OPTIONS, POST"
    assert codes(response.json()) == ["METHOD_NOT_ALLOWED"]


async def test_other_methods_are_rejected(client: httpx.AsyncClient) -> None:
    response = await client.put("/graphql", json={"query": "{ __typename }"})
    assert response.status_code == 405
    assert response.headers["allow"] == "GET, HEAD, OPTIONS, POST"
    assert codes(response.json()) == ["METHOD_NOT_ALLOWED"]


async def test_a_byte_order_mark_is_ignored(client: httpx.AsyncClient) -> None:
    response = await post(client, b'\xef\xbb\xbf{"query":"{__typename}"}')
    assert response.json() == {"data": {"__typename": "Query"}}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'[{"query":"{__typename}"}]',  # a batch
        b"{}",
        b'{"query":""}',
        b'{"query":1}',
        b'{"query":"{__typename}","variables":[]}',
        b'{"query":"{__typename}","operationName":1}',
        b"\xff\xfe{}",
        b'{"query":"\\ud800"}',
        b'{"query":"{__typename}","variables":{"n":"\\udfff"}}',
        b'{"query":"{__typename}","variables":{"n":%s}}' % (b"9" * 5000),
        b'{"query":"{__typename}","variables":{"n":NaN}}',
        b"[" * 50_000 + b"]" * 50_000,
    ],
    ids=lambda content: content[:40].decode("ascii", "backslashreplace"),
)
async def test_a_body_that_is_no_graphql_request_is_rejected_with_a_message(
    client: httpx.AsyncClient, content: bytes
) -> None:
    response = await post(client, content)
    assert response.status_code == 400
    (error,) = response.json()["errors"]
    assert error["extensions"]["code"] == "BAD_REQUEST"
    assert 10 < len(error["message"]) < 200


async def test_malformed_json_is_reported_with_line_and_column(client: httpx.AsyncClient) -> None:
    response = await post(client, b'{\n  "query": }')
    assert response.json()["errors"][0]["message"].endswith("line 2, column 12")


@pytest.mark.parametrize(
    "document",
    [
        "{ units(perPage: %s) { data { id } } }" % ("9" * 5000),
        "{ units(perPage: 1e99999) { data { id } } }",
        '{ unit(id: "\\ud800") { id } }',
        "{ unit(id: %s) { id } }" % ("[" * 900),
        "{ asset(id: 1) { floors { data " * 300,
        "subscription { units }",
        "fragment A on Query { ...A } { ...A }",
        "\0",
        "query ($a: [[[[Int]]]] = [[[[1]]]]) { __typename @skip(if: $a) }",
    ],
    ids=lambda document: document[:40].replace("\0", "NUL"),
)
async def test_an_invalid_document_is_rejected_with_a_message(
    client: httpx.AsyncClient, document: str
) -> None:
    body = await post_graphql(client, document)
    assert body.get("data") is None
    for error in body["errors"]:
        assert error["extensions"]["code"] != "SERVER_ERROR"
        assert len(error["message"]) < 200
        assert "sys." not in error["message"]


async def test_an_unknown_operation_name_is_rejected(client: httpx.AsyncClient) -> None:
    for name, query in (("B", "query A { __typename }"), (None, "query A {a} query B {b}")):
        body = {"query": query, "operationName": name}
        response = await client.post("/graphql", json=body, headers={"Accept": GRAPHQL_RESPONSE})
        assert response.status_code == 400


async def test_no_message_suggests_names(client: httpx.AsyncClient) -> None:
    for query in (
        "{ unitz { data { id } } }",
        "{ units(perPages: 1) { data { idd } } }",
        "query ($n: Intt) { units(perPage: $n) { data { id } } }",
        "{ ...F } fragment F on Querry { __typename }",
        "{ units @inclood(if: true) { data { id } } }",
    ):
        body = await post_graphql(client, query)
        assert body["errors"]
        assert "did you mean" not in json.dumps(body).lower()


async def test_only_a_key_opens_introspection(
    anonymous: httpx.AsyncClient, restricted: httpx.AsyncClient
) -> None:
    query = "{ __schema { queryType { name } } }"
    assert (await anonymous.post("/graphql", json={"query": query})).status_code == 401
    assert await data_of(restricted, query) == {"__schema": {"queryType": {"name": "Query"}}}


async def test_an_internal_error_is_masked_and_logged(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(Context, "list_page", fail)
    with caplog.at_level(logging.ERROR, "floorgate.graphql"):
        body = await post_graphql(client, "{ units(perPage: 7777) { data { id } } }")
        rest = await client.get("/v1/units?per-page=7777")
    assert body["data"] == {"units": None}
    assert [error["message"] for error in body["errors"]] == ["Server error"]
    assert codes(body) == ["SERVER_ERROR"]
    assert (rest.status_code, read_message(rest)) == (500, "Server error")
    assert "secret detail" not in json.dumps(body) + rest.text
    assert len([record for record in caplog.records if record.exc_info]) == 2


async def test_an_internal_error_in_one_field_leaves_the_others(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Context, "load_pages", fail)
    body = await post_graphql(
        client,
        '{ asset(id: "north") { name } floors: asset(id: "north") { floors { data { id } } } }',
    )
    assert body["data"] == {"asset": {"name": "North House"}, "floors": {"floors": None}}
    assert codes(body) == ["SERVER_ERROR"]


async def test_the_same_request_reports_the_same_errors_every_time(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[bytes] = []
    run = ProcessPool.run

    async def count(pool: ProcessPool, work: Any, svg: bytes, **options: Any) -> Any:
        parsed.append(svg)
        return await run(pool, work, svg, **options)

    monkeypatch.setattr(ProcessPool, "run", count)
    query = (
        '{ A0: parsedUnitMap(svg: "<svg") { map } b: parsedUnitMap(svg: "x") { map } '
        'c: map(id: "plan/one") { nearest(from: {id: "nope"}) { distance } } }'
    )
    seen = set()
    for _ in range(5):
        body = await post_graphql(client, query)
        assert body["data"] == {"A0": None, "b": None, "c": {"nearest": None}}
        seen.add(json.dumps(body["errors"]))
    [errors] = seen
    assert [error["path"] for error in json.loads(errors)] == [["A0"], ["b"], ["c", "nearest"]]
    assert len(parsed) == 10  # each drawing once in each request


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("{", 400),
        ("{ nothing }", 400),
        ("{ units(perPage: 0) { data { id } } }", 200),
        ("{ units { data { name attributes { data { attributeId } } } } }", 200),
        ("subscription { changes { cursor } }", 406),
    ],
)
async def test_every_error_names_its_own_request(
    client: httpx.AsyncClient, query: str, status: int
) -> None:
    """Also if equal requests run at the same time, or one after the other."""

    async def ask(request_id: str) -> None:
        headers = {"X-Request-Id": request_id, "Accept": GRAPHQL_RESPONSE}
        response = await client.get("/graphql", params={"query": query}, headers=headers)
        assert response.status_code == status
        assert response.headers["x-request-id"] == request_id
        ids = {error["extensions"]["requestId"] for error in response.json()["errors"]}
        assert ids == {request_id}

    await asyncio.gather(*(ask(f"at-once-{number}") for number in range(3)))
    await ask("later")


async def test_an_error_before_the_operation_names_its_request(
    client: httpx.AsyncClient, anonymous: httpx.AsyncClient
) -> None:
    for response in (await post(anonymous, b"{}"), await post(client, b"[")):
        [error] = response.json()["errors"]
        assert error["extensions"]["requestId"] == response.headers["x-request-id"]


# Attacks on GraphQL services: each is refused by a bound, and nothing of it runs.


LIMITS = QueryLimits()
CREATE = 'mutation { createApiKey(input: { name: "attack", allAssets: true }) { key } }'
BY_ID = "query ($id: ID!) { unit(id: $id) { id } }"
VALIDATE, LIMIT = "GRAPHQL_VALIDATION_FAILED", "LIMIT_EXCEEDED"
BAD, INVALID = "BAD_REQUEST", "INVALID_INPUT"


def repeat(text: str, times: int, between: str = " ") -> str:
    """`#` in the text becomes the number of the repetition."""
    return between.join(text.replace("#", str(number)) for number in range(times))


def body(query: str, **variables: Any) -> bytes:
    return json.dumps({"query": query, "variables": variables}).encode()


def over(limit: str) -> str:
    return f"over the limit of {getattr(LIMITS, limit)}"


Attack = tuple[Callable[[], bytes], str, str]
"""A body; the code of its errors; a part of the message: the bound that stops it."""

ATTACKS: dict[str, Attack] = {
    "aliases-in-fragments": (
        lambda: body(f"{{ {'...F ' * 40} }} fragment F on Query {{ a: __typename }}"),
        LIMIT,
        over("aliases"),
    ),
    "repeated-fields-in-fragments": (
        lambda: body(
            f"{{ {repeat('...F#', 100)} }} "
            + repeat("fragment F# on Query { a: __typename __typename __typename }", 100)
        ),
        LIMIT,
        over("aliases"),
    ),
    "overlapping-fields": (
        lambda: body(
            f"{{ {repeat('...F#', 25)} }} "
            + repeat('fragment F# on Query { same: unit(id: "#") { id } }', 25)
        ),
        VALIDATE,
        "conflict because they have differing arguments",
    ),
    "nested-fragments": (lambda: body(nested_fragments(60)), LIMIT, "over the limit of"),
    "flat-fragments": (lambda: body(flat_fragments(60)), LIMIT, over("breadth")),
    "circular-fragments": (
        lambda: body("{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }"),
        VALIDATE,
        "Cannot spread fragment",
    ),
    "long-text": (lambda: body(BY_ID, id="x" * 900_000), INVALID, "255 characters"),
    "many-operations": (
        lambda: body(repeat("query Q# { __typename }", 200)),
        "OPERATION_RESOLUTION_FAILURE",
        "Name one",
    ),
    "operator-as-id": (lambda: body(BY_ID, id={"$ne": None}), INVALID, "ID cannot represent"),
    "batch": (
        lambda: json.dumps([{"query": "{ __typename }"}] * 1_000).encode(),
        BAD,
        "Batches are not supported",
    ),
    "large-body": (
        lambda: body("{ __typename }", text="x" * MAX_BODY_BYTES),
        "BODY_TOO_LARGE",
        f"{MAX_BODY_BYTES}",
    ),
}


class Target:
    """A gateway of its own, and what runs in it."""

    def __init__(self, client: httpx.AsyncClient, commands: Commands) -> None:
        self.client = client
        self.commands = commands
        self.runs = 0

    @property
    def reads(self) -> list[str]:
        """The collections of the catalog that were read."""
        return [collection for collection in self.commands.sent if collection in CATALOG]

    async def attack(self, content: bytes, **headers: str) -> httpx.Response:
        headers = {"Content-Type": "application/json", **ALL_FLAGS, **headers}
        self.runs = 0
        self.commands.clear()
        return await self.client.post("/graphql", content=content, headers=headers)


@pytest.fixture(scope="module")
async def attacked(world: World, anyio_backend: str) -> AsyncIterator[Target]:
    commands = Commands(world.database)
    settings = world.settings(rate_limit=0, cache_mb=0)
    with listening(commands), pytest.MonkeyPatch.context() as patch:
        # Have the driver send all reads: it is what tells of them.
        patch.setattr(driver, "open_read_connections", lambda _: nullcontext())
        async with gateway_client(settings, world.keys.full) as client:
            yield Target(client, commands)


@pytest.fixture
def target(attacked: Target, monkeypatch: pytest.MonkeyPatch) -> Target:
    original = Executor.run

    async def run(*arguments: Any) -> Any:
        attacked.runs += 1
        return await original(*arguments)

    monkeypatch.setattr(Executor, "run", run)
    return attacked


async def test_an_ordinary_operation_is_seen_to_run(target: Target) -> None:
    response = await target.attack(body(BY_ID, id="unit-1"))
    assert response.json() == {"data": {"unit": {"id": "unit-1"}}}
    assert target.runs == 1
    assert target.reads == ["units"]


@pytest.mark.parametrize("name", ATTACKS)
async def test_an_attack_is_refused_and_nothing_runs(target: Target, name: str) -> None:
    make, code, bound = ATTACKS[name]
    response = await target.attack(make())
    errors = response.json()["errors"]
    assert {error["extensions"]["code"] for error in errors} == {code}
    assert bound in errors[0]["message"]
    assert target.reads == []
    assert target.runs == (code == INVALID)  # values are checked by the fields that take them
    assert response.json().get("data") in (None, {"unit": None})
    # What is sent back is small, and helps nobody to guess.
    assert len(errors) <= MAX_VALIDATION_ERRORS + 1
    assert len(response.content) < 5_000
    assert "did you mean" not in response.text.lower()


@pytest.mark.parametrize(
    "media_type",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain; application/json",
        "",
    ],
)
async def test_no_site_can_make_a_browser_write(target: Target, media_type: str) -> None:
    """Browsers send these types to other sites without asking them first."""
    response = await target.attack(body(CREATE), **{"Content-Type": media_type})
    assert response.status_code == 415
    assert target.runs == 0


# What one request to `/graphql` may cost: refused before the work is done, with the limit.


MATRIX = f"""query ($s: [WaypointInput!]!, $t: [WaypointInput!]!) {{
    map(id: "{MAP}") {{ distanceMatrix(sources: $s, targets: $t) {{ distanceMethod }} }}
}}"""
PARSE_OFTEN = (
    "query ($svg: SvgDocument!) { "
    + " ".join(f"a{number}: parsedUnitMap(svg: $svg) {{ map }}" for number in range(4))
    + " }"
)
SIBLINGS = "{ units(perPage: $n) { data { asset { units(perPage: $n) { data { id } } } } } }"
DRAWINGS = SIBLINGS.replace("$n", "100").replace("id }", "maps(perPage: 2) { data { parsed } } }")
NEAREST = " ".join(f'n{n}: nearest(from: {{id: "loc-1"}}) {{ time }}' for n in range(30))

REFUSED: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "characters": ("{ __typename }" + " " * 50_000, {}, {"max": 50_000, "requested": 50_014}),
    "digits": ("{ units(page: 1" + "0" * 1_000 + ") { data { id } } }", {}, {"max": 1_000}),
    "tokens": ("{" + "__typename " * 2_000 + "}", {}, {"max": 2_000}),
    "nesting": (
        "query ($v: Int = " + "[" * 990 + "1" + "]" * 990 + ") { units(page: $v) { data { id } } }",
        {},
        {},
    ),
    "depth": (
        "{ units { data "
        + "{ floor { asset { units { data " * 4
        + "{ id }"
        + "} } } }" * 4
        + "} }",
        {},
        {"max": 16, "requested": 19},
    ),
    "aliases": (
        "{" + " ".join(f"a{n}: __typename" for n in range(31)) + "}",
        {},
        {"max": 30, "requested": 31},
    ),
    "breadth": ("{" + "__typename " * 201 + "}", {}, {"max": 200, "requested": 201}),
    "cost": (SIBLINGS.replace("$n", "10000"), {}, {"max": 50_000, "requested": 100_020_000}),
    "cost of a default": (
        "query ($n: Int = 10000) " + SIBLINGS,
        {},
        {"limit": "cost", "max": 50_000, "requested": 100_020_000},
    ),
    "cost of a float": (
        "query ($n: Int) " + SIBLINGS,
        {"n": 10000.0},
        {"limit": "cost", "max": 50_000, "requested": 100_020_000},
    ),
    "cost of searches": (
        f'{{ map(id: "{MAP}") {{ {NEAREST} }} }}',
        {},
        {"limit": "cost", "max": 50_000, "requested": 1 + 30 * 2_010},
    ),
    "items": (
        "mutation ($ids: [ID!]) { createApiKey(input: { name: $ids, assetIds: $ids }) { key } }",
        {"ids": ["a"] * 6_000},
        {"max": 10_000, "requested": 12_000},
    ),
    "text": (PARSE_OFTEN, {"svg": " " * 375_000}, {"max": 1_000_000, "requested": 1_500_000}),
    "list_length": (
        MATRIX,
        {"s": [{}] * 40_000, "t": [{}]},
        {"max": 50, "requested": 40_000},
    ),
    "variables": (MATRIX, {"s": [{}] * 240_000, "t": [{}]}, {"max": 100_000}),
    "variables unused": (
        "{ __typename }",
        {"x": [[]] * 100_000},
        {"limit": "variables", "max": 100_000},
    ),
}


@pytest.mark.parametrize("limit", REFUSED)
async def test_an_operation_over_a_limit_is_refused_with_the_limit_and_its_size(
    restricted: httpx.AsyncClient, limit: str
) -> None:
    query, variables, extensions = REFUSED[limit]
    bodies = [await post_graphql(restricted, query, variables) for _ in range(3)]
    [error] = bodies[0]["errors"]
    assert error["extensions"] == {"code": "LIMIT_EXCEEDED", "limit": limit} | extensions
    assert "data" not in bodies[0]
    assert bodies[1] == bodies[2] == bodies[0]


async def test_a_response_says_what_its_operation_cost(client: httpx.AsyncClient) -> None:
    query = "query ($n: Int) { units(perPage: $n) { data { id floor { id } } } }"
    for _ in range(2):  # the second is served from the cache
        for number in (3, 5):
            body = {"query": query, "variables": {"n": number}}
            response = await client.post("/graphql", json=body)
            assert response.headers["Floorgate-Cost"] == str(2 * number)


@pytest.fixture
async def client_with_small_responses(world: World) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a gateway that sends at most 20,000 bytes."""
    async with run_gateway(world.settings()) as gateway:
        limits = replace(QueryLimits(), response_bytes=20_000)
        gateway.executor.limits = limits
        async with open_client(gateway, world.keys.full) as client:
            yield client


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (DRAWINGS, "at least"),
        ("{ units(perPage: 25) { data { " + "a%d: createdAt " * 30 + "} } }", "bytes, over"),
        (SIBLINGS.replace("$n", "100").replace("{ id }", "{ id name updatedAt createdAt }"),
         "bytes, over"),
    ],
)  # fmt: skip
async def test_a_response_over_the_limit_is_refused_with_the_same_error_each_time(
    client_with_small_responses: httpx.AsyncClient, query: str, message: str
) -> None:
    if "%d" in query:
        query %= tuple(range(30))
    bodies = [await post_graphql(client_with_small_responses, query) for _ in range(3)]
    [error] = bodies[0]["errors"]
    assert message in error["message"]
    assert "20000" in error["message"]
    assert "perPage" in error["message"]
    assert error["extensions"]["limit"] == "response_bytes"
    assert error["extensions"]["max"] == 20_000
    assert "data" not in bodies[0]
    assert bodies[1] == bodies[2] == bodies[0]


@pytest.mark.parametrize(("limit", "refused"), [(6_000_000, False), (2_000_000, True)])
@pytest.mark.parametrize("long", [0, 1, 2])
async def test_a_response_is_refused_for_its_size_and_not_for_an_estimate(
    long: int, limit: int, refused: bool
) -> None:
    tags = ["x" * 255 if place == long else "yes" for place in range(10)]
    data = {"maps": [{"locations": [{"tags": tags}] * 50}] * 340}
    context = Context(Caller("any", ALL_ASSETS), None)  # type: ignore[arg-type]
    context.budget.max_bytes = limit
    body = (await write_result(OperationResult(data, []), JSON_MEDIA_TYPE, context, "id")).body
    assert (body == orjson.dumps({"data": data})) is not refused
    if refused:
        assert b"The response would have at least " in bytes(body)
        assert b"over the limit of 2000000" in bytes(body)


async def test_records_that_siblings_repeat_count_each_time(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The units around them are read once; estimated, a list without a page size has ten."""
    monkeypatch.setattr(budget, "MAX_RECORDS_PER_REQUEST", 300)
    query = "{ units { data { asset { units { data { id } } } } } }"
    bodies = [await post_graphql(client, query) for _ in range(3)]
    [error] = bodies[0]["errors"]
    assert error["extensions"] == {"code": "LIMIT_EXCEEDED", "limit": "records", "max": 300}
    assert bodies[1] == bodies[2] == bodies[0]


async def test_an_operation_may_parse_only_a_few_drawings(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        resolvers.maps, "run_on_drawing", lambda *_: pytest.fail("parses a drawing")
    )
    query = PARSE_OFTEN[:-1] + "more: parsedUnitMap(svg: $svg) { map } }"
    body = await post_graphql(client, query, {"svg": "<svg/>"})
    assert body["errors"][0]["extensions"]["limit"] == "cost"
