"""The fast path sends what the full pipeline would, or nothing, to a GET and a POST that reads."""

import asyncio
import gc
import json
import logging
from collections.abc import AsyncIterator
from itertools import count
from typing import Any
from urllib.parse import quote

import pytest

from gateway import response_cache
from gateway.graphql.request import hash_document
from gateway.response_cache import FastPathEntry
from rest.bodies import MAX_REPEATED_BODY_BYTES
from storage.administration import api_keys
from storage.administration.trusted_documents import (
    TrustedDocument,
    register_documents,
    remove_documents,
)
from tests.fixtures import (
    ALL_FLAGS,
    HIDDEN,
    MAP,
    SEEN,
    World,
    freeze_limiter,
    make_key,
    open_database,
)
from tests.gateway.floorgate_process import (
    VOLATILE,
    Connection,
    FastPathServer,
    WireResponse,
    serve_with_fast_path,
)
from tests.gateway.graphql.test_documents import persisted
from tests.waiting import TIMEOUT_SECONDS

PATHS = ("/v1/units", "/v1/units/unit-1", "/v1/units?per-page=2&page=2", "/v1/maps/plan%2Fone")
UNITS = "query Some($n: Int) { units(perPage: $n) { data { id name } } }"
MATRIX_PATH = f"/v1/maps/{quote(MAP, safe='')}/distance-matrix"
POINTS = [{"x": x, "y": 2.0, "floor_id": "n-2", "name": "p" * 99} for x in range(7)]
FLAGS = {"Experimental_Flags": ALL_FLAGS["Experimental-Flags"]}
GRAPHQL_RESPONSE = "application/graphql-response+json"


def to_body(**members: Any) -> bytes:
    return json.dumps(members).encode()


QUERY = to_body(query=UNITS, variables={"n": 3})
MATRIX = to_body(data={"sources": POINTS, "targets": POINTS})


