"""The OpenAPI description is served in two formats, rendered once."""

import orjson
import pytest
import yaml
from starlette.requests import Request

from gateway.openapi import OpenApiEndpoints

pytestmark = pytest.mark.anyio

REQUEST = Request({"type": "http"})


async def test_both_formats_describe_the_same() -> None:
    openapi = OpenApiEndpoints("https://maps.example")
    as_json, as_yaml = await openapi.json_document(REQUEST), await openapi.yaml_document(REQUEST)
    description = orjson.loads(as_json.body)
    assert description["servers"][0]["url"].startswith("https://maps.example")
    assert yaml.load(bytes(as_yaml.body), yaml.CSafeLoader) == description


async def test_a_document_is_rendered_once() -> None:
    openapi = OpenApiEndpoints(None)
    first, second = await openapi.json_document(REQUEST), await openapi.json_document(REQUEST)
    assert first.body is second.body
