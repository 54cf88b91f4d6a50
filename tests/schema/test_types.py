"""The types of records, with every field of the record they show."""

from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import msgspec
import pytest
from graphql import (
    GraphQLField,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLScalarType,
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
from tests.fixtures import SEEN, UNIT_IDS
from tests.resolvers.directory import Directory

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


PAGES = [name for name in GRAPHQL_SCHEMA.type_map if name.endswith("Page")]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_named_for_its_records_and_never_holds_null(name: str) -> None:
    page = fields_of(name)
    assert [*page] == ["paging", "data", "edges", "pageInfo", "totalCount"]
    assert str(page["data"].type) == f"[{name.removesuffix('Page')}!]!"
    assert str(page["paging"].type) == "Paging!"
    assert str(page["edges"].type) == f"[{name.removesuffix('Page')}Edge!]!"
    assert str(page["pageInfo"].type) == "PageInfo!"
    assert str(page["totalCount"].type) == "Int"


CONNECTION = """query ($first: Int, $after: String) {
    units(first: $first, after: $after) {
        totalCount
        edges { cursor node { id } }
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    }
}"""


@pytest.mark.anyio
async def test_a_loop_that_passes_only_the_end_cursor_ends(directory: Directory) -> None:
    found: list[str] = []
    after, first = None, 1
    while True:
        page = (await directory.read(CONNECTION, [SEEN], first=first, after=after))["units"]
        info = page["pageInfo"]
        assert info["hasPreviousPage"] is (after is not None)
        assert info["endCursor"] == page["edges"][-1]["cursor"]
        assert page["totalCount"] == len(UNIT_IDS)
        found += [edge["node"]["id"] for edge in page["edges"]]
        if not info["hasNextPage"]:
            break
        after, first = info["endCursor"], first + 1  # sizes may differ
    assert found == UNIT_IDS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<svg/>", b"<svg/>"),
        ("<svg>\u00e9</svg>", "<svg>\u00e9</svg>".encode()),
        ("<?xml version='1.0' encoding='latin-1' standalone='no'?><svg/>",
         b"<?xml version='1.0' standalone='no'?><svg/>"),
        ('\ufeff<?xml version="1.0" encoding="utf-16"?>',
         '\ufeff<?xml version="1.0"?>'.encode()),
        ('<svg encoding="x"/>', b'<svg encoding="x"/>'),
        (b'<?xml version="1.0" encoding="latin-1"?>', b'<?xml version="1.0" encoding="latin-1"?>'),
    ],
)  # fmt: skip
def test_text_is_encoded_as_utf8_and_bytes_stay_as_they_were_sent(
    text: str | bytes, expected: bytes
) -> None:
    assert _svg_document().coerce_input_value(text) == expected


def test_a_drawing_must_be_text() -> None:
    with pytest.raises(ValueError, match="must be the text of an SVG document"):
        _svg_document().coerce_input_value(1)


def _svg_document() -> GraphQLScalarType:
    scalar = GRAPHQL_SCHEMA.type_map["SvgDocument"]
    assert isinstance(scalar, GraphQLScalarType)
    return scalar
