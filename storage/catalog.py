"""Every kind of the catalog, owners before what they own.

Backgrounds and maps name each other. Backgrounds come first: nobody reaches one without its map.
"""

from typing import Any

from storage.assets import ASSETS
from storage.attributes import ASSIGNMENTS, ATTRIBUTE_GROUPS
from storage.backgrounds import BACKGROUNDS
from storage.floors import FLOORS
from storage.level_tags import LEVEL_TAGS
from storage.locations import LOCATIONS
from storage.maps import MAPS
from storage.records.kinds import Kind
from storage.references import ASSET_REFERENCES, UNIT_REFERENCES
from storage.units import UNITS

KINDS: tuple[Kind[Any], ...] = (
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

KINDS_BY_NAME = {kind.name: kind for kind in KINDS}