@pytest.fixture
async def served(
    own_world: World, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[FastPathServer]:
    async with open_database(own_world) as database:
        await database["maps"].update_one({"_id": MAP}, {"$set": {"feet_per_unit": 1.5}})
    settings = own_world.settings(rate_limit=1, rate_burst=1000)
    async with serve_with_fast_path(settings, monkeypatch) as served:
        yield served


@pytest.fixture
async def connection(served: FastPathServer, own_world: World) -> AsyncIterator[Connection]:
    async with served.connect(own_world.keys.full) as connection:
        yield connection


async def post(connection: Connection, body: bytes = QUERY, **headers: str) -> WireResponse:
    return await connection.request("/graphql", "POST", body, **headers)


@pytest.mark.parametrize("coding", ["identity", "gzip", "zstd", "*;q=0.5, gzip;q=0"])
async def test_the_fast_path_sends_what_the_pipeline_does(
    served: FastPathServer, connection: Connection, coding: str
) -> None:
    for path in PATHS:
        served.found.clear()
        uncached = await connection.request(path, Accept_Encoding=coding)
        assert uncached.status == 200
        assert not served.found
        fast = await connection.request(path, Accept_Encoding=coding)
        assert served.found == [200]
        assert fast.repeatable == uncached.repeatable
        assert fast.headers["x-request-id"] != uncached.headers["x-request-id"]
        etag = uncached.headers["etag"]
        known: dict[str, Any] = {"Accept_Encoding": coding, "If_None_Match": etag}
        not_modified = await connection.request(path, **known)
        assert (not_modified.status, not_modified.body, served.found) == (304, b"", [200, 304])
        assert not_modified.headers["etag"] == etag
        full_pipeline = await connection.request(path, **known, Content_Length="0")
        assert not_modified.repeatable == full_pipeline.repeatable


def test_a_request_with_a_header_twice_goes_the_long_way() -> None:
    headers = [(b"api-key", b"fgk_1"), (b"accept", b"text/html")]
    assert response_cache._inspect_headers(headers, has_body=False) is not None
    twice = [*headers, (b"accept", b"application/json")]
    assert response_cache._inspect_headers(twice, has_body=False) is None


REPEATED: list[tuple[str, bytes, dict[str, str]]] = [
    ("/graphql", QUERY, {}),
    ("/graphql", QUERY, {"Accept": GRAPHQL_RESPONSE}),
    ("/graphql", QUERY, {"Accept_Encoding": "gzip"}),
    # Only a GET has conditional requests.
    ("/graphql", QUERY, {"If_None_Match": "*"}),
    ("/graphql?unknown=1", QUERY, {"Content_Type": "application/JSON; charset=utf-8"}),
    ("/graphql", QUERY + b" " * 10_000, {"Connection": "keep-alive"}),
    (MATRIX_PATH, MATRIX, FLAGS),
    (MATRIX_PATH, MATRIX, {**FLAGS, "Accept_Encoding": "zstd"}),
]


async def test_a_repeated_post_gets_what_the_pipeline_sends(
    served: FastPathServer, connection: Connection
) -> None:
    for path, body, headers in REPEATED:
        served.found.clear()
        first = await connection.request(path, "POST", body, **headers)
        assert first.status == 200
        assert "etag" not in first.headers
        fast = await connection.request(path, "POST", body, **headers)
        assert served.found[-1:] == [200]
        assert fast.repeatable == first.repeatable
        assert {*fast.headers} == {*first.headers}
        # The pipeline, from the same cached response.
        served.found.clear()
        explicit = await connection.request(path, "POST", body, **headers, Expect="100-continue")
        assert explicit.status == 100
        assert (await connection.receive()).repeatable == fast.repeatable
        assert not served.found


OTHERS: list[tuple[str, str, bytes, dict[str, str]]] = [
    ("HEAD", "/v1/units", b"", {}),
    ("POST", "/v1/units", b"", {}),
    ("GET", "/v1/units", b"", {"Content_Length": "0"}),
    ("GET", "/v1/units", b"", {"Expect": "100-continue"}),
    ("GET", "/v1/units", b"", {"Experimental_Flags": "references"}),
    ("GET", "/v1/units", b"", {"Host": "other.test"}),
    ("GET", "/v1/units", b"", {"Accept": "text/html"}),
    ("POST", "/graphql?a=1", QUERY, {}),
    ("POST", "/graphql", QUERY + b" ", {}),
    ("POST", "/graphql", QUERY.replace(b"3", b"4"), {}),
    ("POST", "/graphql", QUERY, {"Accept": GRAPHQL_RESPONSE}),
    ("POST", "/graphql", QUERY, {"Accept": "text/html"}),
    ("POST", "/graphql", QUERY, {"Content_Type": "text/plain"}),
    ("POST", "/graphql", QUERY, {"Content_Encoding": "identity"}),
    ("POST", "/graphql", QUERY, {"Experimental_Flags": "references"}),
    ("POST", "/graphql", QUERY, {"Floorgate_Explain": "true"}),
    ("POST", "/graphql", QUERY, {"Host": "other.test"}),
    ("POST", "/graphql", QUERY, {"X_Forwarded_Proto": "http"}),
    ("POST", "/graphql", QUERY, {"API_key": "fgk_none"}),
    ("PUT", "/graphql", QUERY, {}),
    ("DELETE", "/graphql", QUERY, {}),
    ("GET", "/graphql", QUERY, {}),
    ("GET", "/graphql", b"", {}),
    ("POST", "/graphql", b"", {"Content_Length": "0", "Content_Type": "application/json"}),
    ("POST", MATRIX_PATH, QUERY, FLAGS),
    ("GET", "/v1/units", b"", {"Connection": "close"}),
]


async def test_any_other_request_takes_the_pipeline(
    served: FastPathServer, own_world: World
) -> None:
    for method, path, body, headers in OTHERS:
        async with served.connect(own_world.keys.full) as connection:
            for _ in range(2):
                await connection.request("/v1/units")
                await post(connection)
            served.found.clear()
            connection.send(path, method, body, **headers)
            await connection.receive(method)
            assert served.found == [], (method, path, headers)


async def test_a_revoked_key_is_rejected(served: FastPathServer, own_world: World) -> None:
    async with open_database(own_world) as database:
        key_id, key = await make_key(database, "short-lived", asset_ids=[SEEN])
        async with served.connect(key) as connection:
            await served.wait_for_fast_path(connection, "/v1/units")
            await api_keys.revoke_api_key(database, key_id)
            pages = (f"/v1/units?page={number}" for number in count(1))  # not on the fast path
            async with asyncio.timeout(TIMEOUT_SECONDS):
                while (await connection.request(next(pages))).status != 403:
                    await asyncio.sleep(0.01)
            assert (await connection.request("/v1/units")).status == 403


async def test_a_key_with_changed_permissions_gets_no_earlier_entry(
    served: FastPathServer, own_world: World
) -> None:
    async with open_database(own_world) as database:
        key_id, key = await make_key(database, "narrowed", asset_ids=[SEEN, HIDDEN])
        async with served.connect(key) as connection:
            await served.wait_for_fast_path(connection, "/v1/units/unit-s")
            rights = {"$set": {"asset_ids": [SEEN]}}
            await database[api_keys.KEYS_COLLECTION].update_one({"_id": key_id}, rights)
            async with asyncio.timeout(TIMEOUT_SECONDS):
                while len(json.loads((await connection.request("/v1/assets")).body)["data"]) > 1:
                    await asyncio.sleep(0.01)
            assert (await connection.request("/v1/units/unit-s")).status == 404


async def test_keys_do_not_share_entries(served: FastPathServer, own_world: World) -> None:
    async with served.connect(own_world.keys.full) as full, served.connect(None) as other:
        for _ in range(2):
            await full.request("/v1/units/unit-s")
        assert served.found == [200]
        assert (await other.request("/v1/units/unit-s")).status == 401
        other.key = own_world.keys.restricted
        assert (await other.request("/v1/units/unit-s")).status == 404
        assert served.found == [200]
        body = to_body(query='{ unit(id: "unit-s") { id } }')
        for connection, found in ((full, True), (full, True), (other, False)):
            data = json.loads((await post(connection, body)).body)["data"]
            assert bool(data["unit"]) == found
        other.key = None
        assert (await post(other, body)).status == 401
        assert served.found == [200, 200]


async def test_the_fast_path_counts_towards_the_rate_limit(
    served: FastPathServer, own_world: World
) -> None:
    limiter = served.gateway.rate_limiter
    limiter.burst, limiter._tolerance_seconds = 3, 2.0  # of one request a second
    freeze_limiter(served.gateway)
    async with served.connect(own_world.keys.full) as connection:
        statuses = [(await connection.request("/v1/units")).status for _ in range(5)]
        assert statuses == [200, 200, 200, 429, 429]
        assert served.found == [200, 200]


async def test_fast_responses_are_logged_like_others(
    served: FastPathServer, own_world: World, caplog: pytest.LogCaptureFixture
) -> None:
    async with served.connect(own_world.keys.full) as connection:
        await connection.request("/v1/units")
        with caplog.at_level(logging.INFO, "floorgate.access"):
            response = await connection.request("/v1/units", X_Request_Id="mine")
    assert response.headers["x-request-id"] == "mine"
    logged = [record.__dict__["fields"] for record in caplog.records]
    (fields,) = [each for each in logged if each["request_id"] == "mine"]
    assert (fields["route"], fields["status"]) == ("/v1/units", 200)
    assert fields["bytes"] == len(response.body)
    assert fields["key_id"]
    assert own_world.keys.full not in str(fields)


async def test_a_key_in_the_query_takes_the_pipeline(
    served: FastPathServer, own_world: World
) -> None:
    async with served.connect(None) as connection:
        for _ in range(3):
            assert (
                await connection.request(f"/v1/units?api-key={own_world.keys.full}")
            ).status == 200
        assert not served.found


async def test_entries_keep_no_response_in_memory(served: FastPathServer, own_world: World) -> None:
    state = served.gateway.state
    assert state is not None
    async with served.connect(own_world.keys.full) as connection:
        for _ in range(2):
            await connection.request("/v1/units")
        assert served.found == [200]
        known = [each.value for each in state.fast_path._requests._entries.values()]
        [entry] = [each.response for each in known if isinstance(each, FastPathEntry)]
        cached = entry()
        assert cached is not None
        state.response_cache._responses.discard(cached.cache_key)
        del cached
        gc.collect()
        assert entry() is None
        assert (await connection.request("/v1/units")).status == 200
        assert served.found == [200]


@pytest.mark.parametrize("allowed", ["", "https://elsewhere.test", "*"])
async def test_an_origin_gets_the_same_headers_on_both_paths(
    own_world: World, monkeypatch: pytest.MonkeyPatch, allowed: str
) -> None:
    settings = own_world.settings(cors_origins=allowed)
    async with (
        serve_with_fast_path(settings, monkeypatch) as served,
        served.connect(own_world.keys.full) as connection,
    ):
        for origin in (None, "https://elsewhere.test", "https://third.test", "null"):
            sent = {} if origin is None else {"Origin": origin}
            for method, path, body in (("GET", "/v1/units", b""), ("POST", "/graphql", QUERY)):
                heads = []
                served.found.clear()
                for _ in range(3):  # by the pipeline, the fast path, and from the same bytes
                    connection.send(path, method, body, **sent)
                    heads.append(await read_head(connection))
                assert served.found[-2:] == [200, 200]
                assert heads[1] == heads[2] == heads[0]
                granted = {"*": "*", origin: origin}.get(allowed) if origin and allowed else None
                assert heads[0].get("access-control-allow-origin") == granted
                assert "Origin" in heads[0]["vary"].split(", ")


async def read_head(connection: Connection) -> dict[str, str]:
    """Read a response, and return its header fields that an identical request gets too."""
    lines = (await connection.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[1:-2]
    fields: dict[str, str] = {}
    for name, _, text in (line.partition(": ") for line in lines):
        fields[name] = f"{fields[name]}, {text}" if name in fields else text
    await connection.reader.readexactly(int(fields["content-length"]))
    return {name: text for name, text in fields.items() if name not in VOLATILE}


async def test_a_chunked_body_takes_the_pipeline(
    served: FastPathServer, connection: Connection
) -> None:
    for _ in range(2):
        expected = await post(connection)
    connection.send(
        "/graphql", "POST", Transfer_Encoding="chunked", Content_Type="application/json"
    )
    connection.writer.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(QUERY), QUERY))
    assert (await connection.receive()).repeatable == expected.repeatable
    assert served.found == [200]


