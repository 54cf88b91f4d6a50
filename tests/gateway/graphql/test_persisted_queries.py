"""Automatic persisted queries: a client sends a document once, and after that only its hash."""

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
from tests.fixtures import World, gateway_client, open_client, run_gateway
from tests.gateway.graphql.requests import (
    FIRST_UNIT,
    UNITS,
    code_of,
    get_hash,
    persisted,
    post_hash,
)

pytestmark = pytest.mark.anyio

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
