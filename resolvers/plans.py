"""Floor plans as they are drawn -> the plan that routing processes, and the records around it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from shapely import LineString, MultiLineString, MultiPolygon, Point, Polygon
from shapely.geometry.base import BaseGeometry

from parsing.drawing import Drawing, Feature, Note, Notebook
from parsing.surroundings import is_building, is_site
from resolvers.plan_connectors import Storeys, connect
from resolvers.plan_floors import check_order, put_on_floors
from resolvers.plan_places import Place, find_places
from resolvers.plan_shapes import Layer, Shape, shape_of, union
from resolvers.plan_terms import (
    LOCKS,
    POINTS_OF_INTEREST,
    WHEELCHAIR,
    connector_kind,
    is_barrier,
    is_door,
    is_footpath,
    is_outline,
    says,
    space_kind,
    width_feet,
)
from routing.plan import Barrier, Door, Level, Location, Plan, Space, SpaceKind

FOOTPATH_FEET: Final = 5.0
"""How wide a footway drawn as a line is, unless it says so."""

TOUCH_FEET: Final = 1.0

Drawn = tuple[Feature, Shape]


@dataclass(frozen=True)
class PlanReading:
    """What a drawing says.

    `places` are the locations to write, in the map's units; those of `plan` have their ids.
    `notes` are the lines of the report about what was not understood or not taken as it stands.
    `drawing` has the floors' ids as those of its levels.
    """

    plan: Plan
    places: tuple[Place, ...]
    notes: tuple[Note, ...]
    drawing: Drawing
    map_id: str


def plan_of(
    drawing: Drawing, map_id: str, floor_sorts: Mapping[str, int] | None = None
) -> PlanReading:
    """The plan in feet, in the drawing's frame.

    `floor_sorts` are the floors that there are, id to `sort`, for a drawing whose levels name
    floors; without, each level becomes a floor of its own. Raises `InvalidInput` for a level that
    names no such floor, and for connected floors of which none has the greater `sort`.
    """
    notebook = Notebook()
    drawing = put_on_floors(drawing, map_id, floor_sorts)
    drawn = list(_shapes(drawing, notebook))
    outlines = _outlines(drawn)
    spaces = list(_spaces(drawn))
    spaces += _footpaths(
        drawn, {s.level_id for s in spaces if s.kind is not SpaceKind.ROOM}, outlines
    )
    spaces += list(_grounds(drawn, spaces, notebook))
    barriers = list(_barriers(drawn))
    grounds = _layers([(s.level_id, s.polygon) for s in spaces] + list(outlines.items()))
    obstacles = _layers((barrier.level_id, barrier.geometry) for barrier in barriers)
    storeys = Storeys({level.id: level.ordinal or 0.0 for level in drawing.levels}, grounds)
    connectors = tuple(connect(drawn, storeys, drawing.id_key != "osm:id", notebook))
    if floor_sorts is not None:
        check_order(connectors, drawing, floor_sorts)
    places = tuple(find_places(drawing, map_id, drawn, grounds, obstacles, notebook))
    for feature in drawing.features:
        if not _is_used(feature):
            notebook.add(f"not used, {_described(feature)}", feature.id)
    levels = tuple(
        Level(level.id, level.ordinal or 0.0, level.name, outlines.get(level.id))
        for level in drawing.levels
    )
    plan = Plan(
        levels, tuple(spaces), tuple(barriers), tuple(_doors(drawn)), connectors,
        tuple(_location(place, drawing.feet_per_unit) for place in places),
    )  # fmt: skip
    return PlanReading(plan, places, (*drawing.notes, *notebook.notes()), drawing, map_id)


def part_id(feature: Feature, level: str) -> str:
    """The id of what a feature is on one of its levels."""
    return feature.id if len(feature.levels) == 1 else f"{feature.id}@{level}"


def _shapes(drawing: Drawing, notebook: Notebook) -> Iterator[Drawn]:
    for feature in drawing.features:
        shape = shape_of(feature.geometry, drawing.feet_per_unit)
        if shape.is_empty:
            notebook.add("outline that encloses nothing", feature.id)
        else:
            yield feature, shape


def _outlines(drawn: Iterable[Drawn]) -> dict[str, Polygon | MultiPolygon]:
    pairs = ((level, s) for f, s in drawn if is_outline(f) for level in f.levels)
    return {
        level: outline
        for level, shapes in _by_level(pairs).items()
        if isinstance(outline := union(shapes), Polygon | MultiPolygon)
    }


def _spaces(drawn: Iterable[Drawn]) -> Iterator[Space]:
    """Several shapes of one unit on a level are one space."""
    units: dict[tuple[str, str], Space] = {}
    for feature, shape in drawn:
        kind = space_kind(feature)
        if kind is None or not isinstance(shape, Polygon | MultiPolygon):
            continue
        for level in feature.levels:
            name = feature.tags.get("name", "")
            space = Space(part_id(feature, level), level, shape, kind, name)
            if feature.unit_id is None:
                yield space
                continue
            known = units.setdefault((feature.unit_id, level), space)
            if known is not space:
                both = union([known.polygon, shape])
                if isinstance(both, Polygon | MultiPolygon):
                    units[feature.unit_id, level] = replace(known, polygon=both)
    yield from units.values()


def _footpaths(
    drawn: Iterable[Drawn], open_levels: set[str], outlines: Mapping[str, BaseGeometry]
) -> Iterator[Space]:
    """Footways drawn as lines, as wide as they are; not where all between the rooms is floor."""
    for feature, shape in drawn:
        (level, *_) = feature.levels
        if not is_footpath(feature) or (level in outlines and level not in open_levels):
            continue
        half_feet = (width_feet(feature.tags) or FOOTPATH_FEET) / 2
        strip = shape.buffer(half_feet, cap_style="flat", join_style="mitre")
        if isinstance(strip, Polygon | MultiPolygon) and not strip.is_empty:
            yield Space(feature.id, level, strip, SpaceKind.AREA, feature.tags.get("name", ""))


def _grounds(
    drawn: Sequence[Drawn], spaces: Iterable[Space], notebook: Notebook
) -> Iterator[Space]:
    """What its buildings leave of a site that the plan's spaces lie on."""
    buildings = union(shape for feature, shape in drawn if is_building(feature.tags))
    rooms = _layers((space.level_id, space.polygon) for space in spaces)
    for feature, shape in drawn:
        if not is_site(feature.tags):
            continue
        level, *_ = feature.levels
        if level not in rooms or rooms[level].distance(shape) > TOUCH_FEET:
            notebook.add("grounds on which no room lies", feature.id)
            continue
        left = union([shape]).difference(buildings)
        if isinstance(left, Polygon | MultiPolygon) and not left.is_empty:
            yield Space(feature.id, level, left, SpaceKind.AREA, feature.tags.get("name", ""))


