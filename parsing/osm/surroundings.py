"""What lies around the rooms of a plan: grounds to cross, and the buildings that stand on them.

Simple Indoor Tagging says nothing of the street between two rows of shops of one mall. The mall's
outline does: what its buildings leave of it can be walked on.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from parsing.drawing import AreaGeometry, Bounds, Geometry, Tags, compute_bounds

SITE_TAGS: Final[Mapping[str, frozenset[str]]] = {
    "shop": frozenset({"mall"}),
    "amenity": frozenset({"marketplace", "hospital", "university", "college", "school"}),
    "place": frozenset({"square"}),
    "highway": frozenset({"pedestrian"}),
}
BUILDING_KEYS: Final = ("building", "building:part")
OPEN_BELOW_VALUES: Final = frozenset({"no", "roof", "canopy", "carport", "balcony"})
"""What people walk under."""


class GeoFeature(NamedTuple):
    """A tagged feature as a geographic file has it: `way/123`, longitude and latitude."""

    id: str
    tags: Tags
    geometry: Geometry


def is_building(tags: Tags) -> bool:
    """Whether a building stands on the ground here."""
    return any(tags.get(key, "no") not in OPEN_BELOW_VALUES for key in BUILDING_KEYS)


def is_site(tags: Tags) -> bool:
    """Whether these are grounds on which people walk, and no room or building."""
    return (
        "indoor" not in tags
        and not is_building(tags)
        and any(tags.get(key) in values for key, values in SITE_TAGS.items())
    )


def find_surroundings(
    outdoors: Iterable[GeoFeature], indoors: Iterable[GeoFeature]
) -> list[GeoFeature]:
    """The sites that the indoor features of the ground level may be on, and their buildings."""
    rooms = [sketch.geometry for sketch in indoors if isinstance(sketch.geometry, AreaGeometry)]
    areas = [sketch for sketch in outdoors if _has_extent(sketch.geometry)]
    if not rooms:
        return []
    inside = compute_bounds(rooms)
    sites = [
        s
        for s in areas
        if is_site(s.tags) and _bounds_overlap(compute_bounds([s.geometry]), inside)
    ]
    grounds = [compute_bounds([site.geometry]) for site in sites]
    buildings = [
        sketch
        for sketch in areas
        if is_building(sketch.tags)
        and any(_bounds_overlap(compute_bounds([sketch.geometry]), ground) for ground in grounds)
    ]
    return sites + buildings


def _has_extent(geometry: Geometry) -> bool:
    return isinstance(geometry, AreaGeometry) and bool(geometry.rings)


def _bounds_overlap(one: Bounds, other: Bounds) -> bool:
    return (
        one.west <= other.east
        and other.west <= one.east
        and one.north <= other.south
        and other.north <= one.south
    )
