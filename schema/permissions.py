"""The requirements of fields: an experimental flag, a permission, or both.

A requirement is declared once, on the field. It is checked before the field is resolved, printed in
the SDL as directives, and collected from an operation's fields, so that REST need not repeat it.
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
    ADMIN_PERMISSION,
    CALCULATE_DISTANCES_PERMISSION,
    DISTANCES_FLAG,
    LOCATIONS_FLAG,
    PARSE_UNIT_MAPS_PERMISSION,
    READ_ASSET_REFERENCES_PERMISSION,
    READ_UNIT_ATTRIBUTES_PERMISSION,
    READ_UNIT_REFERENCES_PERMISSION,
    REFERENCES_FLAG,
    UNIT_ATTRIBUTES_FLAG,
    WRITE_UNIT_ATTRIBUTES_PERMISSION,
    Caller,
)
from resolvers.request.caller import FLAGS as FLAGS
from resolvers.request.context import Context
from resolvers.request.errors import FlagRequiredError, PermissionRequiredError, RequestError
from resolvers.request.limits.deadlines import check_deadline
from schema.definitions import cost_of, strawberry_field_of


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
    """The requirement of one field; None requires nothing.

    >>> guest = Caller("guest", scope=None, flags=frozenset({"beta"}))
    >>> Requirement(flag="beta").is_met(guest)
    True
    >>> Requirement(flag="beta", permission="units.write").check(guest)
    Traceback (most recent call last):
    resolvers.request.errors.PermissionRequiredError: ...
    """

    flag: str | None = None
    permission: str | None = None

    def check(self, caller: Caller) -> None:
        """Raise FlagRequiredError, or else PermissionRequiredError, if it is not met."""
        if error := self._error_for(caller):
            raise error

    def is_met(self, caller: Caller) -> bool:
        """Return whether `check` passes."""
        return self._error_for(caller) is None

    def _error_for(self, caller: Caller) -> RequestError | None:
        if self.flag is not None and self.flag not in caller.flags:
            return FlagRequiredError(self.flag)
        if self.permission is not None and self.permission not in caller.permissions:
            return PermissionRequiredError(self.permission)
        return None


class RequirementExtension(FieldExtension):
    """Declares a field's requirement. `guard_fields` enforces it."""

    def __init__(self, *, flag: str | None = None, permission: str | None = None) -> None:
        self.requirement = Requirement(flag, permission)

    def apply(self, field: StrawberryField) -> None:
        """Add the directives that show the requirement in the SDL."""
        directives: list[object] = []
        if self.requirement.flag is not None:
            directives.append(Experimental(flag=self.requirement.flag))
        if self.requirement.permission is not None:
            directives.append(Requires(permission=self.requirement.permission))
        field.directives = [*field.directives, *directives]


def guard_fields(schema: GraphQLSchema) -> None:
    """Wrap the resolvers of a schema so that each checks its field's requirement and cost first.

    Those of mutations also check that their deadline has not passed.

    strawberry converts a field's arguments before its extensions run, at some 45 microseconds a
    waypoint: too much work for a caller without the permission. Compiled queries call what is
    inside the wrapper, and check both themselves.
    """
    for type in schema.type_map.values():
        for definition in type.fields.values() if isinstance(type, GraphQLObjectType) else ():
            requirement = requirement_of(definition)
            cost = cost_of(strawberry_field_of(definition))
            if (cost or requirement != Requirement()) and definition.resolve is not None:
                definition.resolve = _guarded(
                    requirement, cost, definition.resolve, is_write=type is schema.mutation_type
                )


def _guarded(
    requirement: Requirement, cost: int, resolve: GraphQLFieldResolver, *, is_write: bool
) -> GraphQLFieldResolver:
    async def check_then_resolve(
        source: Any, info: GraphQLResolveInfo[Context], /, **arguments: Any
    ) -> Any:
        requirement.check(info.context.caller)
        if is_write:
            check_deadline()
        info.context.budget.count_cost(cost)
        return await resolve(source, info, **arguments)

    return check_then_resolve


CAN_READ_ASSET_REFERENCES = RequirementExtension(
    flag=REFERENCES_FLAG, permission=READ_ASSET_REFERENCES_PERMISSION
)
CAN_READ_UNIT_REFERENCES = RequirementExtension(
    flag=REFERENCES_FLAG, permission=READ_UNIT_REFERENCES_PERMISSION
)
CAN_READ_ATTRIBUTES = RequirementExtension(
    flag=UNIT_ATTRIBUTES_FLAG, permission=READ_UNIT_ATTRIBUTES_PERMISSION
)
CAN_WRITE_ATTRIBUTES = RequirementExtension(
    flag=UNIT_ATTRIBUTES_FLAG, permission=WRITE_UNIT_ATTRIBUTES_PERMISSION
)
CAN_READ_LOCATIONS = RequirementExtension(flag=LOCATIONS_FLAG)
CAN_CALCULATE_DISTANCES = RequirementExtension(
    flag=DISTANCES_FLAG, permission=CALCULATE_DISTANCES_PERMISSION
)
CAN_CLOSE = RequirementExtension(flag=DISTANCES_FLAG, permission=ADMIN_PERMISSION)
CAN_PARSE_MAPS = RequirementExtension(permission=PARSE_UNIT_MAPS_PERMISSION)
IS_ADMIN = RequirementExtension(permission=ADMIN_PERMISSION)


def requirement_of(definition: GraphQLField | None) -> Requirement:
    """Return what a field of the schema requires."""
    field = strawberry_field_of(definition)
    for extension in field.extensions if field else ():
        if isinstance(extension, RequirementExtension):
            return extension.requirement
    return Requirement()
