"""Enums of the schema, and the kinds of records with the limits of their fields.

The name of an enum's value is its word in REST, with `_` for dots and hyphens.
"""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar

import msgspec
import strawberry
from strawberry.types.enum import StrawberryEnumDefinition

from resolvers.request.inputs import JsonSchema
from storage.catalog import RECORD_TYPES

E = TypeVar("E", bound=StrEnum)


def name_word(word: str) -> str:
    """Return the name in GraphQL of a word.

    >>> name_word("service.asset-references.read")
    'service_asset_references_read'
    """
    return re.sub(r"[.-]", "_", word)


def find_word(enum_class: type[E], word: str | None) -> E | None:
    """Return the member of a stored word, or None: another version may have written others.

    >>> class Side(StrEnum):
    ...     LEFT = "left"
    >>> find_word(Side, "left"), find_word(Side, "above")
    (<Side.LEFT: 'left'>, None)
    """
    return None if word is None else enum_class._value2member_map_.get(word)  # type: ignore[return-value]


def graphql_enum(enum_class: type[E], description: str, **descriptions: str) -> type[E]:
    """Make a Python enum an enum of the schema; `descriptions` are those of its values, by name.

    Resolvers receive members of the enum, and may return its members or their words.

    >>> class Side(StrEnum):
    ...     LEFT = "left"
    >>> graphql_enum(Side, "A side.", left="Where the heart is.") is Side
    True
    """
    strawberry.enum(enum_class, description=description)
    definition: StrawberryEnumDefinition = enum_class.__strawberry_definition__  # type: ignore[attr-defined]
    for value in definition.values:
        value.name = name_word(value.value)
        value.description = descriptions.pop(value.name)
    assert not descriptions, descriptions
    return enum_class


class RecordKind(StrEnum):
    """The kinds of records, in the order of `RECORD_TYPES`."""

    ASSETS = "assets"
    FLOORS = "floors"
    BACKGROUNDS = "backgrounds"
    MAPS = "maps"
    UNITS = "units"
    LEVEL_TAGS = "level_tags"
    ASSET_REFERENCES = "asset_references"
    UNIT_REFERENCES = "unit_references"
    ATTRIBUTE_GROUPS = "attribute_groups"
    ATTRIBUTE_ASSIGNMENTS = "attribute_assignments"
    LOCATIONS = "locations"


graphql_enum(
    RecordKind,
    "A kind of records: an array of a bundle, and a collection.",
    assets="Properties.",
    floors="Storeys of assets.",
    backgrounds="Pictures that can be shown beneath maps.",
    maps="Unit maps.",
    units="Apartments, shops, offices.",
    level_tags="Tags that distinguish the levels of maps.",
    asset_references="Ids of assets in third-party systems.",
    unit_references="Ids of units in third-party systems.",
    attribute_groups="Groups of attributes, with these.",
    attribute_assignments="Which unit has which attribute.",
    locations="Points of interest on maps.",
)


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
