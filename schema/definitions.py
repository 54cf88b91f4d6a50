"""Read what strawberry's definitions add to the graphql-core schema: rules, costs, requirements."""

from inspect import isawaitable
from typing import Any

import graphql
import strawberry
from strawberry.extensions import FieldExtension
from strawberry.schema.schema_converter import GraphQLCoreConverter
from strawberry.schema_directive import Location
from strawberry.types.field import StrawberryField

from resolvers.request.caller import EXPLAIN_PERMISSION as EXPLAIN_PERMISSION
from resolvers.request.caller import FLAGS as FLAGS
from resolvers.request.caller import Requirement as Requirement
from resolvers.request.context import Context, check_deadline
from resolvers.request.inputs import InputDefinition

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


def is_page(named_type: graphql.GraphQLNamedType | None) -> bool:
    """Return whether a type is that of one page of a list; its `data` are the records."""
    return isinstance(named_type, graphql.GraphQLObjectType) and named_type.name.endswith("Page")


def is_edge(named_type: graphql.GraphQLNamedType | None) -> bool:
    """Return whether a type is that of a record of a page with its cursor."""
    return isinstance(named_type, graphql.GraphQLObjectType) and named_type.name.endswith("Edge")


def strawberry_field_of(definition: graphql.GraphQLField | None) -> StrawberryField | None:
    """Return the strawberry field that a field of the schema was made from, if it was."""
    field = definition and definition.extensions.get(GraphQLCoreConverter.DEFINITION_BACKREF)
    return field if isinstance(field, StrawberryField) else None


def is_null_on_error(definition: graphql.GraphQLField | None) -> bool:
    """Return whether a field is null only if it has an error, and never in a success."""
    field = strawberry_field_of(definition)
    return bool(field and field.metadata.get(NULL_ON_ERROR))


def is_loaded(field: StrawberryField) -> bool:
    """Return whether a field has a resolver that waits, or depends on arguments.

    Another one only shows parts of its record.
    """
    resolver = field.base_resolver
    return resolver is not None and (resolver.is_async or bool(field.arguments))


def meaning_of(
    definition: graphql.GraphQLField | graphql.GraphQLArgument | graphql.GraphQLInputField,
) -> str:
    """Return what a field or an argument is, without what follows from its definition."""
    return definition.extensions.get(MEANING) or definition.description or ""


def cost_of(field: StrawberryField | None) -> int:
    """Return what a field costs by itself, without the records that it returns."""
    directives = field.directives if field else ()
    return next((int(item.weight) for item in directives if isinstance(item, Cost)), 0)


def definition_of(argument: graphql.GraphQLArgument | graphql.GraphQLInputField) -> InputDefinition:
    """Return the rules and the example of an argument or of an input field."""
    definition = argument.extensions.get(GraphQLCoreConverter.DEFINITION_BACKREF)
    return InputDefinition.from_metadata(definition.metadata) if definition else InputDefinition()


# The requirements of fields: an experimental flag, a permission, or both.
#
# A requirement is declared once, on the field. It is checked before the field is resolved, printed
# in the SDL as directives, and collected from an operation's fields, so that REST need not repeat
# it.


@strawberry.schema_directive(
    locations=[Location.FIELD_DEFINITION],
    description="May change without notice; the Experimental-Flags header must include the flag.",
)
class Experimental:
    flag: str = strawberry.field(description="The flag.")


@strawberry.schema_directive(
    locations=[Location.FIELD_DEFINITION], description="The API key needs this permission."
)
class Requires:
    permission: str = strawberry.field(description="The permission.")


class RequirementExtension(FieldExtension):
    """Declares a field's requirement. `guard_fields` enforces it."""

    def __init__(self, requirement: Requirement) -> None:
        self.requirement = requirement

    def apply(self, field: StrawberryField) -> None:
        """Add the directives that show the requirement in the SDL."""
        directives: list[object] = []
        if self.requirement.flag is not None:
            directives.append(Experimental(flag=self.requirement.flag))
        if self.requirement.permission is not None:
            directives.append(Requires(permission=self.requirement.permission))
        # A field may be in several schemas, and its extensions are applied for each.
        field.directives = [
            *field.directives,
            *(d for d in directives if d not in field.directives),
        ]


def guard_fields(schema: graphql.GraphQLSchema) -> None:
    """Wrap the resolvers of a schema so that each checks its field's requirement and cost first.

    Of subscriptions, also those that return the events: a stream that may not be read never begins.

    Those of mutations also check that their deadline has not passed.

    strawberry converts a field's arguments before its extensions run, at some 45 microseconds a
    waypoint: too much work for a caller without the permission. Compiled queries call what is
    inside the wrapper, and check both themselves.
    """
    for type in schema.type_map.values():
        for definition in (
            type.fields.values() if isinstance(type, graphql.GraphQLObjectType) else ()
        ):
            requirement = requirement_of(definition)
            cost = cost_of(strawberry_field_of(definition))
            if not cost and requirement == Requirement():
                continue
            if definition.resolve is not None:
                definition.resolve = _guarded(
                    requirement, cost, definition.resolve, is_write=type is schema.mutation_type
                )
            if definition.subscribe is not None:
                definition.subscribe = _guarded(requirement, cost, definition.subscribe)


def _guarded(
    requirement: Requirement,
    cost: int,
    resolve: graphql.GraphQLFieldResolver,
    *,
    is_write: bool = False,
) -> graphql.GraphQLFieldResolver:
    async def check_then_resolve(
        source: Any, info: graphql.GraphQLResolveInfo[Context], /, **arguments: Any
    ) -> Any:
        requirement.check(info.context.caller)
        if is_write:
            check_deadline()
        info.context.budget.count_cost(cost)
        result = resolve(source, info, **arguments)
        return await result if isawaitable(result) else result

    return check_then_resolve


def requirement_of(definition: graphql.GraphQLField | None) -> Requirement:
    field = strawberry_field_of(definition)
    for extension in field.extensions if field else ():
        if isinstance(extension, RequirementExtension):
            return extension.requirement
    return Requirement()
