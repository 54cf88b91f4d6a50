"""Descriptions: everything has one, and it says what the code enforces."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import graphql
import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    is_introspection_type,
    is_specified_scalar_type,
)

from resolvers.request.input_rules import (
    ID,
    NO_NUL,
    POSITIVE,
    Each,
    Items,
    Length,
    OneOf,
    Pattern,
    Range,
    Rule,
)
from resolvers.request.requirements import BY_KIND
from schema.definitions import cost_of, definition_of, meaning_of, strawberry_field_of
from schema.introspection.descriptions import OWN, SHARED, complete_descriptions, describe_rule
from schema.permissions import requirement_of
from schema.root import GRAPHQL_SCHEMA, build_sdl

TYPES = [
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


PARTS = [part for type in TYPES for part in iter_parts(type)]
FIELDS = [part for part in PARTS if isinstance(part.definition, GraphQLField)]


def test_everything_is_described() -> None:
    assert [address for address, part in PARTS if not part.description] == []


def test_a_description_is_sentences() -> None:
    assert [
        address for address, part in PARTS if part.description.rstrip("`")[-1] not in ".:)"
    ] == []


def test_directives_are_described_with_their_arguments() -> None:
    schema = graphql.build_schema(build_sdl())
    assert {"cost", "experimental", "requires"} <= {each.name for each in schema.directives}
    for directive in schema.directives:
        assert directive.description
        assert all(argument.description for argument in directive.args.values()), directive


def test_a_field_names_the_flag_and_the_permission_that_it_needs() -> None:
    named = 0
    for address, field in FIELDS:
        requirement = requirement_of(field)
        for needed in filter(None, (requirement.flag, requirement.permission)):
            assert f"`{needed}`" in field.description.splitlines()[-1], address
            named += 1
    assert named > 20


def test_an_argument_names_the_flag_and_the_permission_that_it_needs() -> None:
    query = GRAPHQL_SCHEMA.query_type
    assert query is not None
    for name in ("attribute", "reference"):
        argument = query.fields["units"].args[name]
        requirement = definition_of(argument).requirement
        assert requirement is not None
        assert requirement.describe() in str(argument.description)


def test_a_field_says_what_it_costs() -> None:
    for address, field in FIELDS:
        cost = cost_of(strawberry_field_of(field))
        counted = field.description.partition("Counts as ")[2]
        assert counted == (f"{cost} records." if cost else ""), address


def test_an_argument_says_its_limits() -> None:
    maps = GRAPHQL_SCHEMA.type_map["Map"]
    assert isinstance(maps, GraphQLObjectType)
    nearest = maps.fields["nearest"].args["limit"]
    assert nearest.description == f"{meaning_of(nearest)} From 1 to 100."


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


def test_a_rule_that_only_its_check_can_tell_is_none() -> None:
    assert [*describe_rule(NO_NUL)] == []


def test_changes_say_what_each_kind_needs() -> None:
    query = GRAPHQL_SCHEMA.query_type
    assert query is not None
    kinds = str(query.fields["changes"].args["kinds"].description)
    for kind, requirement in BY_KIND.items():
        assert f"`{kind}` needs the flag `{requirement.flag}`" in kinds


def test_the_meaning_is_the_description_without_what_the_definition_says() -> None:
    schema = graphql.build_schema('type Query { "Of a unit." name: String }')
    complete_descriptions(schema)
    assert schema.query_type is not None
    field = schema.query_type.fields["name"]
    assert meaning_of(field) == field.description == "Of a unit."


def test_no_text_is_left_over() -> None:
    meanings = {address: meaning_of(field) for address, field in FIELDS}
    assert {address for address, text in OWN.items() if meanings.get(address) != text} == set()
    assert set(SHARED.values()) <= set(meanings.values())
