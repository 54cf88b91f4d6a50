"""How a mutation's `input` and payload are made of its resolver."""

from typing import Annotated, NamedTuple

import pytest
import strawberry
from graphql import GraphQLInputObjectType, GraphQLNonNull, GraphQLObjectType

from resolvers.request.context import Info
from resolvers.request.errors import InvalidInputError
from resolvers.request.inputs import Length, argument
from schema.fields import mutation_field
from schema.root import GRAPHQL_SCHEMA

pytestmark = pytest.mark.anyio


class Context:
    """Counts how often mutations said that records may have changed."""

    has_checked_inputs = False

    def __init__(self) -> None:
        self.ended = 0

    def end_loads(self) -> None:
        self.ended += 1


class Renamed(NamedTuple):
    """What `rename` returns."""

    label: str


@strawberry.type(description="The new label.")
class RenamePayload:
    label: str


async def rename(
    info: Info,
    unit_id: Annotated[strawberry.ID, argument("Of the unit.")],
    name: Annotated[str, argument("What it is called.", Length(1, 5))] = "none",
) -> Renamed:
    """Give a unit another name."""
    if name == "taken":
        raise InvalidInputError(**{"name": "is another's", "unitId": "has a name"})
    return Renamed(f"{unit_id} {name}")


@strawberry.type
class Query:
    ok: bool = True


@strawberry.type
class Mutation:
    rename = mutation_field("Rename", rename, RenamePayload)


SCHEMA = strawberry.Schema(query=Query, mutation=Mutation)
SDL = '''type Mutation {
  """Give a unit another name."""
  rename(
    """What the mutation needs; see the fields."""
    input: RenameInput!
  ): RenamePayload
}

type Query {
  ok: Boolean!
}

"""Input of `rename`."""
input RenameInput {
  """Of the unit."""
  unitId: ID!

  """What it is called."""
  name: String! = "none"
}

"""The new label."""
type RenamePayload {
  label: String!
}'''


def test_parameters_become_fields_of_the_input_with_their_texts_and_defaults() -> None:
    assert SCHEMA.as_str() == SDL


async def test_members_of_the_input_are_the_parameters() -> None:
    context = Context()
    text = """mutation ($input: RenameInput!) {
        a: rename(input: $input) { label } b: rename(input: { unitId: "2" }) { label }
    }"""
    given = {"input": {"unitId": "1", "name": "hall"}}
    result = await SCHEMA.execute(text, given, context_value=context)
    assert result.errors is None
    assert result.data == {"a": {"label": "1 hall"}, "b": {"label": "2 none"}}
    assert context.ended == 2


async def test_errors_name_members_from_the_input_on_and_leave_other_mutations_their_data() -> None:
    text = """mutation {
        a: rename(input: { unitId: "1" }) { label }
        b: rename(input: { unitId: "2", name: "taken" }) { label }
        c: rename(input: { unitId: "3", name: "too long" }) { label }
        d: rename(input: { unitId: "4" }) { label }
    }"""
    result = await SCHEMA.execute(text, context_value=Context())
    assert result.data == {"a": {"label": "1 none"}, "b": None, "c": None, "d": {"label": "4 none"}}
    assert result.errors is not None
    taken, too_long = (error.extensions and error.extensions["fields"] for error in result.errors)
    assert taken == {"input.name": ["is another's"], "input.unitId": ["has a name"]}
    assert too_long == {"input.name": ["must have 1 to 5 characters, not 8"]}


def test_every_mutation_takes_its_own_input_and_returns_its_own_payload() -> None:
    assert GRAPHQL_SCHEMA.mutation_type is not None
    for name, field in GRAPHQL_SCHEMA.mutation_type.fields.items():
        type_name = name[0].upper() + name[1:]
        assert list(field.args) == ["input"]
        given = field.args["input"].type
        assert isinstance(given, GraphQLNonNull)
        assert isinstance(given.of_type, GraphQLInputObjectType)
        assert given.of_type.name == f"{type_name}Input"
        assert all(member.description for member in given.of_type.fields.values()), name
        assert isinstance(field.type, GraphQLObjectType), f"{name} must be nullable"
        assert field.type.name == f"{type_name}Payload"