async def test_a_large_body_takes_the_pipeline(
    served: FastPathServer, connection: Connection
) -> None:
    largest = QUERY.ljust(MAX_REPEATED_BODY_BYTES)
    for body in (largest + b" ", largest + b" ", largest):
        assert (await post(connection, body)).status == 200
    assert not served.found
    assert (await post(connection, largest)).status == 200
    assert served.found == [200]


async def test_what_is_not_cached_is_run_each_time(
    served: FastPathServer, connection: Connection
) -> None:
    for query in ("{ none }", "{ units(perPage: 0) { data { id } } }", "{ __typename }"):
        for _ in range(3):
            await post(connection, to_body(query=query))
    for _ in range(3):
        await post(connection, b"{")
        await post(connection, to_body(query="mutation { none }"))
    assert not served.found


async def test_a_mutation_is_run_each_time(served: FastPathServer, connection: Connection) -> None:
    """Also one that is sent in the same bytes, and after a query with its name."""
    text = "query Both { units { data { id } } } mutation Other { __typename }"
    for name in ("Both", "Both", "Other", "Other"):
        assert (await post(connection, to_body(query=text, operationName=name))).status == 200
    assert served.found == [200]


async def test_a_body_may_come_in_pieces(served: FastPathServer, connection: Connection) -> None:
    expected = [(await post(connection)).repeatable for _ in range(2)]
    head = len(QUERY)
    for cuts in ([0], [1], [head - 1], [0, 5, 50]):
        served.found.clear()
        connection.send(
            "/graphql", "POST", Content_Length=str(head), Content_Type="application/json"
        )
        await asyncio.sleep(0)
        ends = [*cuts[1:], head]
        connection.writer.write(QUERY[: cuts[0]])
        for start, end in zip(cuts, ends, strict=True):
            await asyncio.sleep(0.01)  # so that the gateway reads twice
            connection.writer.write(QUERY[start:end])
        assert (await connection.receive()).repeatable == expected[0]
        assert served.found == [200]
    assert expected[0] == expected[1]


