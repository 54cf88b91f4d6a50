"""Find the features that become locations, with their positions and tags."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from shapely.geometry.base import BaseGeometry

from parsing.drawing import Drawing, Feature, NoteCollector, PointGeometry
from parsing.osm.tags import is_site
from resolvers.plans.shapes import PlanGeometry, ShapeIndex, label_point
from resolvers.plans.tag_classification import (
    POINT_OF_INTEREST_MATCHERS,
    get_connector_kind,
    get_display_name,
    get_space_kind,
    is_door,
    matches_any,
)
from routing.plan import SpaceKind
from storage.catalog import UNIT_ID_TAG

MAX_OUTSIDE_FEET: Final = 50.0
"""A point farther than this from every space belongs to something else, such as a house nearby."""
COORDINATE_DECIMALS: Final = 3
OMITTED_TAGS: Final = frozenset({"name", "level", "repeat_on"})
"""Tags that fields of the location repeat."""


class LocationCandidate(NamedTuple):
    """A location that may be written, in the map's units; it stands on the first of its levels.

    `unit_id` is the unit that it stands for, if any.
    """

    id: str
    feature: Feature
    name: str
    x: float
    y: float
    levels: tuple[str, ...]
    tags: Mapping[str, str]
    unit_id: str | None = None

    @property
    def level(self) -> str:
        return self.levels[0]


def find_location_candidates(
    drawing: Drawing,
    map_id: str,
    shapes: Iterable[tuple[Feature, PlanGeometry]],
    walkable: Mapping[str, ShapeIndex],
    obstacles: Mapping[str, ShapeIndex],
    notes: NoteCollector,
) -> Iterator[LocationCandidate]:
    """Yield a candidate for each unit and each amenity or other point of interest.

    A drawing with an `id_key` (OpenStreetMap, IMDF) has no units: each of its rooms becomes one.
    In a drawing without any room, such as a network of paths, named doors, points and areas are
    candidates too.
    """
    ordinals = {level.id: level.ordinal or 0 for level in drawing.levels}
    has_units = any(_is_unit(feature, drawing) for feature in drawing.features)
    seen: set[str] = set()
    for feature, shape in shapes:
        is_unit = _is_unit(feature, drawing)
        is_named_place = not has_units and _is_named_place(feature)
        if not (is_unit or is_named_place or _is_of_interest(feature)):
            continue
        level = min(feature.levels, key=lambda key: (abs(ordinals[key]), ordinals[key]))
        if get_space_kind(feature) is None and not _is_near(shape, walkable.get(level)):
            notes.add("point of interest outside the plan", feature.id)
            continue
        if feature.unit_id is not None and feature.unit_id in seen:
            notes.add("unit drawn more than once, located at its first shape", feature.unit_id)
            continue
        seen.add(feature.unit_id or "")
        location_id = f"{map_id}-{feature.id.replace('/', '-')}"
        unit_id = (feature.unit_id or location_id) if is_unit else None
        position = _label_position(shape, obstacles.get(level), drawing.feet_per_unit)
        levels = (level, *(other for other in feature.levels if other != level))
        tags = _build_tags(feature, drawing.id_key, unit_id)
        yield LocationCandidate(
            location_id, feature, get_display_name(feature), *position, levels, tags, unit_id
        )


def _is_unit(feature: Feature, drawing: Drawing) -> bool:
    if drawing.id_key is None:
        return feature.unit_id is not None
    is_room = feature.tags.get("indoor") == "room" and get_space_kind(feature) is SpaceKind.ROOM
    return is_room and get_connector_kind(feature) is None


def _is_of_interest(feature: Feature) -> bool:
    matches = matches_any(POINT_OF_INTEREST_MATCHERS, feature.tags)
    return matches and not is_door(feature) and not is_site(feature.tags)


def _is_named_place(feature: Feature) -> bool:
    """Return whether a plan without rooms leads to a feature: a named door, point or area."""
    is_place = isinstance(feature.geometry, PointGeometry) or (
        get_space_kind(feature) is SpaceKind.AREA
    )
    return is_place and "name" in feature.tags and get_connector_kind(feature) is None


def _is_near(shape: PlanGeometry, walkable: ShapeIndex | None) -> bool:
    return walkable is None or walkable.distance_to(shape) <= MAX_OUTSIDE_FEET


def _label_position(
    shape: PlanGeometry, obstacles: ShapeIndex | None, feet_per_unit: float
) -> tuple[float, float]:
    valid: BaseGeometry = shape if shape.is_valid else shape.buffer(0)
    free = obstacles.subtract_from(valid) if obstacles is not None and valid.area else valid
    point = label_point(shape if free.is_empty else free)
    return round(point.x / feet_per_unit, COORDINATE_DECIMALS), round(
        point.y / feet_per_unit, COORDINATE_DECIMALS
    )


def _build_tags(feature: Feature, id_key: str | None, unit_id: str | None) -> dict[str, str]:
    own_tags = {
        key: value for key, value in feature.tags.items() if key not in OMITTED_TAGS and value
    }
    service_tags = {UNIT_ID_TAG: unit_id, "svc:type": "unit", "indoor": "room"} if unit_id else {}
    if matches_any(POINT_OF_INTEREST_MATCHERS, feature.tags):
        service_tags["svc:amenity"] = "yes"
    if id_key:
        service_tags[id_key] = feature.id
    return service_tags | own_tags
