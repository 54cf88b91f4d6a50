"""The requirements of fields: an experimental flag, a permission, or both.

A requirement is declared once, on the field. It is checked before the field is resolved, printed in
the SDL as directives, and collected from an operation's fields, so that REST need not repeat it.
"""

from inspect import isawaitable
from typing import Any

import strawberry
from graphql import (
    GraphQLField,
    GraphQLFieldResolver,
    GraphQLObjectType,
    GraphQLResolveInfo,
    GraphQLSchema,
)
from strawberry.extensions import FieldExtension
from strawberry.schema_directive import Location
from strawberry.types.field import StrawberryField

from resolvers.request import requirements
from resolvers.request.caller import EXPLAIN_PERMISSION as EXPLAIN_PERMISSION
from resolvers.request.caller import FLAGS as FLAGS
from resolvers.request.context import Context
from resolvers.request.limits.deadlines import check_deadline
from resolvers.request.requirements import Requirement as Requirement
from schema.definitions import cost_of, strawberry_field_of


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

    def __init__(
        self,
        requirement: Requirement | None = None,
        *,
        flag: str | None = None,
        permission: str | None = None,
    ) -> None:
        self.requirement = requirement or Requirement(flag, permission)

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


def guard_fields(schema: GraphQLSchema) -> None:
    """Wrap the resolvers of a schema so that each checks its field's requirement and cost first.

    Of subscriptions, also those that return the events: a stream that may not be read never begins.

    Those of mutations also check that their deadline has not passed.

    strawberry converts a field's arguments before its extensions run, at some 45 microseconds a
    waypoint: too much work for a caller without the permission. Compiled queries call what is
    inside the wrapper, and check both themselves.
    """
    for type in schema.type_map.values():
        for definition in type.fields.values() if isinstance(type, GraphQLObjectType) else ():
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
    requirement: Requirement, cost: int, resolve: GraphQLFieldResolver, *, is_write: bool = False
) -> GraphQLFieldResolver:
    async def check_then_resolve(
        source: Any, info: GraphQLResolveInfo[Context], /, **arguments: Any
    ) -> Any:
        requirement.check(info.context.caller)
        if is_write:
            check_deadline()
        info.context.budget.count_cost(cost)
        result = resolve(source, info, **arguments)
        return await result if isawaitable(result) else result

    return check_then_resolve


CAN_READ_ASSET_REFERENCES = RequirementExtension(requirements.READ_ASSET_REFERENCES)
CAN_READ_UNIT_REFERENCES = RequirementExtension(requirements.READ_UNIT_REFERENCES)
CAN_READ_ATTRIBUTES = RequirementExtension(requirements.READ_ATTRIBUTES)
CAN_WRITE_ATTRIBUTES = RequirementExtension(requirements.WRITE_ATTRIBUTES)
CAN_READ_LOCATIONS = RequirementExtension(requirements.READ_LOCATIONS)
CAN_CALCULATE_DISTANCES = RequirementExtension(requirements.CALCULATE_DISTANCES)
CAN_CLOSE = RequirementExtension(requirements.CLOSE)
CAN_PARSE_MAPS = RequirementExtension(requirements.PARSE_MAPS)
CAN_FOLLOW_CHANGES = RequirementExtension(requirements.FOLLOW_CHANGES)
IS_ADMIN = RequirementExtension(requirements.ADMINISTER)


def requirement_of(definition: GraphQLField | None) -> Requirement:
    """Return what a field of the schema requires."""
    field = strawberry_field_of(definition)
    for extension in field.extensions if field else ():
        if isinstance(extension, RequirementExtension):
            return extension.requirement
    return Requirement()
