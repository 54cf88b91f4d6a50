"""Requests that name their document instead of sending it."""

import json
from typing import Any

import httpx

from gateway.graphql.request import hash_document

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
