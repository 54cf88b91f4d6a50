"""Documents by their ids: sent once and then by hash, or registered by an operator."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from gateway.graphql.request import (
    MAX_DOCUMENT_ID_CHARACTERS,
    MAX_PERSISTED_BYTES,
    MAX_PERSISTED_QUERIES,
    PersistedQueries,
    hash_document,
)
from storage.administration.trusted_documents import (
    TrustedDocument,
    register_documents,
    remove_documents,
)
from storage.mongo import driver
from tests.doc_pages import page
from tests.docs.pages import find_blocks
from tests.docs.running import is_same, read
from tests.fixtures import World, gateway_client, open_client, open_database, run_gateway
from tests.waiting import TIMEOUT_SECONDS

UNITS = "query Units { units(perPage: 1) { data { id } } }"
FIRST_UNIT = {"data": {"units": {"data": [{"id": "!unit-s"}]}}}


def persisted(digest: str, version: Any = 1) -> dict[str, Any]:
    """The extension of a request for the document with this digest."""
    return {"persistedQuery": {"version": version, "sha256Hash": digest}}


async def post_hash(
    client: httpx.AsyncClient, text: str = UNITS, *, with_query: bool = False, **headers: str
) -> httpx.Response:
    """Post the hash of a document, alone or with the document."""
    body: dict[str, Any] = {"extensions": persisted(hash_document(text))}
    if with_query:
        body["query"] = text
    return await client.post("/graphql", json=body, headers=headers)


async def get_hash(client: httpx.AsyncClient, text: str = UNITS, **headers: str) -> httpx.Response:
    """Get the response to a document by its hash."""
    extensions = json.dumps(persisted(hash_document(text)))
    return await client.get("/graphql", params={"extensions": extensions}, headers=headers)


def code_of(response: httpx.Response) -> str:
    """The code of the only error of a response."""
    [error] = response.json()["errors"]
    code: str = error["extensions"]["code"]
    return code


GRAPHQL_RESPONSE = "application/graphql-response+json"
OTHER = "{ assets { data { id } } }"


@pytest.fixture
async def fresh(world: World) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a gateway to which no document has been sent."""
    async with gateway_client(world.settings(), world.keys.full) as client:
        yield client


async def test_a_hash_alone_asks_for_the_document_and_works_after_that(
    fresh: httpx.AsyncClient,
) -> None:
    unknown = await post_hash(fresh)
    assert unknown.status_code == 200
    [error] = unknown.json()["errors"]
    assert error["message"] == "PersistedQueryNotFound"
    assert code_of(unknown) == "PERSISTED_QUERY_NOT_FOUND"
    assert (await post_hash(fresh, with_query=True)).json() == FIRST_UNIT
    assert (await post_hash(fresh)).json() == FIRST_UNIT
    assert (await get_hash(fresh)).json() == FIRST_UNIT


async def test_the_status_of_an_unknown_hash_follows_the_media_type(
    fresh: httpx.AsyncClient,
) -> None:
    """GraphQL over HTTP: without data it is a 400, unless the media type is application/json."""
    response = await get_hash(fresh, Accept=GRAPHQL_RESPONSE)
    assert response.status_code == 400
    assert code_of(response) == "PERSISTED_QUERY_NOT_FOUND"


async def test_variables_and_the_name_of_the_operation_are_sent_with_the_hash(
    fresh: httpx.AsyncClient,
) -> None:
    text = "query A($n: Int) { units(perPage: $n) { data { id } } } query B { __typename }"
    body = {"query": text, "operationName": "B", "extensions": persisted(hash_document(text))}
    assert (await fresh.post("/graphql", json=body)).json() == {"data": {"__typename": "Query"}}
    del body["query"]
    body |= {"operationName": "A", "variables": {"n": 1}}
    assert (await fresh.post("/graphql", json=body)).json() == FIRST_UNIT


async def test_a_hash_of_something_else_is_refused_and_nothing_is_kept(
    fresh: httpx.AsyncClient,
) -> None:
    body = {"query": OTHER, "extensions": persisted(hash_document(UNITS))}
    response = await fresh.post("/graphql", json=body)
    assert (response.status_code, code_of(response)) == (400, "BAD_REQUEST")
    assert hash_document(OTHER) in response.json()["errors"][0]["message"]
    assert code_of(await post_hash(fresh, OTHER)) == "PERSISTED_QUERY_NOT_FOUND"
    assert code_of(await post_hash(fresh, UNITS)) == "PERSISTED_QUERY_NOT_FOUND"


