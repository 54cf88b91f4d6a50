"""The OpenAPI description, the API reference page, and the JSON Schema of bundles.

They need no API key.
"""

from functools import cached_property
from typing import Any

import orjson
from starlette.requests import Request
from starlette.types import ASGIApp

from gateway import browser_pages
from gateway.cache.cached_response import CachedResponse
from gateway.cache.shared_responses import SharedResponses
from rest.endpoints import JSON_MEDIA_TYPE
from rest.openapi import description
from rest.path_routing import PathRoute
from schema.root import GRAPHQL_SCHEMA
from storage.bundles.description.json_schema import build_bundle_schema

YAML_MEDIA_TYPE = "application/yaml"
SCHEMA_MEDIA_TYPE = "application/schema+json"


class OpenApiEndpoints:
    """`/v1/openapi`, `/v1/openapi.json`, `/v1/openapi.yaml` and `/v1/bundle.schema.json`.

    Each document is rendered once, in a thread, and so is each of its encodings: anyone may request
    it, and writing YAML takes seconds.
    """

    def __init__(self, base_url: str | None) -> None:
        self._base_url = base_url
        self._documents = SharedResponses()

    def build_routes(self) -> list[PathRoute]:
        """Return the routes of the documents and the page."""
        return [
            PathRoute("/v1/openapi.json", {"GET": self.json_document}),
            PathRoute("/v1/openapi.yaml", {"GET": self.yaml_document}),
            PathRoute("/v1/openapi", {"GET": self.reference_page}),
            PathRoute("/v1/bundle.schema.json", {"GET": self.bundle_schema}),
        ]

    async def json_document(self, _: Request) -> CachedResponse:
        """Return the OpenAPI description as JSON."""
        return await self._documents.get_or_make(
            JSON_MEDIA_TYPE,
            lambda: _build_response(JSON_MEDIA_TYPE, orjson.dumps(self._description)),
        )

    async def yaml_document(self, _: Request) -> CachedResponse:
        """Return the OpenAPI description as YAML."""
        return await self._documents.get_or_make(
            YAML_MEDIA_TYPE,
            lambda: _build_response(
                YAML_MEDIA_TYPE, description.to_yaml(self._description).encode()
            ),
        )

    async def bundle_schema(self, _: Request) -> CachedResponse:
        """Return the JSON Schema of bundles."""
        return await self._documents.get_or_make(
            SCHEMA_MEDIA_TYPE,
            lambda: _build_response(SCHEMA_MEDIA_TYPE, orjson.dumps(build_bundle_schema())),
        )

    async def reference_page(self, _: Request) -> ASGIApp:
        """Return the interactive API reference."""
        return browser_pages.reference_response()

    @cached_property
    def _description(self) -> dict[str, Any]:
        return description.build_description(GRAPHQL_SCHEMA, self._base_url)


def _build_response(media_type: str, document: bytes) -> CachedResponse:
    return CachedResponse([(b"content-type", media_type.encode())], document)
