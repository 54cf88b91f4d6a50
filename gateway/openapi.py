"""The OpenAPI description and the API reference page. They need no API key."""

import asyncio
from functools import cached_property
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

from gateway import browser_pages
from rest.endpoints import JSON_MEDIA_TYPE
from rest.openapi import description
from rest.path_routing import PathRoute
from schema.root import GRAPHQL_SCHEMA

YAML_MEDIA_TYPE = "application/yaml"


class OpenApiEndpoints:
    """`/v1/openapi`, `/v1/openapi.json` and `/v1/openapi.yaml`.

    Each document is rendered once: anyone may request it, and writing YAML takes seconds.
    """

    def __init__(self, base_url: str | None) -> None:
        self._base_url = base_url

    def build_routes(self) -> list[PathRoute]:
        """Return the routes of the two documents and the page."""
        return [
            PathRoute("/v1/openapi.json", {"GET": self.json_document}),
            PathRoute("/v1/openapi.yaml", {"GET": self.yaml_document}),
            PathRoute("/v1/openapi", {"GET": self.reference_page}),
        ]

    async def json_document(self, _: Request) -> Response:
        """Return the OpenAPI description as JSON."""
        return Response(await self._render("_json"), media_type=JSON_MEDIA_TYPE)

    async def yaml_document(self, _: Request) -> Response:
        """Return the OpenAPI description as YAML."""
        return Response(await self._render("_yaml"), media_type=YAML_MEDIA_TYPE)

    async def reference_page(self, _: Request) -> Response:
        """Return the interactive API reference."""
        return browser_pages.reference_response()

    async def _render(self, name: str) -> bytes:
        """Return a document; the first time, write it in a thread, while others are served."""
        document: bytes = (
            vars(self)[name] if name in vars(self) else await asyncio.to_thread(getattr, self, name)
        )
        return document

    @cached_property
    def _description(self) -> dict[str, Any]:
        return description.build_description(GRAPHQL_SCHEMA, self._base_url)

    @cached_property
    def _json(self) -> bytes:
        return orjson.dumps(self._description)

    @cached_property
    def _yaml(self) -> bytes:
        return description.to_yaml(self._description).encode()
