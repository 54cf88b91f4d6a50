"""Response schemas read off an operation and the GraphQL schema."""

from enum import Enum
from typing import Any

import jsonschema_rs
import pytest
import strawberry
from graphql import (
    GraphQLField,
    GraphQLInterfaceType,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLSchema,
    get_named_type,
)

from resolvers.routes import MAX_NEAREST
from rest.openapi.example_values import make_example
from rest.openapi.json_schemas import MissingDescriptionError, ResultSchemaReader, hoist_titled
from rest.openapi.map_schemas import COMPONENT_SCHEMAS
from schema.execution import Executor
from schema.operation_inputs import get_output_limits
from schema.root import GRAPHQL_SCHEMA


@strawberry.enum
class Side(Enum):
    NORTH = "north"
    SOUTH = "south"


@strawberry.type(description="A way in.")
class Door:
    id: strawberry.ID
    width_feet: float | None
    side: Side
    keys: list[str | None] = strawberry.field(description="What opens it.")


@strawberry.type(description="What doors lead into.")
class Room:
    name: str
    doors: list[Door]
    main_door: Door | None = strawberry.field(description="Where guests come in.")
    secret: strawberry.scalars.Base64


@strawberry.type
class Query:
    room: Room | None


EXECUTOR = Executor(strawberry.Schema(Query)._schema)
LIMITS = {"pattern", "maxItems", "maxLength", "minimum", "maximum"}


def without_limits(schema: Any) -> Any:
    """The schema without what bounds texts, numbers and lists."""
    if isinstance(schema, list):
        return [*map(without_limits, schema)]
    if not isinstance(schema, dict):
        return schema
    return {name: without_limits(part) for name, part in schema.items() if name not in LIMITS}


def described(selection: str, path: str = "room") -> dict[str, Any]:
    operation = EXECUTOR.prepare(f"query Q {{ room {{ {selection} }} }}")
    read = ResultSchemaReader(EXECUTOR.schema, operation).read_schema(path.split("."))
    return dict(without_limits(read))


def test_a_list_with_a_limit_has_at_most_as_many_items() -> None:
    unit_map = GRAPHQL_SCHEMA.type_map["Map"]
    assert isinstance(unit_map, GraphQLObjectType)
    assert get_output_limits(unit_map, unit_map.fields["nearest"]) == {"maxItems": MAX_NEAREST}


def test_a_field_is_described_by_its_alias_and_its_type() -> None:
    door = described("title: name doors { id width: widthFeet } mainDoor { side }")["properties"]
    assert door["title"] == {"type": "string"}
    assert door["doors"]["items"] == {
        "title": "Door",
        "description": "A way in.",
        "type": "object",
        "required": ["id", "width"],
        "properties": {
            "id": {"type": "string", "minLength": 1},
            "width": {"type": ["number", "null"], "format": "double"},
        },
    }
    assert door["mainDoor"]["description"] == "Where guests come in."
    main, null = door["mainDoor"]["anyOf"]
    side = {"title": "Side", "type": "string", "enum": ["NORTH", "SOUTH"]}
    assert (main["properties"], null) == ({"side": side}, {"type": "null"})


def test_words_that_may_become_more_are_not_all_there_are() -> None:
    executor = Executor(GRAPHQL_SCHEMA)
    operation = executor.prepare("query Q { changes { data { operation } } }")
    schema = ResultSchemaReader(GRAPHQL_SCHEMA, operation).read_schema(
        ["changes", "data", "operation"]
    )
    assert "enum" not in schema
    assert "created" in schema["x-extensible-enum"]


def test_descriptions_come_from_the_schema() -> None:
    keys = described("mainDoor { keys }", "room.mainDoor")["properties"]["keys"]
    assert keys == {
        "type": "array",
        "items": {"type": ["string", "null"]},
        "description": "What opens it.",
    }


FRAGMENTS = "fragment Entrance on Door { id } query Q { room { main: mainDoor { ...Entrance } } }"


def test_a_fragment_becomes_a_component_of_its_name() -> None:
    selected = ResultSchemaReader(EXECUTOR.schema, EXECUTOR.prepare(FRAGMENTS))
    components: dict[str, Any] = {}
    assert hoist_titled(selected.read_schema(["room", "main"]), components) == {
        "$ref": "#/components/schemas/Entrance"
    }
    assert components["Entrance"]["description"] == "A way in."
    assert [*components["Entrance"]["properties"]] == ["id"]


def test_a_component_that_may_be_null_says_so_next_to_its_reference() -> None:
    selected = ResultSchemaReader(EXECUTOR.schema, EXECUTOR.prepare(FRAGMENTS))
    components: dict[str, Any] = {}
    hoist_titled(selected.read_schema(["room"]), components)
    assert components["Room"]["properties"]["main"]["anyOf"] == [
        {"$ref": "#/components/schemas/Entrance"},
        {"type": "null"},
    ]


def test_a_property_may_be_called_title() -> None:
    components: dict[str, Any] = {}
    hoist_titled(described("title: name"), components)
    assert components["Room"]["properties"] == {"title": {"type": "string"}}