@pytest.mark.parametrize(
    "invalid", ["{ units", "{ nothing }", "{ units { data { id } } } #" * 3000]
)
async def test_an_invalid_document_is_not_kept(fresh: httpx.AsyncClient, invalid: str) -> None:
    assert "errors" in (await post_hash(fresh, invalid, with_query=True)).json()
    assert code_of(await post_hash(fresh, invalid)) == "PERSISTED_QUERY_NOT_FOUND"


@pytest.mark.parametrize(
    "extensions",
    [
        {"persistedQuery": True},
        persisted(hash_document(UNITS), version=2),
        persisted(hash_document(UNITS), version=None),
        {"persistedQuery": {"version": 1}},
        {"persistedQuery": {"version": 1, "sha256Hash": 7}},
        persisted(""),
        persisted("x" * (MAX_DOCUMENT_ID_CHARACTERS + 1)),
        persisted("a b"),
    ],
)
async def test_a_malformed_extension_is_a_bad_request(
    fresh: httpx.AsyncClient, extensions: Any
) -> None:
    for body in ({"extensions": extensions}, {"extensions": extensions, "query": UNITS}):
        response = await fresh.post("/graphql", json=body)
        assert (response.status_code, code_of(response)) == (400, "BAD_REQUEST")


async def test_a_key_has_only_the_documents_that_it_has_sent(world: World) -> None:
    async with (
        run_gateway(world.settings()) as gateway,
        open_client(gateway, world.keys.full) as one,
        open_client(gateway, world.keys.restricted) as other,
        open_client(gateway, None) as anonymous,
    ):
        assert "data" in (await post_hash(one, with_query=True)).json()
        assert code_of(await post_hash(other)) == "PERSISTED_QUERY_NOT_FOUND"
        assert code_of(await post_hash(anonymous)) == "UNAUTHENTICATED"


