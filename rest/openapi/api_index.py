"""The index of the API: what a client that knows only the address of the service can go on to."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, Final

from graphql import GraphQLSchema

from rest.endpoint_files import Endpoint, built_in_endpoints
from rest.errors import ERRORS_PATH
from schema.execution import Executor, Operation

ROOT_PATH: Final = "/"
INDEX_PATH: Final = "/v1"
LINKS: Final = {
    "endpoints": INDEX_PATH,
    "description": "/v1/openapi.json",
    "postman": "/v1/postman.json",
    "reference": "/v1/openapi",
    "explorer": "/maps",
    "clients": "/clients/",
    "errors": ERRORS_PATH,
    "graphql": "/graphql",
    "health": "/health/ready",
}
"""Paths by what they lead to."""


def build_root(base_url: str | None = None) -> dict[str, Any]:
    """Return the index of the service. Links are paths if the URL of the service is not known.

    >>> build_root("https://maps.example")["links"]["graphql"]
    'https://maps.example/graphql'
    """
    prefix = (base_url or "").rstrip("/")
    return {"name": "Floorgate", "links": {name: prefix + path for name, path in LINKS.items()}}


def build_index(
    schema: GraphQLSchema, base_url: str | None = None, endpoints: Iterable[Endpoint] | None = None
) -> dict[str, Any]:
    executor = Executor(schema)
    endpoints = built_in_endpoints() if endpoints is None else endpoints
    rows = [_describe(row, executor.prepare(row.document)) for row in endpoints]
    return {**build_root(base_url), "endpoints": rows}


def _describe(endpoint: Endpoint, operation: Operation) -> dict[str, Any]:
    return {
        "method": endpoint.method,
        "path": endpoint.path,
        "summary": endpoint.summary,
        "flags": required_flags(operation),
        "permissions": required_permissions(operation),
        **({"deprecation": asdict(endpoint.deprecation)} if endpoint.deprecation else {}),
    }


def required_flags(operation: Operation) -> list[str]:
    return sorted({requirement.flag for requirement in operation.requirements if requirement.flag})


def required_permissions(operation: Operation) -> list[str]:
    return sorted(
        {requirement.permission for requirement in operation.requirements if requirement.permission}
    )
