"""Enums of the schema: a value's name is its word in REST, with `_` for dots and hyphens."""

import re
from enum import StrEnum
from typing import TypeVar

import strawberry
from strawberry.types.enum import StrawberryEnumDefinition

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