async def test_pipelined_posts_are_answered_in_order(connection: Connection) -> None:
    bodies = [to_body(query=UNITS, variables={"n": n}) for n in (1, 2, 3)]
    for body in bodies:
        await post(connection, body)
    order = [0, 2, 1, 1, 0, 2]
    for index in order:
        connection.send("/graphql", "POST", bodies[index])
        connection.send("/v1/units/unit-1")
    for index in order:
        received = json.loads((await connection.receive()).body)
        assert len(received["data"]["units"]["data"]) == index + 1
        assert json.loads((await connection.receive()).body)["id"] == "unit-1"


async def test_a_change_ends_the_entries(
    served: FastPathServer, connection: Connection, own_world: World
) -> None:
    body = to_body(query='{ unit(id: "unit-1") { name } }')
    for _ in range(2):
        await post(connection, body)
        await connection.request("/v1/units/unit-1")
    assert served.found == [200, 200]
    async with open_database(own_world) as database, asyncio.timeout(TIMEOUT_SECONDS):
        await database["units"].update_one({"_id": "unit-1"}, {"$set": {"name": "Elsewhere"}})
        while b"Elsewhere" not in (await post(connection, body)).body:
            await asyncio.sleep(0.01)
        while b"Elsewhere" not in (await connection.request("/v1/units/unit-1")).body:
            await asyncio.sleep(0.01)


