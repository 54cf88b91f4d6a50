"""The fast path answers a POST that only reads as the pipeline does, or not at all."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import pytest

from gateway.documents.graphql_request import hash_document
from rest.bodies import MAX_REPEATED_BODY_BYTES
from storage.administration.trusted_documents import (
    TrustedDocument,
    register_documents,
    remove_documents,
)
from tests.fixtures import ALL_FLAGS, MAP, World, open_database
from tests.gateway.cache.fast_path_server import (
    TIMEOUT_SECONDS,
    Connection,
    FastPathServer,
    WireResponse,
    serve_with_fast_path,
)
from tests.gateway.documents.requests import persisted

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

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


@pytest.mark.parametrize(
    ("path", "body", "headers"),
    [
        ("/graphql", QUERY, {}),
        ("/graphql", QUERY, {"Accept": GRAPHQL_RESPONSE}),
        ("/graphql", QUERY, {"Accept_Encoding": "gzip"}),
        # Only a GET has conditional requests.
        ("/graphql", QUERY, {"If_None_Match": "*"}),
        ("/graphql?unknown=1", QUERY, {"Content_Type": "application/JSON; charset=utf-8"}),
        ("/graphql", QUERY + b" " * 10_000, {"Connection": "keep-alive"}),
        (MATRIX_PATH, MATRIX, FLAGS),
        (MATRIX_PATH, MATRIX, {**FLAGS, "Accept_Encoding": "zstd"}),
    ],
)
async def test_a_repeated_post_gets_what_the_pipeline_sends(
    served: FastPathServer,
    connection: Connection,
    path: str,
    body: bytes,
    headers: dict[str, str],
) -> None:
    first = await connection.request(path, "POST", body, **headers)
    assert first.status == 200
    assert "etag" not in first.headers
    assert not served.found
    fast = await connection.request(path, "POST", body, **headers)
    assert served.found == [200]
    assert fast.repeatable == first.repeatable
    assert {*fast.headers} == {*first.headers}
    # The pipeline, from the same cached response.
    explicit = await connection.request(path, "POST", body, **headers, Expect="100-continue")
    assert explicit.status == 100
    assert (await connection.receive()).repeatable == fast.repeatable
    assert served.found == [200]


@pytest.mark.parametrize(
    ("method", "path", "body", "headers"),
    [
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
    ],
)
async def test_any_other_request_takes_the_pipeline(
    served: FastPathServer,
    connection: Connection,
    method: str,
    path: str,
    body: bytes,
    headers: dict[str, str],
) -> None:
    for _ in range(2):
        await post(connection)
    assert served.found == [200]
    await connection.request(path, method, body, **headers)
    assert served.found == [200]


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


async def test_keys_do_not_share_entries(
    served: FastPathServer, connection: Connection, own_world: World
) -> None:
    body = to_body(query='{ unit(id: "unit-s") { id } }')
    for _ in range(2):
        assert json.loads((await post(connection, body)).body)["data"]["unit"]
    async with served.connect(own_world.keys.restricted) as other:
        assert json.loads((await post(other, body)).body)["data"]["unit"] is None
        other.key = None
        assert (await post(other, body)).status == 401
    assert served.found == [200]


async def test_a_change_ends_the_entry(
    served: FastPathServer, connection: Connection, own_world: World
) -> None:
    body = to_body(query='{ unit(id: "unit-1") { name } }')
    for _ in range(2):
        await post(connection, body)
    assert served.found == [200]
    async with open_database(own_world) as database, asyncio.timeout(TIMEOUT_SECONDS):
        await database["units"].update_one({"_id": "unit-1"}, {"$set": {"name": "Elsewhere"}})
        while b"Elsewhere" not in (await post(connection, body)).body:
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
