"""What lies around the rooms of a plan: grounds to cross, and the buildings that stand on them.

Simple Indoor Tagging says nothing of the street between two rows of shops of one mall. The mall's
outline does: what its buildings leave of it can be walked on.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from parsing.drawing import Area, Bounds, Geometry, Tags, bounds_of

SITES: Final[Mapping[str, frozenset[str]]] = {
    "shop": frozenset({"mall"}),
    "amenity": frozenset({"marketplace", "hospital", "university", "college", "school"}),
    "place": frozenset({"square"}),
    "highway": frozenset({"pedestrian"}),
}
BUILDINGS: Final = ("building", "building:part")
OPEN_BELOW: Final = frozenset({"no", "roof", "canopy", "carport", "balcony"})
"""What people walk under."""


class Sketch(NamedTuple):
    """A tagged feature as a geographic file has it: `way/123`, longitude and latitude."""

    id: str
    tags: Tags
    geometry: Geometry


def is_building(tags: Tags) -> bool:
    """Whether a building stands on the ground here."""
    return any(tags.get(key, "no") not in OPEN_BELOW for key in BUILDINGS)


def is_site(tags: Tags) -> bool:
    """Whether these are grounds on which people walk, and no room or building."""
    return (
        "indoor" not in tags
        and not is_building(tags)
        and any(tags.get(key) in values for key, values in SITES.items())
    )


def surroundings(outdoors: Iterable[Sketch], indoors: Iterable[Sketch]) -> list[Sketch]:
    """The sites that the indoor features of the ground level may be on, and their buildings."""
    rooms = [sketch.geometry for sketch in indoors if isinstance(sketch.geometry, Area)]
    areas = [sketch for sketch in outdoors if _has_extent(sketch.geometry)]
    if not rooms:
        return []
    inside = bounds_of(rooms)
    sites = [s for s in areas if is_site(s.tags) and _overlap(bounds_of([s.geometry]), inside)]
    grounds = [bounds_of([site.geometry]) for site in sites]
    buildings = [
        sketch
        for sketch in areas
        if is_building(sketch.tags)
        and any(_overlap(bounds_of([sketch.geometry]), ground) for ground in grounds)
    ]
    return sites + buildings


def _has_extent(geometry: Geometry) -> bool:
    return isinstance(geometry, Area) and bool(geometry.rings)


def _overlap(one: Bounds, other: Bounds) -> bool:
    return (
        one.west <= other.east
        and other.west <= one.east
        and one.north <= other.south
        and other.north <= one.south
    )
