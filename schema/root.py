"""The schema: every resource's queries and mutations in one."""

import strawberry
from graphql import GraphQLSchema
from strawberry.schema.config import StrawberryConfig

from schema.assets import AssetQueries
from schema.attributes import AttributeMutations, AttributeQueries
from schema.catalog import CatalogMutations
from schema.keys import KeyMutations, KeyQueries
from schema.maps import MapQueries
from schema.permissions import guard_fields
from schema.processing import ProcessingMutations
from schema.references import ReferenceQueries
from schema.scalars import SCALAR_DEFINITIONS
from schema.units import UnitQueries


@strawberry.type(description="The directory as the API key sees it.")
class Query(AssetQueries, UnitQueries, MapQueries, ReferenceQueries, AttributeQueries, KeyQueries):
    pass


@strawberry.type(description="What changes the directory.")
class Mutation(AttributeMutations, CatalogMutations, KeyMutations, ProcessingMutations):
    pass


STRAWBERRY_SCHEMA = strawberry.Schema(
    query=Query, mutation=Mutation, config=StrawberryConfig(scalar_map=SCALAR_DEFINITIONS)
)
GRAPHQL_SCHEMA: GraphQLSchema = STRAWBERRY_SCHEMA._schema
"""The graphql-core schema beneath, which `schema.execution` runs operations on."""
guard_fields(GRAPHQL_SCHEMA)


def build_sdl() -> str:
    """The schema in GraphQL's own language."""
    return STRAWBERRY_SCHEMA.as_str() + "\n"
