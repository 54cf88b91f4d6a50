"""What a field demands of the caller: an experimental flag, a permission, or both.

The demand is written once, on the field. It is checked when the field is resolved, shown in the SDL
as a directive, and read from there for whole operations, so that REST need not repeat it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import strawberry
from strawberry.extensions import FieldExtension
from strawberry.schema_directive import Location
from strawberry.types.field import StrawberryField

from resolvers.caller import (
    ADMIN,
    CALCULATE_DISTANCES,
    DISTANCES,
    LOCATIONS,
    PARSE_UNIT_MAPS,
    READ_ASSET_REFERENCES,
    READ_UNIT_ATTRIBUTES,
    READ_UNIT_REFERENCES,
    REFERENCES,
    UNIT_ATTRIBUTES,
    WRITE_UNIT_ATTRIBUTES,
    Caller,
)
from resolvers.context import Info
from resolvers.errors import FlagRequired, PermissionRequired


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
class Demand:
    """What one field asks for; None asks for nothing."""

    flag: str | None = None
    permission: str | None = None

    def check(self, caller: Caller) -> None:
        """Raises FlagRequired, then PermissionRequired."""
        if self.flag is not None and self.flag not in caller.flags:
            raise FlagRequired(self.flag)
        if self.permission is not None and self.permission not in caller.permissions:
            raise PermissionRequired(self.permission)

    def is_met(self, caller: Caller) -> bool:
        """Whether `check` would raise nothing."""
        return (self.flag is None or self.flag in caller.flags) and (
            self.permission is None or self.permission in caller.permissions
        )


class Guard(FieldExtension):
    """Checks a demand before the field's resolver runs."""

    def __init__(self, *, flag: str | None = None, permission: str | None = None) -> None:
        self.demand = Demand(flag, permission)

    def apply(self, field: StrawberryField) -> None:
        """Shows the demand in the SDL."""
        directives: list[object] = []
        if self.demand.flag is not None:
            directives.append(Experimental(flag=self.demand.flag))
        if self.demand.permission is not None:
            directives.append(Requires(permission=self.demand.permission))
        field.directives = [*field.directives, *directives]

    async def resolve_async(  # type: ignore[override]  # arguments may be called `source`, too
        self, next_: Callable[..., Awaitable[Any]], source: Any, info: Info, /, **arguments: Any
    ) -> Any:
        """The field's value, when the caller meets the demand."""
        self.demand.check(info.context.caller)
        return await next_(source, info, **arguments)


READS_ASSET_REFERENCES = Guard(flag=REFERENCES, permission=READ_ASSET_REFERENCES)
READS_UNIT_REFERENCES = Guard(flag=REFERENCES, permission=READ_UNIT_REFERENCES)
READS_ATTRIBUTES = Guard(flag=UNIT_ATTRIBUTES, permission=READ_UNIT_ATTRIBUTES)
WRITES_ATTRIBUTES = Guard(flag=UNIT_ATTRIBUTES, permission=WRITE_UNIT_ATTRIBUTES)
READS_LOCATIONS = Guard(flag=LOCATIONS)
CALCULATES_DISTANCES = Guard(flag=DISTANCES, permission=CALCULATE_DISTANCES)
PARSES_MAPS = Guard(permission=PARSE_UNIT_MAPS)
ADMINISTERS = Guard(permission=ADMIN)


def demand_of(field: StrawberryField) -> Demand:
    """What a field asks for."""
    for extension in field.extensions:
        if isinstance(extension, Guard):
            return extension.demand
    return Demand()
