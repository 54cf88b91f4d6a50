"""Directives as clients of the released specification can read them."""

from typing import Any

from graphql import GraphQLDirective, GraphQLSchema
from strawberry.schema.schema_converter import GraphQLCoreConverter

DRAFT_LOCATIONS = frozenset({"DIRECTIVE_DEFINITION"})
"""Locations that are not in the specification of September 2025, but that graphql-core 3.3 lists.

graphql-core 3.2, and so ariadne-codegen and schemathesis, cannot read a schema that has them.
"""


def complete_directives(schema: GraphQLSchema) -> None:
    """Describe the arguments of a schema's directives, and leave out locations of drafts."""
    schema.directives = tuple(map(_without_draft_locations, schema.directives))
    for directive in schema.directives:
        definition = directive.extensions.get(GraphQLCoreConverter.DEFINITION_BACKREF)
        for field in definition.fields if definition else ():
            # strawberry describes the directive, but not these.
            directive.args[field.name].description = field.description


def _without_draft_locations(directive: GraphQLDirective) -> GraphQLDirective:
    locations = [each for each in directive.locations if each.name not in DRAFT_LOCATIONS]
    if len(locations) == len(directive.locations):
        return directive
    options: Any = {**directive.to_kwargs(), "locations": locations}
    return GraphQLDirective(**options)
