"""The JSON Schema (2020-12) of bundles, for editors and for programs that write bundles.

It accepts what the importer accepts of a bundle by itself. Not expressed are: that JSON names may
not be repeated, nor attributes of a group, that a date must exist, that a whole number may not be
written as `1.0`, the length of a member, and that a bundle of nothing but `$schema` is empty.
"""

from typing import Any, TypeAlias

import msgspec

from storage.bundles.description.fields import RECORDS, describe_field, make_example
from storage.bundles.reading.parser import SCHEMA_NAME
from storage.catalog import RECORD_TYPES
from storage.records.kinds import Record

JsonSchema: TypeAlias = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
DEFS_PREFIX = "#/$defs/"


def build_bundle_schema() -> JsonSchema:
    """Return the schema of a bundle in the form of arrays; `$defs` has one of each member.

    >>> schema = build_bundle_schema()
    >>> schema["properties"]["floors"]["items"], schema["$defs"]["Floor"]["required"]
    ({'$ref': '#/$defs/Floor'}, ['id', 'asset_id', 'name'])
    """
    _, components = msgspec.json.schema_components(
        [kind.struct for kind in RECORD_TYPES], ref_template=DEFS_PREFIX + "{name}"
    )
    arrays = {
        kind.name: {
            "type": "array",
            "description": RECORDS[kind.struct.__name__],
            "items": {"$ref": DEFS_PREFIX + kind.struct.__name__},
        }
        for kind in RECORD_TYPES
    }
    records = {record.__name__: record for record in _iter_records()}
    definitions = {
        name: _complete(records[name], schema) for name, schema in sorted(components.items())
    }
    for kind in RECORD_TYPES:
        if kind.reserved_ids:
            id_schema = definitions[kind.struct.__name__]["properties"]["id"]
            id_schema["not"] = {"enum": sorted(kind.reserved_ids)}
    return {
        "$schema": DIALECT,
        "title": "Floorgate bundle",
        "description": "The buildings, floors, units and maps that a Floorgate service has.",
        "type": "object",
        "minProperties": 1,
        "additionalProperties": False,
        "properties": {
            SCHEMA_NAME: {"type": "string", "description": "The address of this schema."},
            **arrays,
        },
        "$defs": definitions,
    }


def _iter_records() -> list[type[Record]]:
    """Return the types of members and of what is nested in them."""
    found: list[Any] = []
    for kind in RECORD_TYPES:
        info = msgspec.inspect.type_info(kind.struct)
        assert isinstance(info, msgspec.inspect.StructType)
        found.append(kind.struct)
        for field in info.fields:
            item = getattr(field.type, "item_type", None)
            if isinstance(item, msgspec.inspect.StructType):
                found.append(item.cls)
    return found


def _complete(record: type[Record], schema: JsonSchema) -> JsonSchema:
    """Return the schema of a record with descriptions, examples and patterns of JSON Schema."""
    properties = {}
    for name, rule in schema["properties"].items():
        description = describe_field(record, name)
        properties[name] = {
            "description": description.text,
            **_translate_patterns(rule),
            "examples": [description.example],
        }
    return {
        "description": RECORDS[record.__name__],
        **{key: value for key, value in schema.items() if key not in {"title", "description"}},
        "properties": properties,
        "examples": [make_example(record)],
    }


def _translate_patterns(rule: Any) -> Any:
    if isinstance(rule, list):
        return [_translate_patterns(item) for item in rule]
    if not isinstance(rule, dict):
        return rule
    return {
        key: _to_ecmascript(value) if key == "pattern" else _translate_patterns(value)
        for key, value in rule.items()
    }


def _to_ecmascript(pattern: str) -> str:
    """Return a pattern without what ECMAScript does not know.

    UTF-8 cannot encode the surrogates that the patterns exclude.
    """
    return pattern.replace(r"\A", "^").replace(r"\Z", "$").replace(r"\ud800-\udfff", "")