async def test_a_get_by_hash_is_no_mutation_and_has_an_entity_tag(
    fresh: httpx.AsyncClient,
) -> None:
    mutation = "mutation { __typename }"
    assert "data" in (await post_hash(fresh, mutation, with_query=True)).json()
    assert (await get_hash(fresh, mutation)).status_code == 405
    await post_hash(fresh, with_query=True)
    first = await get_hash(fresh)
    again = await get_hash(fresh, **{"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


async def test_they_can_be_turned_off(world: World) -> None:
    settings = world.settings(persisted_queries="off")
    async with gateway_client(settings, world.keys.full) as client:
        refused = await post_hash(client)
        assert refused.status_code == 200
        assert refused.json()["errors"][0]["message"] == "PersistedQueryNotSupported"
        assert code_of(refused) == "PERSISTED_QUERY_NOT_SUPPORTED"
        accept = {"Accept": "application/graphql-response+json"}
        body = {"extensions": persisted(hash_document(UNITS))}
        assert (await client.post("/graphql", json=body, headers=accept)).status_code == 400
        assert (await post_hash(client, with_query=True)).json() == FIRST_UNIT
        assert code_of(await post_hash(client)) == "PERSISTED_QUERY_NOT_SUPPORTED"


def test_one_key_cannot_push_out_the_documents_of_another() -> None:
    queries = PersistedQueries()
    queries.put("calm", "1", "{ units { data { id } } }")
    for number in range(MAX_PERSISTED_QUERIES + 1):
        queries.put("busy", str(number), "{ __typename }")
    assert queries.get("busy", "0") is None
    assert queries.get("busy", str(MAX_PERSISTED_QUERIES)) is not None
    for number in range(5):
        queries.put("busy", f"long {number}", "#" * (MAX_PERSISTED_BYTES // 2))
    assert queries.get("busy", "1") is None
    assert queries.get("calm", "1") is not None


def test_the_documents_of_all_keys_are_bounded() -> None:
    """Those of the key that was used least recently go first."""
    queries = PersistedQueries(max_bytes=10_000)
    for key in ("a", "b", "c"):
        queries.put(key, "1", "#" * 4_000)
        queries.get("a", "1")
    assert [queries.get(key, "1") is not None for key in ("a", "b", "c")] == [True, False, True]


DIGEST = hash_document(UNITS)
SCHEMA = "{ __schema { queryType { name } } }"


def units_document(*ids: str) -> TrustedDocument:
    return TrustedDocument(ids=[DIGEST, *ids], operations=["Units"], text=UNITS)


@pytest.fixture
async def database(own_world: World) -> AsyncIterator[driver.Database]:
    async with open_database(own_world) as database:
        yield database


@pytest.fixture
async def trusting(own_world: World) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a gateway that runs only registered documents."""
    settings = own_world.settings(trusted_documents=True)
    async with gateway_client(settings, own_world.keys.full) as client:
        yield client


async def by_id(client: httpx.AsyncClient, id: Any) -> httpx.Response:
    return await client.post("/graphql", json={"documentId": id})


async def wait_until_refused(client: httpx.AsyncClient, params: dict[str, str]) -> httpx.Response:
    """Wait until the gateway has seen a change by another process."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while (response := await client.get("/graphql", params=params)).status_code == 200:
            await asyncio.sleep(0)
    return response


async def test_a_registered_document_is_run_by_each_of_its_ids(
    database: driver.Database, trusting: httpx.AsyncClient
) -> None:
    await register_documents(database, [units_document("units-page")])
    for id in (f"sha256:{DIGEST}", DIGEST, "units-page"):
        assert (await by_id(trusting, id)).json() == FIRST_UNIT
        response = await trusting.get("/graphql", params={"documentId": id})
        assert response.json() == FIRST_UNIT
        body = {"extensions": persisted(id.removeprefix("sha256:"))}
        assert (await trusting.post("/graphql", json=body)).json() == FIRST_UNIT
    assert (await trusting.post("/graphql", json={"query": UNITS})).json() == FIRST_UNIT
    assert (await post_hash(trusting, with_query=True)).json() == FIRST_UNIT


@pytest.mark.parametrize("query", [OTHER, SCHEMA, UNITS + " "])
async def test_nothing_else_is_run(
    database: driver.Database, trusting: httpx.AsyncClient, query: str
) -> None:
    blocks = find_blocks(page("graphql/documents.md"))
    [shown] = [block for block in blocks if '"DOCUMENT_NOT_TRUSTED"' in block.text]
    await register_documents(database, [units_document()])
    for response in (
        await trusting.post("/graphql", json={"query": query}),
        await trusting.get("/graphql", params={"query": query}),
        await post_hash(trusting, query),
        await post_hash(trusting, query, with_query=True),
        await by_id(trusting, "unknown"),
    ):
        assert (response.status_code, code_of(response)) == (403, "DOCUMENT_NOT_TRUSTED")
        assert is_same(read(shown.text), response.json())


async def test_what_is_removed_or_renamed_is_not_run_any_longer_from_any_cache(
    database: driver.Database, trusting: httpx.AsyncClient
) -> None:
    await register_documents(database, [units_document("page")])
    for _ in range(3):
        assert (await trusting.get("/graphql", params={"documentId": "page"})).json() == FIRST_UNIT
    assert await remove_documents(database, ["page"]) == [DIGEST]
    response = await wait_until_refused(trusting, {"documentId": "page"})
    assert code_of(response) == "DOCUMENT_NOT_TRUSTED"
    other = TrustedDocument(ids=[hash_document(OTHER), "page"], text=OTHER)
    await register_documents(database, [other])
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while (response := await by_id(trusting, "page")).status_code != 200:
            await asyncio.sleep(0)
    assert "assets" in response.json()["data"]


async def test_other_gateways_run_registered_documents_by_id_and_all_others_too(
    database: driver.Database, own_world: World
) -> None:
    """So that clients can change over before the setting is turned on."""
    await register_documents(database, [units_document("page")])
    for setting in ("on", "off"):
        settings = own_world.settings(persisted_queries=setting)
        async with gateway_client(settings, own_world.keys.restricted) as client:
            expected = (await client.post("/graphql", json={"query": UNITS})).json()
            assert expected["data"] is not None
            assert (await by_id(client, "page")).json() == expected
            assert (await get_hash(client)).json() == expected
            unknown = await by_id(client, "unknown")
            assert code_of(unknown) == "PERSISTED_QUERY_NOT_FOUND"
            assert "'unknown'" in unknown.json()["errors"][0]["message"]


@pytest.mark.parametrize("id", ["", "a b", "sha256:12", "x" * 201, 7, {"$gt": ""}])
async def test_a_malformed_id_is_a_bad_request(trusting: httpx.AsyncClient, id: Any) -> None:
    response = await by_id(trusting, id)
    assert (response.status_code, code_of(response)) == (400, "BAD_REQUEST")


async def test_an_id_beside_a_query_is_a_bad_request(trusting: httpx.AsyncClient) -> None:
    response = await trusting.post("/graphql", json={"query": UNITS, "documentId": DIGEST})
    assert (response.status_code, code_of(response)) == (400, "BAD_REQUEST")


async def test_documents_are_found_by_an_index(database: driver.Database) -> None:
    await register_documents(database, [units_document("page")])
    command = {"find": "trusted_documents", "filter": {"ids": {"$eq": "page"}}}
    plan = json.dumps(await database.command({"explain": command}), default=str)
    assert "IXSCAN" in plan
    assert "COLLSCAN" not in plan
