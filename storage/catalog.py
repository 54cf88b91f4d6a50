"""All kinds of the catalog, owners before the records that refer to them.

Imports write in this order, so that a reader never meets a reference to a missing record. Only
backgrounds and maps refer to each other; backgrounds come first, because clients reach them
through their map.
"""

from typing import Any

from storage.assets import ASSETS
from storage.attributes import ASSIGNMENTS, ATTRIBUTE_GROUPS
from storage.backgrounds import BACKGROUNDS
from storage.floors import FLOORS
from storage.level_tags import LEVEL_TAGS
from storage.locations import LOCATIONS
from storage.maps import MAPS
from storage.records.kinds import RecordType
from storage.references import ASSET_REFERENCES, UNIT_REFERENCES
from storage.units import UNITS

RECORD_TYPES: tuple[RecordType[Any], ...] = (
    ASSETS,
    FLOORS,
    BACKGROUNDS,
    MAPS,
    UNITS,
    LEVEL_TAGS,
    ASSET_REFERENCES,
    UNIT_REFERENCES,
    ATTRIBUTE_GROUPS,
    ASSIGNMENTS,
    LOCATIONS,
)

RECORD_TYPES_BY_NAME = {kind.name: kind for kind in RECORD_TYPES}
