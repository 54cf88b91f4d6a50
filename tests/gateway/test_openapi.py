"""The OpenAPI description is served in two formats, rendered and compressed once."""

import asyncio
import gzip
from typing import Any

import orjson
import pytest
import yaml
import zstandard
from starlette.requests import Request
from starlette.types import Message

from gateway import compression
from gateway.cache.cached_response import CachedResponse
from gateway.openapi import OpenApiEndpoints
from rest.entity_tags import Encoding
from rest.openapi import description

pytestmark = pytest.mark.anyio

REQUEST = Request({"type": "http"})


def select(response: CachedResponse, **headers: str) -> tuple[Message, Message]:
    """The messages for a GET with these headers."""
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return response.select_messages({"type": "http", "method": "GET", "headers": raw})


def body_of(response: CachedResponse, **headers: str) -> bytes:
    body: bytes = select(response, **headers)[1]["body"]
    return body


async def test_both_formats_describe_the_same() -> None:
    openapi = OpenApiEndpoints("https://maps.example")
    as_json, as_yaml = await openapi.json_document(REQUEST), await openapi.yaml_document(REQUEST)
    described = orjson.loads(body_of(as_json))
    assert described["servers"][0]["url"].startswith("https://maps.example")
    assert yaml.load(body_of(as_yaml), yaml.CSafeLoader) == described


async def test_a_document_is_rendered_and_compressed_once_for_all_clients(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[str] = []
    to_yaml, compress = description.to_yaml, compression.compress

    def counted_to_yaml(document: dict[str, Any]) -> str:
        calls.append("yaml")
        return to_yaml(document)

    def counted_compress(body: bytes, encoding: Encoding) -> bytes:
        calls.append(encoding)
        return compress(body, encoding)

    monkeypatch.setattr(description, "to_yaml", counted_to_yaml)
    monkeypatch.setattr(compression, "compress", counted_compress)
    openapi = OpenApiEndpoints(None)
    responses = await asyncio.gather(*(openapi.yaml_document(REQUEST) for _ in range(3)))
    assert sorted(calls) == ["gzip", "identity", "yaml", "zstd"]  # by the thread
    plain, gzipped, zstd = (
        [body_of(response, accept_encoding=coding) for response in responses]
        for coding in ("identity", "gzip", "zstd")
    )
    assert len(calls) == 4
    assert gzip.decompress(gzipped[0]) == zstandard.decompress(zstd[0]) == plain[0]


async def test_the_event_loop_goes_on_while_a_document_is_rendered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rendering, proceed = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def wait_for_the_loop(_: object) -> str:
        loop.call_soon_threadsafe(rendering.set)
        asyncio.run_coroutine_threadsafe(proceed.wait(), loop).result(30)
        return "openapi: 3.1.0"

    monkeypatch.setattr(description, "to_yaml", wait_for_the_loop)
    request = asyncio.create_task(OpenApiEndpoints(None).yaml_document(REQUEST))
    await rendering.wait()
    proceed.set()
    assert body_of(await request) == b"openapi: 3.1.0"
