"""The index of the API, its OpenAPI description and reference page, and the JSON Schema of bundles.

They need no API key.
"""

from contextlib import suppress
from functools import cached_property, partial
from typing import Any

import orjson
from starlette.requests import Request
from starlette.types import ASGIApp

from gateway import browser_pages
from gateway.cache.cached_response import CachedResponse
from gateway.cache.shared_responses import SharedResponses
from gateway.negotiation import accepts_html
from gateway.start_page import START_POLICY, render_start_page
from rest.error_codes import ERRORS_PATH, render_errors_page
from rest.errors import JSON_MEDIA_TYPE, HttpError
from rest.openapi.api_index import INDEX_PATH, ROOT_PATH, build_index, build_root
from rest.parameters import report_ignored, split_query_string
from rest.path_routing import Handler, PathRoute
from schema.root import GRAPHQL_SCHEMA
from storage.bundles.description.json_schema import build_bundle_schema

YAML_MEDIA_TYPE = "application/yaml"
SCHEMA_MEDIA_TYPE = "application/schema+json"
_VARY_ACCEPT = (b"vary", b"Accept, Accept-Encoding")


class OpenApiEndpoints:
    """`/`, `/v1`, `/v1/openapi`, its two documents, `/v1/bundle.schema.json` and `/v1/errors`.

    Each document is rendered once, in a thread, and so is each of its encodings: anyone may request
    it, and writing YAML takes seconds.
    """

    def __init__(self, base_url: str | None) -> None:
        self._base_url = base_url
        self._documents = SharedResponses()

    def build_routes(self) -> list[PathRoute]:
        """Return the routes of the documents and the page."""
        return [
            PathRoute(path, {"GET": partial(_respond, handler)})
            for path, handler in (
                (ROOT_PATH, self.root),
                (INDEX_PATH, self.index),
                ("/v1/openapi.json", self.json_document),
                ("/v1/openapi.yaml", self.yaml_document),
                ("/v1/openapi", self.reference_page),
                ("/v1/bundle.schema.json", self.bundle_schema),
                (ERRORS_PATH, self.errors_page),
            )
        ]

    async def root(self, request: Request) -> CachedResponse:
        """Return where everything is: to browsers as a page, to other clients as JSON."""
        if accepts_html(request.headers.get("accept", "")):
            return await self._documents.get_or_make("start page", _build_start_page)
        return await self._documents.get_or_make(
            ROOT_PATH,
            lambda: _build_response(
                JSON_MEDIA_TYPE, orjson.dumps(build_root(self._base_url)), _VARY_ACCEPT
            ),
        )

    async def index(self, _: Request) -> CachedResponse:
        """Return where everything is, with all endpoints."""
        return await self._documents.get_or_make(
            INDEX_PATH,
            lambda: _build_response(
                JSON_MEDIA_TYPE, orjson.dumps(build_index(GRAPHQL_SCHEMA, self._base_url))
            ),
        )

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
            lambda: _build_response(YAML_MEDIA_TYPE, self._write_yaml().encode()),
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

    async def errors_page(self, _: Request) -> ASGIApp:
        """Return the page that explains the codes of errors."""
        return await self._documents.get_or_make(ERRORS_PATH, _build_errors_page)

    @cached_property
    def _description(self) -> dict[str, Any]:
        from rest.openapi import description  # takes long to import, and is seldom needed

        return description.build_description(GRAPHQL_SCHEMA, self._base_url)

    def _write_yaml(self) -> str:
        from rest.openapi import description

        return description.to_yaml(self._description)


async def _respond(handler: Handler, request: Request) -> ASGIApp:
    """Return the handler's response, which names all parameters: none of them has any."""
    with suppress(HttpError):  # a query that cannot be read has no parameter to name
        report_ignored(request.scope, split_query_string(request.scope["query_string"]), ())
    return await handler(request)


def _build_errors_page() -> CachedResponse:
    page = browser_pages.static_page_response(render_errors_page())
    return CachedResponse(page.raw_headers, bytes(page.body))


def _build_start_page() -> CachedResponse:
    page = browser_pages.static_page_response(render_start_page(), START_POLICY)
    return CachedResponse([*page.raw_headers, _VARY_ACCEPT], bytes(page.body))


def _build_response(
    media_type: str, document: bytes, *headers: tuple[bytes, bytes]
) -> CachedResponse:
    return CachedResponse([(b"content-type", media_type.encode()), *headers], document)
