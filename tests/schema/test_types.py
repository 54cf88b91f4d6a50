"""The types of records, with every field of the record they show."""

from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import msgspec
import pytest
from graphql import (
    GraphQLField,
    GraphQLNonNull,
    GraphQLObjectType,
    get_named_type,
)
from strawberry.schema.schema_converter import GraphQLCoreConverter

from schema.root import GRAPHQL_SCHEMA
from storage.administration.api_keys import ApiKey
from storage.catalog import (
    Asset,
    AssetReference,
    Assignment,
    Attribute,
    AttributeGroup,
    Background,
    Floor,
    LevelTag,
    LevelTagValue,
    Location,
    LocationFloor,
    LocationTag,
    Map,
    Unit,
    UnitReference,
)

RECORDS: dict[str, Any] = {
    record.__name__: record
    for record in (
        ApiKey,
        Asset,
        AssetReference,
        Assignment,
        Attribute,
        AttributeGroup,
        Background,
        Floor,
        LevelTag,
        LevelTagValue,
        Location,
        LocationFloor,
        LocationTag,
        Map,
        Unit,
        UnitReference,
    )
}
SHOWN_OTHERWISE = {
    "LevelTag.map_id": "a level tag is only reached from its map",
    "Map.source": "the digest of a file: `parsed` and `url` show what is in it",
    "Unit.map_ids": "`maps` lists them, and every map of the asset for None",
}
"""Fields of records that have no field of their own in GraphQL."""
OTHER_NAMES = {"LocationFloor.id": "floorId"}


def fields_of(name: str) -> dict[str, GraphQLField]:
    type = GRAPHQL_SCHEMA.type_map[name]
    assert isinstance(type, GraphQLObjectType)
    fields: dict[str, GraphQLField] = type.fields
    return fields


def is_resolved(field: GraphQLField) -> bool:
    """Whether a resolver answers the field, and not the record itself."""
    definition = field.extensions[GraphQLCoreConverter.DEFINITION_BACKREF]
    return definition.base_resolver is not None


FIELDS = [
    (name, field)
    for name, record in RECORDS.items()
    for field in msgspec.structs.fields(record)
    if f"{name}.{field.name}" not in SHOWN_OTHERWISE
]


def graphql_name(record: str, field: str) -> str:
    first, *others = field.split("_")
    camel_case = first + "".join(word.capitalize() for word in others)
    return OTHER_NAMES.get(f"{record}.{field}", camel_case)


@pytest.mark.parametrize(
    ("record", "field"), FIELDS, ids=[f"{name}.{field.name}" for name, field in FIELDS]
)
def test_a_field_of_a_record_is_a_field_of_its_type(
    record: str, field: msgspec.structs.FieldInfo
) -> None:
    shown = fields_of(record)[graphql_name(record, field.name)]
    can_be_none = get_origin(field.type) in (Union, UnionType) and NoneType in get_args(field.type)
    assert isinstance(shown.type, GraphQLNonNull) is not can_be_none
    is_id = field.name == "id" or field.name.endswith(("_id", "_ids"))
    assert (get_named_type(shown.type).name == "ID") is (
        is_id or (record, field.name) == ("LevelTagValue", "value")
    )
    assert (get_named_type(shown.type).name == "DateTime") is field.name.endswith("_at")


@pytest.mark.parametrize("name", RECORDS)
def test_what_a_record_does_not_have_a_resolver_finds(name: str) -> None:
    own = {graphql_name(name, field.name) for field in msgspec.structs.fields(RECORDS[name])}
    others = {shown for shown, field in fields_of(name).items() if not is_resolved(field)}
    assert others <= own
