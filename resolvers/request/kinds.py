"""Enums of the schema, and the kinds of records with the limits of their fields.

The name of an enum's value is its word in REST, with `_` for dots and hyphens.
"""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from typing import Any, Self, TypeVar

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


class DescribedEnum(StrEnum):
    """A base class of enums of the schema: each member has a word and its description."""

    _value_: str
    description: str

    def __new__(cls, word: str, description: str = "") -> Self:
        """Return the member of a word."""
        member = str.__new__(cls, word)
        member._value_, member.description = word, description
        return member


D = TypeVar("D", bound=DescribedEnum)


def graphql_enum(enum_class: type[D]) -> type[D]:
    """Make a Python enum an enum of the schema; its docstring is the description.

    Resolvers receive members of the enum, and may return its members or their words.

    >>> @graphql_enum
    ... class Side(DescribedEnum):
    ...     "A side."
    ...     LEFT = "left", "Where the heart is."
    >>> Side.LEFT.value, Side.LEFT.description
    ('left', 'Where the heart is.')
    """
    descriptions = {name_word(member): member.description for member in enum_class}
    return describe_enum(enum_class, " ".join((enum_class.__doc__ or "").split()), **descriptions)


def describe_enum(enum_class: type[E], description: str, **descriptions: str) -> type[E]:
    """Make an enum of another package one of the schema; `descriptions` are by a value's name."""
    strawberry.enum(enum_class, description=description)
    definition: StrawberryEnumDefinition = enum_class.__strawberry_definition__  # type: ignore[attr-defined]
    for value in definition.values:
        value.name = name_word(value.value)
        value.description = descriptions.pop(value.name)
    assert not descriptions, descriptions
    return enum_class


@graphql_enum
class RecordKind(DescribedEnum):
    """A kind of records: an array of a bundle, and a collection."""

    ASSETS = "assets", "Properties."
    FLOORS = "floors", "Storeys of assets."
    BACKGROUNDS = "backgrounds", "Pictures that can be shown beneath maps."
    MAPS = "maps", "Unit maps."
    UNITS = "units", "Apartments, shops, offices."
    LEVEL_TAGS = "level_tags", "Tags that distinguish the levels of maps."
    ASSET_REFERENCES = "asset_references", "Ids of assets in third-party systems."
    UNIT_REFERENCES = "unit_references", "Ids of units in third-party systems."
    ATTRIBUTE_GROUPS = "attribute_groups", "Groups of attributes, with these."
    ATTRIBUTE_ASSIGNMENTS = "attribute_assignments", "Which unit has which attribute."
    LOCATIONS = "locations", "Points of interest on maps."


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
