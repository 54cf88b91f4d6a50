"""The caller of a request: its scope, permissions and flags."""

from datetime import datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import force_setattr

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
ADMIN_PERMISSION: Final = "service.admin"
PERMISSIONS = (
    READ_ASSET_REFERENCES_PERMISSION,
    READ_UNIT_REFERENCES_PERMISSION,
    PARSE_UNIT_MAPS_PERMISSION,
    CALCULATE_DISTANCES_PERMISSION,
    READ_UNIT_ATTRIBUTES_PERMISSION,
    WRITE_UNIT_ATTRIBUTES_PERMISSION,
    EXPLAIN_PERMISSION,
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

    def __post_init__(self) -> None:
        if ADMIN_PERMISSION in self.permissions and self.scope.asset_ids is not None:
            force_setattr(self, "permissions", self.permissions - {ADMIN_PERMISSION})

    @property
    def rights(self) -> tuple[AssetScope, frozenset[str], frozenset[str]]:
        """Part of the cache key: equal for callers with equal visibility, permissions and flags."""
        return self.scope, self.permissions, self.flags