def test_two_different_components_of_one_name_are_rejected() -> None:
    components = {"Door": {"type": "object"}}
    with pytest.raises(MissingDescriptionError, match="two different schemas are titled Door"):
        hoist_titled({"title": "Door", "type": "array"}, components)


def test_a_scalar_without_a_json_schema_is_named() -> None:
    with pytest.raises(MissingDescriptionError, match="Base64"):
        described("secret")


def test_a_field_that_may_be_excluded_is_not_required() -> None:
    document = """query Q($with: Boolean = false) { room { ...Room } }
        fragment Room on Room { name doors @include(if: $with) { id } }"""
    reader = ResultSchemaReader(EXECUTOR.schema, EXECUTOR.prepare(document))
    schema = reader.read_schema(["room"])
    assert schema["required"] == ["name"]
    assert [*schema["properties"]] == ["name", "doors"]


def merged(selection: str) -> dict[str, Any]:
    """The schema of a record of several types, or of a unit."""
    executor = Executor(GRAPHQL_SCHEMA)
    document = f"""query Q($id: ID!, $with: Boolean = false) {{
        {selection} other: unit(id: $id) {{ id @skip(if: $with) ...Named }} }}
        fragment Named on Unit {{ name floor {{ name }} }}"""
    reader = ResultSchemaReader(GRAPHQL_SCHEMA, executor.prepare(document))
    return reader.read_schema(["it"])


@pytest.mark.parametrize(
    ("selection", "required", "optional"),
    [
        ("it: node(id: $id) { nodeId ... on Unit { name } }", ["nodeId"], ["name"]),
        ("it: node(id: $id) { ...Named ... on Map { name } }", [], ["name", "floor"]),
        ("it: node(id: $id) { ... on Node { nodeId } __typename }", ["nodeId", "__typename"], []),
        (
            "it: unit(id: $id) { id ... on Node { nodeId } }",
            ["id", "nodeId"],
            [],
        ),
        ("it: unit(id: $id) { id @skip(if: $with) name ...Named }", ["name", "floor"], ["id"]),
        ("it: unit(id: $id) { id ...Named @include(if: $with) }", ["id"], ["name", "floor"]),
        ("it: unit(id: $id) { ... @include(if: $with) { id name } id }", ["id"], ["name"]),
    ],
)
def test_members_of_one_type_or_under_a_condition_may_be_missing(
    selection: str, required: list[str], optional: list[str]
) -> None:
    schema = merged(selection)
    assert sorted(schema["required"]) == sorted(required)
    assert sorted(schema["properties"]) == sorted(required + optional)


def test_selections_of_one_field_are_merged() -> None:
    first = (
        "it: unit(id: $id) { floor { id } ... @include(if: $with) { floor { label } } ...Named }"
    )
    for selection in (first, "it: unit(id: $id) { floor { id } } " + first):
        floor, _ = merged(selection)["properties"]["floor"]["anyOf"]
        assert [*floor["properties"]] == ["id", "label", "name"]
        assert floor["required"] == ["id", "label", "name"]


def select_all(type: GraphQLObjectType, variables: dict[str, str], depth: int = 2) -> str:
    """A selection of all fields of a type, with a variable for each argument."""
    fields = ["__typename"]
    for name, field in type.fields.items():
        inner = get_named_type(field.type)
        below = ""
        if isinstance(inner, GraphQLInterfaceType):
            below = " { __typename }"
        elif isinstance(inner, GraphQLObjectType):
            below = f" {{ {select_all(inner, variables, depth - 1) if depth else '__typename'} }}"
        given = []
        for argument, definition in field.args.items():
            if isinstance(definition.type, GraphQLNonNull):
                variables[variable := f"v{len(variables)}"] = str(definition.type)
                given.append(f"{argument}: ${variable}")
        fields.append(name + (f"({', '.join(given)})" if given else "") + below)
    return " ".join(fields)


OUTPUT_TYPES = [
    type
    for type in GRAPHQL_SCHEMA.type_map.values()
    if isinstance(type, GraphQLObjectType) and not type.name.startswith("__")
]


@pytest.mark.parametrize("type", OUTPUT_TYPES, ids=str)
def test_every_type_of_results_is_described_with_an_example_that_fits(
    type: GraphQLObjectType,
) -> None:
    root = GraphQLObjectType("Root", {"it": GraphQLField(type)})
    schema = GraphQLSchema(root, types=[*GRAPHQL_SCHEMA.type_map.values()])
    variables: dict[str, str] = {}
    selection = select_all(type, variables)
    declared = ", ".join(f"${name}: {each}" for name, each in variables.items())
    text = f"query Q{f'({declared})' if declared else ''} {{ it {{ {selection} }} }}"
    operation = Executor(schema, compile_queries=False).prepare(text)
    described = ResultSchemaReader(schema, operation).read_schema(["it"])
    complete = {**described, "components": {"schemas": COMPONENT_SCHEMAS}}
    validator = jsonschema_rs.Draft202012Validator(complete, validate_formats=True)
    assert [error.message for error in validator.iter_errors(make_example(described))] == []