def _barriers(drawn: Iterable[Drawn]) -> Iterator[Barrier]:
    for feature, shape in drawn:
        if is_barrier(feature) and not isinstance(shape, Point):
            for level in feature.levels:
                yield Barrier(level, shape, feature.id)


def _doors(drawn: Iterable[Drawn]) -> Iterator[Door]:
    """A door drawn as a line along its wall is as wide as the line is long."""
    for feature, shape in drawn:
        if not is_door(feature):
            continue
        width = width_feet(feature.tags)
        if width is None and isinstance(shape, LineString | MultiLineString):
            width = shape.length
        wheelchair = WHEELCHAIR.get(feature.tags.get("wheelchair", ""))
        locked = says(LOCKS, feature.tags)
        for level in feature.levels:
            yield Door(part_id(feature, level), level, shape, width, wheelchair, locked)


def _location(place: Place, feet_per_unit: float) -> Location:
    space_id = part_id(place.feature, place.level) if space_kind(place.feature) else None
    x_feet, y_feet = place.x * feet_per_unit, place.y * feet_per_unit
    return Location(place.id, place.level, x_feet, y_feet, place.name, space_id)


def _by_level(pairs: Iterable[tuple[str, BaseGeometry]]) -> dict[str, list[BaseGeometry]]:
    shapes: defaultdict[str, list[BaseGeometry]] = defaultdict(list)
    for level, shape in pairs:
        shapes[level].append(shape)
    return shapes


def _layers(pairs: Iterable[tuple[str, BaseGeometry]]) -> dict[str, Layer]:
    return {level: Layer(shapes) for level, shapes in _by_level(pairs).items()}


def _is_used(feature: Feature) -> bool:
    return (
        space_kind(feature) is not None
        or connector_kind(feature) is not None
        or is_door(feature)
        or is_barrier(feature)
        or is_outline(feature)
        or is_site(feature.tags)
        or is_building(feature.tags)
        or is_footpath(feature)
        or says(POINTS_OF_INTEREST, feature.tags)
    )


def _described(feature: Feature) -> str:
    keys = ("indoor", "highway", "barrier", "room", "level", *feature.tags)
    key = next((key for key in keys if key in feature.tags), None)
    return f"{key}={feature.tags[key]}" if key else "no tags"
