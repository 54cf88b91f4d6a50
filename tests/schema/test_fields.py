"""GraphQL types that the schema derives from what resolvers return."""

from typing import Annotated, NamedTuple

import strawberry
from msgspec import Struct

from schema.fields import output_type, resolver_field


class Step(Struct, frozen=True):
    """One step of a walk."""

    floor_id: str
    connector_id: str | None
    feet: Annotated[float, "How long it is."]


class Walk(NamedTuple):
    """A walk."""

    name: str
    steps: list[Step]


def find_walk(name: str) -> Walk:
    """A walk by its name."""
    return Walk(name, [Step("lower", None, 2.5)])


SDL = '''type Query {
  """A walk by its name."""
  walk(name: String!): Walk
}

"""One step of a walk."""
type Step {
  floorId: ID!
  connectorId: ID

  """How long it is."""
  feet: Float!
}

"""A walk."""
type Walk {
  name: String!
  steps: [Step!]!
}'''


@strawberry.type
class Query:
    walk = resolver_field(find_walk, output_type(Walk))


SCHEMA = strawberry.Schema(query=Query)


def test_a_result_type_becomes_a_graphql_type_with_its_texts_and_ids() -> None:
    assert SCHEMA.as_str() == SDL


def test_results_are_resolved_without_conversion() -> None:
    result = SCHEMA.execute_sync('{ walk(name: "home") { name steps { floorId feet } } }')
    assert result.data == {"walk": {"name": "home", "steps": [{"floorId": "lower", "feet": 2.5}]}}


def test_a_result_type_has_one_graphql_type() -> None:
    assert output_type(Step) is output_type(Step)
