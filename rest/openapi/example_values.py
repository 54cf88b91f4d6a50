"""Examples of values, made from their JSON schemas and never from data."""

import re
from typing import Any, Final

from rest.openapi.map_schemas import COMPONENT_SCHEMAS, COMPONENTS_PREFIX
from schema.operation_inputs import JsonSchema

_BY_FORMAT: Final = {
    "date-time": "2026-03-02T09:00:00+00:00",
    "date": "2026-03-02",
    "uri": "https://localhost:8443/v1",
    "uri-reference": "/v1",
    "image/svg+xml": '<svg xmlns="http://www.w3.org/2000/svg"/>',
}
_TEXTS: Final = (
    "AQ" + "A" * 21,  # a cursor of the changes
    "1",
    "a1",
    "u1",
    "A",
    "group/attribute",
    "key:value",
    "#0f766e",
    "<svg/>",
)
"""Texts of which one fits the pattern of any input."""
_MAX_DEPTH: Final = 20
"""Below, lists are empty: the elements of a map hold elements."""


def make_example(schema: JsonSchema, name: str = "value", depth: int = 0) -> Any:
    """Return a value that fits a schema of one of our types; `name` is the member that has it.

    >>> make_example({"type": "array", "items": {"type": ["integer", "null"], "minimum": 2}})
    [2]
    >>> make_example({"type": "object", "properties": {"floor_id": {"type": "string"}}})
    {'floor_id': 'floor-1'}
    """
    if "$ref" in schema:
        schema = COMPONENT_SCHEMAS[schema["$ref"].removeprefix(COMPONENTS_PREFIX)]
    for keyword in ("const", "default"):
        if keyword in schema:
            return schema[keyword]
    for keyword in ("enum", "examples", "x-extensible-enum"):
        if keyword in schema:
            return schema[keyword][0]
    if schema.get("type") != "object":
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                return make_example(schema[keyword][0], name, depth)
    types = schema.get("type", "null")
    if isinstance(types, list) and schema.get("format") == "uri":
        return None  # the page of the example is the only one
    match types[0] if isinstance(types, list) else types:
        case "object":
            return _make_object(schema, depth + 1)
        case "array":
            count = max(1, schema.get("minItems", 0)) if depth < _MAX_DEPTH else 0
            return [make_example(schema["items"], name, depth + 1)] * min(
                count, schema.get("maxItems", count)
            )
        case "string":
            return _make_text(schema, name)
        case "boolean":
            return True
        case "integer" | "number":
            least: float = schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1)
            return min(max(1, least), schema.get("maximum", max(1, least)))
    return None


def _make_object(schema: JsonSchema, depth: int) -> dict[str, Any]:
    """Return an object: of a response with all members, of a request with those that it needs."""
    members = schema.get("properties", {})
    is_input = "additionalProperties" in schema or "else" in schema
    names = schema.get("required", ()) if is_input else members
    # The rules of several members say in `else` what is needed besides.
    needed = schema.get("else", {}).get("anyOf", ({},))[0].get("required", ())
    return {name: make_example(members[name], name, depth) for name in (*names, *needed)}


def _make_text(schema: JsonSchema, name: str) -> str:
    is_id = re.search(r"(\A|_)ids?\Z", name)
    texts = [f"{name.removesuffix('_id')}-1" if is_id else name.replace("_", " ").capitalize()]
    for keyword in ("format", "contentMediaType"):
        if keyword in schema:
            texts.insert(0, _BY_FORMAT.get(schema[keyword], "text"))
    for text in (*texts, *_TEXTS):
        example = text[: schema.get("maxLength", 100)].ljust(schema.get("minLength", 0), "x")
        if re.search(schema.get("pattern", ""), example):
            return example
    return "text"
