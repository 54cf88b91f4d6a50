"""GraphQL over HTTP: media types, request bodies, limits and errors."""

import asyncio
import json
import logging
from typing import Any

import httpx
import pytest

from gateway.authentication import Authenticator
from resolvers.processing.process_pool import ProcessPool
from resolvers.request.context import Context
from rest.errors import HttpError, rate_limit_error, service_unavailable_error
from storage.errors import Cause
from tests.fixtures import SEEN, data_of, post_graphql
from tests.rest.error_bodies import read_message

pytestmark = pytest.mark.anyio

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


@pytest.mark.parametrize("error", [rate_limit_error(1), service_unavailable_error(Cause.QUEUE)])
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
    assert read_message(response) == "Method not allowed"


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
