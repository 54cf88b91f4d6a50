"""The georeference of a parsed map: kept in the map's document, so that lists read no drawings."""

from typing import Any

import msgspec
import orjson

from storage.records.kinds import Document

GEOREFERENCE_FIELD = "georeference"
"""Field of a map with the georeference of its parsed map, beside its digest."""
MAX_LATITUDE = 85.0
"""Beyond it web maps end, and zoom says nothing."""
MAX_LONGITUDE = 180.0
MAX_ZOOM = 24.0

# A quote within a text has a backslash in front of it, so this begins no text.
_START = b'{"type":"Georeference",'


class Georeference(msgspec.Struct, frozen=True):
    """Where the centre of a drawing is, in degrees of WGS 84.

    At `zoom` a unit of the drawing is a pixel of a web map with tiles of 256 pixels; 0 says
    nothing. `bearing` is the direction of the drawing's upper edge, in degrees clockwise from
    north.
    """

    latitude: float
    longitude: float
    zoom: float = 0.0
    bearing: float = 0.0

    def has_scale(self, feet_per_unit: float | None) -> bool:
        """Return whether the size of a unit of the drawing is known, by its map or by the zoom."""
        return feet_per_unit is not None or self.zoom > 0


def find_georeference(parsed: bytes) -> Document | None:
    """Return the first georeference in the JSON of a parsed map; None if it is out of range.

    >>> find_georeference(b'{"elements":[{"type":"Georeference","latitude":56,"longitude":10}]}')
    {'latitude': 56.0, 'longitude': 10.0, 'zoom': 0.0, 'bearing': 0.0}
    """
    start = parsed.find(_START)
    if start < 0:
        return None
    members: dict[str, Any] = orjson.loads(parsed[start : parsed.index(b"}", start) + 1])
    found = msgspec.convert(members, Georeference)
    is_in_range = (
        abs(found.latitude) <= MAX_LATITUDE
        and abs(found.longitude) <= MAX_LONGITUDE
        and found.zoom <= MAX_ZOOM
    )
    return msgspec.to_builtins(found) if is_in_range else None


def read_georeference(unit_map: Document) -> Georeference | None:
    """Return the georeference in the document of a map."""
    found = unit_map.get(GEOREFERENCE_FIELD)
    return None if found is None else msgspec.convert(found, Georeference)
