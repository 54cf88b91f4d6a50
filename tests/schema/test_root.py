"""The schema as a whole: its committed SDL, and the promises that every type keeps."""

from pathlib import Path

import graphql
import pytest
from graphql import GraphQLList, GraphQLObjectType, get_named_type

from schema import root
from schema.root import GRAPHQL_SCHEMA

SDL = Path(root.__file__).parent / "schema.graphql"

TYPES = [
    type
    for name, type in GRAPHQL_SCHEMA.type_map.items()
    if isinstance(type, GraphQLObjectType) and not name.startswith("__")
]


def test_the_committed_sdl_is_that_of_the_schema() -> None:
    """`floorgate schema > schema/schema.graphql` brings it up to date."""
    assert SDL.read_text() == root.build_sdl()


@pytest.mark.parametrize("type", TYPES, ids=lambda type: type.name)
def test_names_are_in_camel_case(type: GraphQLObjectType) -> None:
    assert type.name[0].isupper()
    for name, field in type.fields.items():
        for each in (name, *field.args):
            assert each[0].islower()
            assert "_" not in each


def test_every_page_is_asked_for_by_number_and_by_cursor() -> None:
    for type in TYPES:
        for field in type.fields.values():
            if get_named_type(field.type).name.endswith("Page"):
                assert {"page", "perPage", "after", "first"} <= set(field.args)


def test_a_list_of_records_is_always_a_page() -> None:
    def is_record(type: graphql.GraphQLNamedType) -> bool:
        return isinstance(type, GraphQLObjectType) and "id" in type.fields

    unpaged = {
        f"{type.name}.{name}"
        for type in TYPES
        for name, field in type.fields.items()
        if isinstance(graphql.get_nullable_type(field.type), GraphQLList)
        and is_record(get_named_type(field.type))
        # A payload has no more records than the input of its mutation.
        and not type.name.endswith(("Page", "Payload"))
    }
    # The attributes of a group are in its record; a payload has what the input names.
    assert unpaged <= {
        "AttributeGroup.attributes",
        "AssignUnitAttributesPayload.assignments",
        "AssignUnitAttributesPayload.units",
        "UnassignUnitAttributesPayload.removedAssignments",
        "UnassignUnitAttributesPayload.units",
    }


def test_experimental_fields_say_so_in_the_sdl() -> None:
    sdl = SDL.read_text()
    assert "directive @experimental(" in sdl
    for flag in ("references", "unit-attributes-resource", "locations-resource"):
        assert f'@experimental(flag: "{flag}")' in sdl
