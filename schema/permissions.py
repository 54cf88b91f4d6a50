"""What a field demands of the caller: an experimental flag, a permission, or both.

The demand is written once, on the field. It is checked before the field is resolved, shown in the
SDL as a directive, and read from there for whole operations, so that REST need not repeat it.
"""

from dataclasses import dataclass
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

from resolvers.request.caller import (
    ADMIN,
    CALCULATE_DISTANCES,
    DISTANCES_FLAG,
    LOCATIONS_FLAG,
    PARSE_UNIT_MAPS,
    READ_ASSET_REFERENCES,
    READ_UNIT_ATTRIBUTES,
    READ_UNIT_REFERENCES,
    REFERENCES_FLAG,
    UNIT_ATTRIBUTES_FLAG,
    WRITE_UNIT_ATTRIBUTES,
    Caller,
)
from resolvers.request.context import Context
from resolvers.request.errors import FlagRequiredError, PermissionRequiredError


@strawberry.schema_directive(
    locations=[Location.FIELD_DEFINITION],
    description="May change without notice; the Experimental-Flags header must include the flag.",
)
class Experimental:
    flag: str


@strawberry.schema_directive(
    locations=[Location.FIELD_DEFINITION], description="The API key needs this permission."
)
class Requires:
    permission: str


@dataclass(frozen=True, slots=True)
class Requirement:
    """What one field asks for; None asks for nothing."""

    flag: str | None = None
    permission: str | None = None

    def check(self, caller: Caller) -> None:
        """Raises FlagRequired, then PermissionRequired."""
        if self.flag is not None and self.flag not in caller.flags:
            raise FlagRequiredError(self.flag)
        if self.permission is not None and self.permission not in caller.permissions:
            raise PermissionRequiredError(self.permission)

    def is_met(self, caller: Caller) -> bool:
        """Whether `check` would raise nothing."""
        return (self.flag is None or self.flag in caller.flags) and (
            self.permission is None or self.permission in caller.permissions
        )


class RequirementExtension(FieldExtension):
    """Declares a demand; `guard_fields` has it checked."""

    def __init__(self, *, flag: str | None = None, permission: str | None = None) -> None:
        self.requirement = Requirement(flag, permission)

    def apply(self, field: StrawberryField) -> None:
        """Shows the demand in the SDL."""
        directives: list[object] = []
        if self.requirement.flag is not None:
            directives.append(Experimental(flag=self.requirement.flag))
        if self.requirement.permission is not None:
            directives.append(Requires(permission=self.requirement.permission))
        field.directives = [*field.directives, *directives]


def guard_fields(schema: GraphQLSchema) -> None:
    """Have each field's demand checked before its resolver is called.

    strawberry converts a field's arguments before any extension runs, at some 45 microseconds for
    a waypoint: too much for a caller who may not ask at all.
    """
    for type in schema.type_map.values():
        for definition in type.fields.values() if isinstance(type, GraphQLObjectType) else ():
            demand = requirement_of(definition)
            if demand != Requirement() and definition.resolve is not None:
                definition.resolve = _guarded(demand, definition.resolve)


def _guarded(demand: Requirement, resolve: GraphQLFieldResolver) -> GraphQLFieldResolver:
    async def check_then_resolve(
        source: Any, info: GraphQLResolveInfo[Context], /, **arguments: Any
    ) -> Any:
        demand.check(info.context.caller)
        return await resolve(source, info, **arguments)

    return check_then_resolve


CAN_READ_ASSET_REFERENCES = RequirementExtension(
    flag=REFERENCES_FLAG, permission=READ_ASSET_REFERENCES
)
CAN_READ_UNIT_REFERENCES = RequirementExtension(
    flag=REFERENCES_FLAG, permission=READ_UNIT_REFERENCES
)
CAN_READ_ATTRIBUTES = RequirementExtension(
    flag=UNIT_ATTRIBUTES_FLAG, permission=READ_UNIT_ATTRIBUTES
)
CAN_WRITE_ATTRIBUTES = RequirementExtension(
    flag=UNIT_ATTRIBUTES_FLAG, permission=WRITE_UNIT_ATTRIBUTES
)
CAN_READ_LOCATIONS = RequirementExtension(flag=LOCATIONS_FLAG)
CAN_CALCULATE_DISTANCES = RequirementExtension(flag=DISTANCES_FLAG, permission=CALCULATE_DISTANCES)
CAN_PARSE_MAPS = RequirementExtension(permission=PARSE_UNIT_MAPS)
IS_ADMIN = RequirementExtension(permission=ADMIN)


def requirement_of_field(field: StrawberryField) -> Requirement:
    """What a field asks for."""
    for extension in field.extensions:
        if isinstance(extension, RequirementExtension):
            return extension.requirement
    return Requirement()


def requirement_of(definition: GraphQLField | None) -> Requirement:
    """What a field of the schema asks for."""
    field = definition.extensions.get("strawberry-definition") if definition else None
    return requirement_of_field(field) if isinstance(field, StrawberryField) else Requirement()
