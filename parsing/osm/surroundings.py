"""Find the grounds around the rooms of a plan and the buildings that stand on them.

Simple Indoor Tagging does not cover the street between two rows of shops of one mall. The mall's
outline does: its buildings subtracted from it, the rest can be walked on.
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
"""Values of a building tag that leave the ground below walkable."""


class GeoFeature(NamedTuple):
    """A tagged feature of a geographic file, with an id such as `way/123`, in degrees."""

    id: str
    tags: Tags
    geometry: Geometry


def is_building(tags: Tags) -> bool:
    """Return whether the tags describe a building that covers the ground."""
    return any(tags.get(key, "no") not in OPEN_BELOW_VALUES for key in BUILDING_KEYS)


def is_site(tags: Tags) -> bool:
    """Return whether the tags describe walkable grounds that are neither room nor building."""
    return (
        "indoor" not in tags
        and not is_building(tags)
        and any(tags.get(key) in values for key, values in SITE_TAGS.items())
    )


def find_surroundings(
    outdoors: Iterable[GeoFeature], indoors: Iterable[GeoFeature]
) -> list[GeoFeature]:
    """Return the sites around the indoor features of the ground level and the buildings on them."""
    rooms = [feature.geometry for feature in indoors if isinstance(feature.geometry, AreaGeometry)]
    areas = [feature for feature in outdoors if _has_extent(feature.geometry)]
    if not rooms:
        return []
    indoors_bounds = compute_bounds(rooms)
    sites = [
        area
        for area in areas
        if is_site(area.tags) and _bounds_overlap(compute_bounds([area.geometry]), indoors_bounds)
    ]
    site_bounds = [compute_bounds([site.geometry]) for site in sites]
    buildings = [
        feature
        for feature in areas
        if is_building(feature.tags)
        and any(
            _bounds_overlap(compute_bounds([feature.geometry]), bounds) for bounds in site_bounds
        )
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
