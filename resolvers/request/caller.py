"""The caller of a request, and what fields, arguments and kinds of records require of one."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import force_setattr

from resolvers.request.errors import FlagRequiredError, PermissionRequiredError, RequestError
from storage.catalog import (
    ASSET_REFERENCES,
    ASSIGNMENTS,
    ATTRIBUTE_GROUPS,
    LOCATIONS,
    UNIT_REFERENCES,
)
from storage.records.visibility import AssetScope

REFERENCES_FLAG: Final = "references"
UNIT_ATTRIBUTES_FLAG: Final = "unit-attributes-resource"
DISTANCES_FLAG: Final = "distances"
LOCATIONS_FLAG: Final = "locations-resource"
CHANGES_FLAG: Final = "changes"
FLAGS = (
    REFERENCES_FLAG,
    UNIT_ATTRIBUTES_FLAG,
    DISTANCES_FLAG,
    LOCATIONS_FLAG,
    CHANGES_FLAG,
)

READ_ASSET_REFERENCES_PERMISSION: Final = "service.asset-references.read"
READ_UNIT_REFERENCES_PERMISSION: Final = "service.unit-references.read"
PARSE_UNIT_MAPS_PERMISSION: Final = "service.unit-maps.parse"
CALCULATE_DISTANCES_PERMISSION: Final = "service.distances.calculate"
READ_UNIT_ATTRIBUTES_PERMISSION: Final = "service.unit-attributes.read"
WRITE_UNIT_ATTRIBUTES_PERMISSION: Final = "service.unit-attributes.write"
EXPLAIN_PERMISSION: Final = "service.requests.explain"
READ_ENDPOINTS_PERMISSION: Final = "service.endpoints.read"
WRITE_ENDPOINTS_PERMISSION: Final = "service.endpoints.write"
ADMIN_PERMISSION: Final = "service.admin"
PERMISSIONS = (
    READ_ASSET_REFERENCES_PERMISSION,
    READ_UNIT_REFERENCES_PERMISSION,
    PARSE_UNIT_MAPS_PERMISSION,
    CALCULATE_DISTANCES_PERMISSION,
    READ_UNIT_ATTRIBUTES_PERMISSION,
    WRITE_UNIT_ATTRIBUTES_PERMISSION,
    EXPLAIN_PERMISSION,
    READ_ENDPOINTS_PERMISSION,
    WRITE_ENDPOINTS_PERMISSION,
    ADMIN_PERMISSION,
)


# A Struct: every request creates a caller, and a frozen dataclass takes four times as long.
class Caller(Struct, frozen=True):
    """The permissions of an API key together with the flags of one request.

    A key that is limited to some assets is never an administrator, whatever its record says: an
    administrator could create itself a key without that limit.

    >>> Caller("limited", AssetScope(frozenset({"a"})), frozenset({ADMIN_PERMISSION})).permissions
    frozenset()
    """

    key_id: str
    scope: AssetScope
    permissions: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    key_expires_at: datetime | None = None
    flags_place: str = "Experimental-Flags header"
    """Where this client sends flags."""

    def __post_init__(self) -> None:
        if ADMIN_PERMISSION in self.permissions and self.scope.asset_ids is not None:
            force_setattr(self, "permissions", self.permissions - {ADMIN_PERMISSION})

    @property
    def rights(self) -> tuple[AssetScope, frozenset[str], frozenset[str]]:
        """Part of the cache key: equal for callers with equal visibility, permissions and flags."""
        return self.scope, self.permissions, self.flags


@dataclass(frozen=True, slots=True)
class Requirement:
    """The requirement of one field or argument; None requires nothing.

    >>> from storage.records.visibility import ALL_ASSETS
    >>> guest = Caller("guest", ALL_ASSETS, flags=frozenset({"beta"}))
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

    def describe(self) -> str:
        """Return a sentence for the description, empty if nothing is required.

        >>> Requirement("references", "service.unit-references.read").describe()
        'Needs the flag `references` and the permission `service.unit-references.read`.'
        """
        flag = f"the flag `{self.flag}`" if self.flag else ""
        permission = f"the permission `{self.permission}`" if self.permission else ""
        needed = " and ".join(filter(None, (flag, permission)))
        return f"Needs {needed}." if needed else ""

    def _error_for(self, caller: Caller) -> RequestError | None:
        if self.flag is not None and self.flag not in caller.flags:
            return FlagRequiredError(self.flag, caller.flags_place)
        if self.permission is not None and self.permission not in caller.permissions:
            return PermissionRequiredError(self.permission)
        return None


NOTHING = Requirement()
READ_ASSET_REFERENCES = Requirement(REFERENCES_FLAG, READ_ASSET_REFERENCES_PERMISSION)
READ_UNIT_REFERENCES = Requirement(REFERENCES_FLAG, READ_UNIT_REFERENCES_PERMISSION)
READ_ATTRIBUTES = Requirement(UNIT_ATTRIBUTES_FLAG, READ_UNIT_ATTRIBUTES_PERMISSION)
WRITE_ATTRIBUTES = Requirement(UNIT_ATTRIBUTES_FLAG, WRITE_UNIT_ATTRIBUTES_PERMISSION)
READ_LOCATIONS = Requirement(LOCATIONS_FLAG)
CALCULATE_DISTANCES = Requirement(DISTANCES_FLAG, CALCULATE_DISTANCES_PERMISSION)
CLOSE = Requirement(DISTANCES_FLAG, ADMIN_PERMISSION)
PARSE_MAPS = Requirement(permission=PARSE_UNIT_MAPS_PERMISSION)
FOLLOW_CHANGES = Requirement(CHANGES_FLAG)
EXPLAIN = Requirement(permission=EXPLAIN_PERMISSION)
READ_ENDPOINTS = Requirement(permission=READ_ENDPOINTS_PERMISSION)
WRITE_ENDPOINTS = Requirement(permission=WRITE_ENDPOINTS_PERMISSION)
ADMINISTER = Requirement(permission=ADMIN_PERMISSION)

BY_KIND: Final = {
    ASSET_REFERENCES.name: READ_ASSET_REFERENCES,
    UNIT_REFERENCES.name: READ_UNIT_REFERENCES,
    ATTRIBUTE_GROUPS.name: READ_ATTRIBUTES,
    ASSIGNMENTS.name: READ_ATTRIBUTES,
    LOCATIONS.name: READ_LOCATIONS,
}
"""Maps kinds to what reading their records requires; all others require nothing."""


def describe_kinds() -> str:
    """Return sentences for the description of an argument that names kinds.

    >>> describe_kinds().split(". ")[-1]
    '`locations` needs the flag `locations-resource`.'
    """
    return " ".join(
        f"`{kind}` {requirement.describe()[0].lower()}{requirement.describe()[1:]}"
        for kind, requirement in BY_KIND.items()
    )


def requirement_of_kind(kind: str) -> Requirement:
    """Return what reading the records of a kind requires.

    >>> requirement_of_kind("locations"), requirement_of_kind("units") == NOTHING
    (Requirement(flag='locations-resource', permission=None), True)
    """
    return BY_KIND.get(kind, NOTHING)
