"""The schema as a whole: its committed SDL, its descriptions, and what every type keeps to."""

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import graphql
import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLObjectType,
    get_named_type,
    is_introspection_type,
    is_specified_scalar_type,
)

from resolvers.request.inputs import ID, POSITIVE, Each, Items, Length, OneOf, Pattern, Range, Rule
from schema import root
from schema.definitions import cost_of, meaning_of, requirement_of, strawberry_field_of
from schema.descriptions import OWN, SHARED, describe_rule
from schema.execution import Caller, Context, Executor
from schema.root import GRAPHQL_SCHEMA
from storage.records.visibility import ALL_ASSETS
from tests.rest.packages import Packages, install

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


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_the_introspection_of_any_client_gets_to_the_end_of_each_type(
    type: GraphQLObjectType,
) -> None:
    """That of gql, sgqlc and rover asks for seven `ofType`, one in another."""
    for name, field in type.fields.items():
        wrapped, count = field.type, 0
        while hasattr(wrapped, "of_type"):
            wrapped, count = wrapped.of_type, count + 1
        assert count <= 7, name


def test_experimental_fields_say_so_in_the_sdl() -> None:
    sdl = SDL.read_text()
    assert "directive @experimental(" in sdl
    for flag in ("references", "unit-attributes-resource", "locations-resource"):
        assert f'@experimental(flag: "{flag}")' in sdl


NAMED_TYPES = [
    type
    for type in GRAPHQL_SCHEMA.type_map.values()
    if not is_introspection_type(type) and not is_specified_scalar_type(type)
]


class Part(NamedTuple):
    """A part of the schema, and how its address reads."""

    address: str
    definition: Any


def iter_parts(type: Any) -> Iterator[Part]:
    """Yield a type with its fields, their arguments, and its values."""
    yield Part(type.name, type)
    if isinstance(type, GraphQLEnumType):
        for name, value in type.values.items():
            yield Part(f"{type.name}.{name}", value)
    if isinstance(type, GraphQLObjectType | GraphQLInterfaceType | GraphQLInputObjectType):
        for name, field in type.fields.items():
            yield Part(f"{type.name}.{name}", field)
            for argument, definition in getattr(field, "args", {}).items():
                yield Part(f"{type.name}.{name}({argument})", definition)


PARTS = [part for type in NAMED_TYPES for part in iter_parts(type)]
FIELDS = [part for part in PARTS if isinstance(part.definition, GraphQLField)]


def test_everything_is_described() -> None:
    assert [address for address, part in PARTS if not part.description] == []


def test_a_description_is_sentences() -> None:
    assert [
        address for address, part in PARTS if part.description.rstrip("`")[-1] not in ".:)"
    ] == []


def test_a_field_names_the_flag_and_the_permission_that_it_needs() -> None:
    named = 0
    for address, field in FIELDS:
        requirement = requirement_of(field)
        for needed in filter(None, (requirement.flag, requirement.permission)):
            assert f"`{needed}`" in field.description.splitlines()[-1], address
            named += 1
    assert named > 20


def test_a_field_says_what_it_costs() -> None:
    for address, field in FIELDS:
        cost = cost_of(strawberry_field_of(field))
        counted = field.description.partition("Counts as ")[2]
        assert counted == (f"{cost} records." if cost else ""), address


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        (Range(0, 60), "From 0 to 60."),
        (Range(1, 2**31 - 1), "At least 1."),
        (Length(0, 255), "At most 255 characters."),
        (Length(64, 64), "64 characters."),
        (Items(1, 50, "waypoints"), "1 to 50 waypoints."),
        (OneOf("foot", "wheelchair"), "One of `foot`, `wheelchair`."),
        (Each(OneOf("stairs", "lifts")), "Each is one of `stairs`, `lifts`."),
        (Each(Length(1, 3)), "1 to 3 characters each."),
        (Pattern("[a-z]+", "lowercase letters"), "Lowercase letters."),
        (ID, "1 to 255 characters."),
        (Each(ID), "1 to 255 characters each."),
        (POSITIVE, "Above 0."),
    ],
)
def test_a_rule_is_a_sentence(rule: Rule, sentence: str) -> None:
    assert [*describe_rule(rule)] == [sentence]


def test_no_text_is_left_over() -> None:
    meanings = {address: meaning_of(field) for address, field in FIELDS}
    assert {address for address, text in OWN.items() if meanings.get(address) != text} == set()
    assert set(SHARED.values()) <= set(meanings.values())


LOCATIONS_OF_RELEASES = {
    "QUERY", "MUTATION", "SUBSCRIPTION", "FIELD", "FRAGMENT_DEFINITION", "FRAGMENT_SPREAD",
    "INLINE_FRAGMENT", "VARIABLE_DEFINITION", "SCHEMA", "SCALAR", "OBJECT", "FIELD_DEFINITION",
    "ARGUMENT_DEFINITION", "INTERFACE", "UNION", "ENUM", "ENUM_VALUE", "INPUT_OBJECT",
    "INPUT_FIELD_DEFINITION",
}  # fmt: skip
"""Section 3.13 of the specification, October 2021 and September 2025."""


async def introspect(*, compile_queries: bool) -> Any:
    executor = Executor(GRAPHQL_SCHEMA, compile_queries=compile_queries)
    query = graphql.get_introspection_query(input_value_deprecation=True)
    operation = await executor.load_client_operation(query, None, variables={})
    context = Context(Caller("key", ALL_ASSETS), _store=None)  # type: ignore[arg-type]
    result = await executor.run(operation, {}, context)
    assert not result.errors
    assert result.data
    return result.data


@pytest.mark.parametrize("compile_queries", [True, False])
def test_clients_of_the_released_specification_read_the_schema(
    compile_queries: bool,
) -> None:
    introspected = asyncio.run(introspect(compile_queries=compile_queries))
    directives = {each["name"]: each for each in introspected["__schema"]["directives"]}
    for name, directive in directives.items():
        assert set(directive["locations"]) <= LOCATIONS_OF_RELEASES, name
    graphql.build_client_schema(introspected)
    assert {"deprecated", "cost", "experimental", "requires", "endpoint"} <= set(directives)
    for name in ("endpoint", "body", "parameter"):
        assert all(argument["description"] for argument in directives[name]["args"])
    [flag] = directives["experimental"]["args"]
    assert (flag["name"], flag["description"]) == ("flag", "The flag.")


TOOLS = Path(__file__).with_name("tools")


@pytest.fixture(scope="module")
def packages() -> Packages:
    """The linter, or skip."""
    return install(TOOLS)


def lint(packages: Packages, sdl: str, directory: Path) -> str:
    """Lint a schema with our configuration, in a folder of its own. Raises AssertionError."""
    path = directory / "linted" / "schema.graphql"
    path.parent.mkdir()
    path.write_text(sdl)
    config = (TOOLS / "eslint.config.js").read_text()
    shutil.copy(TOOLS / "package.json", directory)
    (directory / "node_modules").symlink_to(TOOLS / "node_modules")
    (directory / "eslint.config.js").write_text(
        config.replace("../../../../schema/schema.graphql", "linted/schema.graphql")
    )
    linter = Packages(packages.node_directory, directory)
    return linter.tool("eslint", "--max-warnings", 0, "linted/schema.graphql")


@pytest.mark.slow
def test_the_schema_keeps_the_recommended_rules(packages: Packages, tmp_path: Path) -> None:
    assert lint(packages, SDL.read_text(), tmp_path) == ""
