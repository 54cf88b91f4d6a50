"""Compare responses with the description of their endpoint."""

from typing import Any

import httpx
import jsonschema_rs

from rest.openapi.description import build_description
from schema.root import GRAPHQL_SCHEMA

DESCRIPTION = build_description(GRAPHQL_SCHEMA)


def closed(schema: Any) -> Any:
    """The schema without room for members that it does not describe."""
    if isinstance(schema, list):
        return [*map(closed, schema)]
    if not isinstance(schema, dict):
        return schema
    inner = {name: closed(part) for name, part in schema.items()}
    if inner.get("type") == "object" and "properties" in inner:
        inner.setdefault("additionalProperties", False)
    return inner


COMPONENTS = closed(DESCRIPTION["components"])


def errors_of(response: httpx.Response, path: str) -> list[str]:
    """What a response has or lacks against the description of a path."""
    described = DESCRIPTION["paths"][path][response.request.method.lower()]["responses"]
    part = described[str(response.status_code)]
    if "$ref" in part:
        part = COMPONENTS["responses"][part["$ref"].rpartition("/")[2]]
    [content] = part["content"].values()
    schema = {**closed(content["schema"]), "components": COMPONENTS}
    validator = jsonschema_rs.Draft202012Validator(schema, validate_formats=True)
    return [error.message for error in validator.iter_errors(response.json())]
