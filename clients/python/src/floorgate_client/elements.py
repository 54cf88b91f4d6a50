"""The elements of parsed maps, by the type that they name."""

from collections.abc import Mapping
from typing import Any, TypeAlias, get_args

from floorgate_client.rest.models import (
    MapCircle,
    MapEllipse,
    MapGeoreference,
    MapHitArea,
    MapHitAreaLayer,
    MapLayer,
    MapLevel,
    MapLine,
    MapPath,
    MapPolygon,
    MapPolyline,
    MapRect,
    MapUnit,
    MapUnitLayer,
)

MapElement: TypeAlias = (
    MapCircle
    | MapEllipse
    | MapGeoreference
    | MapHitArea
    | MapHitAreaLayer
    | MapLayer
    | MapLevel
    | MapLine
    | MapPath
    | MapPolygon
    | MapPolyline
    | MapRect
    | MapUnit
    | MapUnitLayer
)
_TYPES: dict[str, type[MapElement]] = {
    each.__name__.removeprefix("Map"): each for each in get_args(MapElement)
}


def parse_element(data: Mapping[str, Any]) -> MapElement:
    """Return an element of a parsed map.

    >>> parse_element({"type": "Path", "d": "M0 0h9v9z"}).path_data
    'M0 0h9v9z'
    """
    return _TYPES[data["type"]].from_dict(data)
