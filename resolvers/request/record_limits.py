"""What bounds the fields of stored records: the limits that an import checks."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import msgspec

from resolvers.request.input_rules import JsonSchema
from storage.catalog import RECORD_TYPES

_KEYWORDS = ("maxLength", "minimum", "maximum")


@cache
def get_record_limits() -> Mapping[str, Mapping[str, JsonSchema]]:
    """Return keywords of JSON Schema by record class and field.

    >>> get_record_limits()["Unit"]["name"]
    {'maxLength': 2048}
    """
    _, components = msgspec.json.schema_components([kind.struct for kind in RECORD_TYPES])
    return {
        name: {
            field: dict(_iter_limits(schema)) for field, schema in component["properties"].items()
        }
        for name, component in components.items()
    }


def _iter_limits(schema: JsonSchema) -> Iterator[tuple[str, Any]]:
    for part in (schema, *schema.get("anyOf", ())):
        yield from ((keyword, part[keyword]) for keyword in _KEYWORDS if keyword in part)