async def test_a_persisted_query_is_recognised_and_the_request_that_brings_it_is_run(
    served: FastPathServer, connection: Connection
) -> None:
    """Else a document that is no longer kept would not be kept again."""
    extensions = persisted(hash_document(UNITS))
    by_hash, with_text = to_body(extensions=extensions), to_body(query=UNITS, extensions=extensions)
    for _ in range(3):
        expected = await post(connection, with_text)
    assert not served.found
    for _ in range(2):
        assert (await post(connection, by_hash)).body == expected.body
    assert served.found == [200]


async def test_an_id_that_names_another_document_gets_its_response(
    own_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the response to the first document is cached again."""
    other = "{ assets { data { id } } }"
    registered = [TrustedDocument(ids=[hash_document(UNITS), "page"], text=UNITS)]
    page, by_hash = to_body(documentId="page"), to_body(documentId=hash_document(UNITS))
    async with (
        open_database(own_world) as database,
        serve_with_fast_path(own_world.settings(trusted_documents=True), monkeypatch) as served,
        served.connect(own_world.keys.full) as connection,
    ):
        await register_documents(database, registered)
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while not served.found:
                await post(connection, page)
        await remove_documents(database, ["page"])
        renamed = TrustedDocument(ids=[hash_document(other), "page"], text=other)
        without_name = TrustedDocument(ids=[hash_document(UNITS)], text=UNITS)
        await register_documents(database, [renamed, without_name])
        async with asyncio.timeout(TIMEOUT_SECONDS):
            served.found.clear()
            while not served.found:  # until the response is cached once more
                await post(connection, by_hash)
        assert b"assets" in (await post(connection, page)).body
