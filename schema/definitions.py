"""What the strawberry definitions add to the fields and arguments of the graphql-core schema."""

import strawberry
from graphql import (
    GraphQLArgument,
    GraphQLField,
    GraphQLInputField,
    GraphQLNamedType,
    GraphQLObjectType,
)
from strawberry.schema.schema_converter import GraphQLCoreConverter
from strawberry.schema_directive import Location
from strawberry.types.field import StrawberryField

from resolvers.request.input_rules import InputDefinition

# What fields cost, in records; a record takes some 5 microseconds of CPU time. The worst case of
# each was measured: a matrix of 50 positions takes up to 20 ms, the search for the nearest of
# thousands of locations 9 ms, a route 4 ms, the areas within reach on six floors 100 ms.
AREAS_COST = 20_000
MATRIX_COST = 5_000
NEAREST_COST = 2_000
NEAREST_FROM_SOURCES_COST = 5_000
"""Of up to 20 sources, which take up to 2.7 times as long as one."""
ROUTE_COST = 1_000
DRAWING_COST = 500
"""Of the drawing of a map, which is read once and then kept for a while."""
SHAPE_COST = 10
LOAD_COST = 1_000
"""Of a field that needs the network of a map, as it is or without what is avoided."""
REPORT_COST = 100
"""Of the report on a floor plan, which may be a megabyte long."""
STEPS_COST = 2_000
GEOJSON_COST = 10_000
"""Of all levels of a map as GeoJSON, which is drawn in another process, once for a drawing."""
PICTURE_COST = 5_000
"""Of a picture of a level, which is drawn in another process; some have a route, too."""
PROCESS_COST = 10_000
"""Of a field with work that takes seconds, in another process or in MongoDB."""


COUNT_COST = 100
"""Of counting a list of up to 100,000 records, which takes MongoDB up to 50 ms."""


PAGE_DATA_FIELD = "data"
MEANING = "meaning"
"""Key of graphql-core's extensions: a description without limits, requirements and cost."""
NULL_ON_ERROR = "null_on_error"
"""Key of strawberry's metadata: whether a field is null only if it has an error."""

PAGE_EDGES_FIELD = "edges"
EDGE_NODE_FIELD = "node"
UNCOUNTED_TYPES = frozenset({"Paging", "PageInfo"})
"""Objects that each page has once, which are no records."""


@strawberry.schema_directive(
    locations=[Location.FIELD_DEFINITION],
    description="What resolving the field costs, where a record that is returned costs 1.",
)
class Cost:
    # A string, as in the GraphQL Cost Directives Specification (IBM), so that tools can read it.
    weight: str = strawberry.field(description="How many records; a number.")


def is_page(named_type: GraphQLNamedType | None) -> bool:
    """Return whether a type is that of one page of a list; its `data` are the records."""
    return isinstance(named_type, GraphQLObjectType) and named_type.name.endswith("Page")


def is_edge(named_type: GraphQLNamedType | None) -> bool:
    """Return whether a type is that of a record of a page with its cursor."""
    return isinstance(named_type, GraphQLObjectType) and named_type.name.endswith("Edge")


def strawberry_field_of(definition: GraphQLField | None) -> StrawberryField | None:
    """Return the strawberry field that a field of the schema was made from, if it was."""
    field = definition and definition.extensions.get(GraphQLCoreConverter.DEFINITION_BACKREF)
    return field if isinstance(field, StrawberryField) else None


def is_null_on_error(definition: GraphQLField | None) -> bool:
    """Return whether a field is null only if it has an error, and never in a success."""
    field = strawberry_field_of(definition)
    return bool(field and field.metadata.get(NULL_ON_ERROR))


def is_loaded(field: StrawberryField) -> bool:
    """Return whether a field has a resolver that waits, or depends on arguments.

    Another one only shows parts of its record.
    """
    resolver = field.base_resolver
    return resolver is not None and (resolver.is_async or bool(field.arguments))


def meaning_of(definition: GraphQLField | GraphQLArgument | GraphQLInputField) -> str:
    """Return what a field or an argument is, without what follows from its definition."""
    return definition.extensions.get(MEANING) or definition.description or ""


def cost_of(field: StrawberryField | None) -> int:
    """Return what a field costs by itself, without the records that it returns."""
    directives = field.directives if field else ()
    return next((int(item.weight) for item in directives if isinstance(item, Cost)), 0)


def definition_of(argument: GraphQLArgument | GraphQLInputField) -> InputDefinition:
    """Return the rules and the example of an argument or of an input field."""
    definition = argument.extensions.get(GraphQLCoreConverter.DEFINITION_BACKREF)
    return InputDefinition.from_metadata(definition.metadata) if definition else InputDefinition()
