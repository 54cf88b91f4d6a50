"""Trusted documents: those that an operator has registered, by their ids and alone."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from gateway.graphql.request import hash_document
from storage.administration.trusted_documents import (
    TrustedDocument,
    register_documents,
    remove_documents,
)
from storage.mongo import driver
from tests.doc_pages import page
from tests.docs.markdown import find_blocks
from tests.docs.shown_json import is_same, read
from tests.fixtures import World, gateway_client, open_database
from tests.gateway.graphql.requests import (
    FIRST_UNIT,
    UNITS,
    code_of,
    get_hash,
    persisted,
    post_hash,
)
from tests.waiting import TIMEOUT_SECONDS

pytestmark = pytest.mark.anyio

DIGEST = hash_document(UNITS)
OTHER = "{ assets { data { id } } }"
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
