"""The caller of a request: its scope, permissions and flags."""

from dataclasses import dataclass
from typing import Final

from storage.records.visibility import AssetScope

REFERENCES_FLAG: Final = "references"
UNIT_ATTRIBUTES_FLAG: Final = "unit-attributes-resource"
DISTANCES_FLAG: Final = "distances"
LOCATIONS_FLAG: Final = "locations-resource"
FLAGS = (REFERENCES_FLAG, UNIT_ATTRIBUTES_FLAG, DISTANCES_FLAG, LOCATIONS_FLAG)

READ_ASSET_REFERENCES_PERMISSION: Final = "service.asset-references.read"
READ_UNIT_REFERENCES_PERMISSION: Final = "service.unit-references.read"
PARSE_UNIT_MAPS_PERMISSION: Final = "service.unit-maps.parse"
CALCULATE_DISTANCES_PERMISSION: Final = "service.distances.calculate"
READ_UNIT_ATTRIBUTES_PERMISSION: Final = "service.unit-attributes.read"
WRITE_UNIT_ATTRIBUTES_PERMISSION: Final = "service.unit-attributes.write"
ADMIN_PERMISSION: Final = "service.admin"
PERMISSIONS = (
    READ_ASSET_REFERENCES_PERMISSION,
    READ_UNIT_REFERENCES_PERMISSION,
    PARSE_UNIT_MAPS_PERMISSION,
    CALCULATE_DISTANCES_PERMISSION,
    READ_UNIT_ATTRIBUTES_PERMISSION,
    WRITE_UNIT_ATTRIBUTES_PERMISSION,
    ADMIN_PERMISSION,
)


@dataclass(frozen=True, slots=True)
class Caller:
    """The permissions of an API key together with the flags of one request."""

    key_id: str
    scope: AssetScope
    permissions: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()

    @property
    def rights(self) -> tuple[AssetScope, frozenset[str], frozenset[str]]:
        """Part of the cache key: equal for callers with equal visibility, permissions and flags."""
        return self.scope, self.permissions, self.flags
