"""Draw a plan as a parsed unit map, for a map that has no drawing of its own.

docs/decisions/routing/publishing.md says what is drawn, and when.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import Final, NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from parsing.drawing import (
    FEET_PER_METRE,
    AreaGeometry,
    Coordinate,
    Coordinates,
    Drawing,
    DrawnLevel,
    Feature,
    Geometry,
    LinesGeometry,
    PointGeometry,
    compute_bounds,
)
from parsing.limits import DEFAULT_LIMITS
from parsing.osm.tags import is_building, is_site
from parsing.svg import elements
from parsing.svg.unit_map import UnitMapWriter
from resolvers.plans import tag_classification as tagging
from resolvers.plans.translation import TranslatedPlan
from routing.plan import ConnectorKind, SpaceKind
from storage.catalog import METRES_PER_PIXEL

MAX_DISTANCE_FEET: Final = 3.0
"""A door farther than this from all walls stands in none."""
TOUCH_FEET: Final = 0.05
DECIMALS: Final = 2
"""Coordinates have so many, so that a gap in the walls of two rooms has the same ends in both."""
MAX_SEGMENTS: Final = 8
"""Segments that one door opens: those on both sides of a corner, of the walls of two rooms."""


class DoorGaps:
    """The walls of a level as segments, indexed."""

    def __init__(self, walls: Iterable[Coordinates], units_per_foot: float) -> None:
        # Neighbouring rooms have the same walls, in opposite directions.
        rows = [sorted(map(tuple, segment)) for segment in tagging.list_segments(walls).tolist()]
        self._segments: tagging.Segments = np.array(sorted({(a, b) for a, b in rows if a != b}))
        self._tree = shapely.STRtree([shapely.LineString(each) for each in self._segments])
        self._units_per_foot = units_per_foot

    def find(self, position: Coordinate, width: float) -> list[Coordinates]:
        """Return the parts of the nearest wall within half of `width` of a door, as lines.

        >>> DoorGaps([((0, 0), (9, 0))], 1).find((4, 1), 2)
        [((3.0, 0.0), (5.0, 0.0))]
        """
        point = shapely.Point(position)
        most = MAX_DISTANCE_FEET * self._units_per_foot
        nearest = self._tree.query_nearest(point, max_distance=most, all_matches=False)
        if not len(nearest):
            return []
        on_wall = shapely.shortest_line(self._tree.geometries[nearest[0]], point).coords[0]
        touch = TOUCH_FEET * self._units_per_foot
        found = self._tree.query(shapely.Point(on_wall), predicate="dwithin", distance=touch)
        parts = (_cut(self._segments[each], on_wall, width / 2) for each in found[:MAX_SEGMENTS])
        return [*dict.fromkeys(part for part in parts if part[0] != part[1])]


def _cut(segment: NDArray[np.float64], position: Coordinate, reach: float) -> Coordinates:
    """Return the part of a segment within `reach` of a position on it."""
    start, along = segment[0], segment[1] - segment[0]
    length = float(np.hypot(*along))
    middle = float(np.dot(np.asarray(position) - start, along)) / length
    ends = [min(max(each, 0.0), length) / length for each in (middle - reach, middle + reach)]
    points = (start + along * end for end in ends)
    return tuple((round(float(x), DECIMALS), round(float(y), DECIMALS)) for x, y in points)


class PaintLayer(IntEnum):
    """A layer of the picture; each is painted over those before it."""

    GROUND = 0
    FLOOR = 1
    PATH = 2
    ROOM = 3
    CONNECTOR = 4
    BARRIER = 5
    DOOR = 6


class Appearance(NamedTuple):
    """The colour of a feature and its layer; lines have a width, walls that of all walls.

    `edge` is the colour of the line around an area, if it has one below the walls.
    """

    layer: PaintLayer
    colour: str
    line_feet: float | None = None
    dashes_feet: tuple[float, ...] = ()
    edge: str = ""


WALL_COLOUR: Final = "#57534e"
EDGE_COLOUR: Final = "#d3cbb9"
DOOR_COLOUR: Final = "#ffffff"
DEFAULT_ROOM_COLOUR: Final = "#e9dfcc"
CLOSED_ROOM_COLOUR: Final = "#d6d3cd"
SITE: Final = Appearance(PaintLayer.GROUND, "#eef1e6")
BUILDING: Final = Appearance(PaintLayer.GROUND, "#e3dfd8")
STOREY: Final = Appearance(PaintLayer.GROUND, "#f2eee4", edge=WALL_COLOUR)
CORRIDOR: Final = Appearance(PaintLayer.FLOOR, "#faf7ef", edge=EDGE_COLOUR)
AREA: Final = Appearance(PaintLayer.FLOOR, "#f4eedf", edge=EDGE_COLOUR)
OUTDOORS: Final = Appearance(PaintLayer.FLOOR, "#e6ecdb", edge=EDGE_COLOUR)
PATH: Final = Appearance(PaintLayer.PATH, "#e9e1cf", 4.0)
WALL: Final = Appearance(PaintLayer.BARRIER, WALL_COLOUR)
DOOR: Final = Appearance(PaintLayer.DOOR, DOOR_COLOUR)

_FOOD: Final = ("restaurant", "cafe", "fast_food", "food_court", "bar", "pub")
_HEALTH: Final = ("hospital", "clinic", "doctors", "dentist", "pharmacy")
_TEACHING: Final = ("class", "classroom", "lecture", "auditorium", "library")
_WASHING: Final = ("toilet", "toilets", "shower", "bathroom", "restroom")
ROOM_COLOURS: Final[tuple[tuple[tuple[tagging.TagMatcher, ...], str], ...]] = (
    ((tagging.tag("room", *_WASHING), tagging.tag("amenity", "toilets", "shower")), "#cde3ec"),
    ((tagging.tag("amenity", *_FOOD), tagging.tag("room", "kitchen")), "#f7d9bd"),
    ((tagging.tag("healthcare"), tagging.tag("amenity", *_HEALTH)), "#f3d3d3"),
    ((tagging.tag("shop"),), "#f5e6ae"),
    ((tagging.tag("room", *_TEACHING),), "#dbe8cf"),
    ((tagging.tag("office"), tagging.tag("room", "office")), "#dbe2f0"),
    (tagging.CLOSED_ROOM_MATCHERS, CLOSED_ROOM_COLOUR),
)
"""The first of these that matches the tags of a room."""
WATER: Final = (tagging.tag("natural", "water"), tagging.tag("leisure", "swimming_pool"))
CONNECTOR_COLOURS: Final = {
    ConnectorKind.ELEVATOR: "#b9b3dc",
    ConnectorKind.STEPS: "#d2cdea",
    ConnectorKind.ESCALATOR: "#c5d3ea",
    ConnectorKind.RAMP: "#e2ddf1",
}
CONNECTOR_FEET: Final = 5.0
STEP_FEET: Final = (0.9, 0.35)


def choose_appearance(feature: Feature) -> Appearance | None:
    """Return how a feature looks, or None for one that is not drawn, such as a point of interest.

    >>> corridor = Feature("1", ("0",), AreaGeometry(()), {"indoor": "corridor"})
    >>> choose_appearance(corridor) == CORRIDOR
    True
    >>> for room in ("stairs", "elevator"):
    ...     choose_appearance(Feature("1", ("0",), AreaGeometry(()), {"room": room})).dashes_feet
    (0.9, 0.35)
    ()
    """
    if (kind := tagging.get_connector_kind(feature)) is not None:
        is_stepped = kind in (ConnectorKind.STEPS, ConnectorKind.ESCALATOR)
        dashes = STEP_FEET if is_stepped else ()
        return Appearance(PaintLayer.CONNECTOR, CONNECTOR_COLOURS[kind], CONNECTOR_FEET, dashes)
    if tagging.is_door(feature):
        return DOOR
    if isinstance(feature.geometry, PointGeometry):
        return None
    if isinstance(feature.geometry, AreaGeometry) and (look := _choose_appearance_of_area(feature)):
        return look
    if tagging.is_barrier(feature):
        return _choose_appearance_of_barrier(feature)
    return PATH if tagging.is_footpath(feature) else None


def _choose_appearance_of_area(feature: Feature) -> Appearance | None:
    tags, kind = feature.tags, tagging.get_space_kind(feature)
    if kind is SpaceKind.ROOM:
        matches = (colour for any_of, colour in ROOM_COLOURS if tagging.matches_any(any_of, tags))
        return Appearance(PaintLayer.ROOM, next(matches, DEFAULT_ROOM_COLOUR))
    if kind is not None and tagging.is_outdoors(tags):
        return OUTDOORS
    if kind is not None:
        return CORRIDOR if kind is SpaceKind.CORRIDOR else AREA
    if tagging.is_outline(feature):
        return STOREY
    if is_site(tags):
        return SITE
    return BUILDING if is_building(tags) else None


def _choose_appearance_of_barrier(feature: Feature) -> Appearance:
    if tagging.matches_any(WATER, feature.tags):
        return Appearance(PaintLayer.BARRIER, "#bcdcec")
    is_wall = isinstance(feature.geometry, LinesGeometry) or feature.tags.get("indoor") == "wall"
    return WALL if is_wall else Appearance(PaintLayer.BARRIER, "#bcb6ab")


MIN_WALL_FEET: Final = 0.4
MAX_WALL_FEET: Final = 1.6
PLAN_PER_WALL: Final = 900
"""Extent of a plan in widths of its walls, within these limits."""
DOOR_PER_WALL: Final = 1.3
DOOR_FEET: Final = 3.0
"""Length of a door whose plan says none."""

Attributes = dict[str, str]


class PaintedFeature(NamedTuple):
    """A feature with its look, the unit that it shows, and the area of its bounding box."""

    feature: Feature
    look: Appearance
    unit_id: str | None
    extent: float


def build_parsed_map(translated: TranslatedPlan) -> bytes:
    """Return the parsed map of a plan as JSON, in the coordinates of its locations.

    Raises DocumentRejectedError if it would be too large.
    """
    drawing = translated.drawing
    writer = UnitMapWriter(DEFAULT_LIMITS)
    width, height = (
        max(1, math.ceil(each)) for each in (drawing.bounds.east, drawing.bounds.south)
    )
    writer.set_canvas_size(width, height)
    if drawing.to_degrees is not None:
        longitude, latitude = drawing.to_degrees((width / 2, height / 2))
        zoom = _find_zoom(latitude, drawing.feet_per_unit)
        writer.add_georeference(elements.DrawnGeoreference(latitude, longitude, zoom, 0, 0))
    units = {each.feature.id: each.unit_id for each in translated.candidates if each.unit_id}
    by_level = _list_by_level(drawing, units)
    for level in drawing.levels:
        _LevelPen(writer, drawing, level).draw(by_level[level.id])
    return writer.to_bytes()


def _find_zoom(latitude: float, feet_per_unit: float) -> float:
    """Return the zoom of a web map at which a unit of the drawing is a pixel."""
    feet = METRES_PER_PIXEL * FEET_PER_METRE * math.cos(math.radians(latitude))
    return round(math.log2(feet / feet_per_unit), DECIMALS)


def _list_by_level(
    drawing: Drawing, unit_ids: Mapping[str, str]
) -> defaultdict[str, list[PaintedFeature]]:
    """Return what is drawn of each level, as it is painted: in a layer, the largest first."""
    by_level: defaultdict[str, list[PaintedFeature]] = defaultdict(list)
    for feature in drawing.features:
        look = choose_appearance(feature)
        if look is not None:
            box = compute_bounds([feature.geometry])
            extent = (box.east - box.west) * (box.south - box.north)
            unit_id = feature.unit_id or unit_ids.get(feature.id)
            for level in feature.levels:
                by_level[level].append(PaintedFeature(feature, look, unit_id, extent))
    for drawn in by_level.values():
        drawn.sort(key=lambda each: (each.look.layer, -each.extent))
    return by_level


class _LevelPen:
    """Draws one level: its floor, its units, walls and doors on them, and the hit areas on top."""

    def __init__(self, writer: UnitMapWriter, drawing: Drawing, level: DrawnLevel) -> None:
        self._writer = writer
        self._level = elements.DrawnGroup("Level", level.id, {"floor": level.id})
        self._units_per_foot = 1 / drawing.feet_per_unit
        box = drawing.bounds
        extent_feet = max(box.east - box.west, box.south - box.north) * drawing.feet_per_unit
        self._wall_feet = min(max(extent_feet / PLAN_PER_WALL, MIN_WALL_FEET), MAX_WALL_FEET)

    def draw(self, drawn: list[PaintedFeature]) -> None:
        units = [each for each in drawn if each.unit_id is not None]
        others = [each for each in drawn if each.unit_id is None]
        self._writer.start_group(self._level)
        self._writer.start_group(elements.DrawnGroup("Layer"))
        for each in others:
            if each.look.layer < PaintLayer.CONNECTOR:
                self._add(each.feature.geometry, self._paint(each))
        self._writer.end_group()
        self._draw_units("UnitLayer", units)
        self._writer.start_group(elements.DrawnGroup("Layer"))
        for each in others:
            if each.look.layer == PaintLayer.CONNECTOR:
                self._add(each.feature.geometry, self._paint(each))
        self._draw_walls(drawn)
        self._draw_doors(drawn)
        self._writer.end_group()
        self._draw_units("HitAreaLayer", units)
        self._writer.end_group()

    def _draw_units(self, layer: str, units: Iterable[PaintedFeature]) -> None:
        self._writer.start_group(elements.DrawnGroup(layer))
        prefix = elements.HIT_PREFIX if layer == "HitAreaLayer" else ""
        for each in units:
            unit_id = each.unit_id or ""
            fill = "none" if prefix else each.look.colour
            identity = elements.Identity(prefix + unit_id, unit_id, "Unit")
            self._add(each.feature.geometry, {"fill": fill}, layer, identity)
        self._writer.end_group()

    def _draw_walls(self, drawn: Iterable[PaintedFeature]) -> None:
        outline = {"fill": "none", **self._stroke(WALL_COLOUR, self._wall_feet)}
        for each in drawn:
            if each.look.layer == PaintLayer.ROOM or is_shaft(each):
                self._add(each.feature.geometry, outline)
            elif each.look.layer == PaintLayer.BARRIER:
                self._add(each.feature.geometry, self._paint(each))

    def _draw_doors(self, drawn: list[PaintedFeature]) -> None:
        doors = [each for each in drawn if each.look.layer == PaintLayer.DOOR]
        if not doors:
            return
        gaps = DoorGaps(_iter_walls(drawn), self._units_per_foot)
        for feature, look, _, _ in doors:
            stroke = self._stroke(look.colour, DOOR_PER_WALL * self._wall_feet)
            if isinstance(feature.geometry, PointGeometry):
                width = (tagging.parse_width_feet(feature.tags) or DOOR_FEET) * self._units_per_foot
                for gap in gaps.find(feature.geometry.position, width):
                    self._add(LinesGeometry((gap,)), {"fill": "none", **stroke})
            elif isinstance(feature.geometry, LinesGeometry):
                self._add(feature.geometry, {"fill": "none", **stroke})
            else:
                self._add(feature.geometry, {"fill": look.colour})

    def _paint(self, drawn: PaintedFeature) -> Attributes:
        look = drawn.look
        if isinstance(drawn.feature.geometry, AreaGeometry):
            edge = self._stroke(look.edge, self._wall_feet) if look.edge else {}
            return {"fill": look.colour, **edge}
        width = self._wall_feet if look.line_feet is None else look.line_feet
        stroke = self._stroke(look.colour, width)
        if look.dashes_feet:
            dashes = (each * self._units_per_foot for each in look.dashes_feet)
            stroke["stroke-dasharray"] = " ".join(map(_format, dashes))
        return {"fill": "none", **stroke}

    def _stroke(self, colour: str, feet: float) -> Attributes:
        return {"stroke": colour, "stroke-width": _format(feet * self._units_per_foot)}

    def _add(
        self,
        geometry: Geometry,
        paint: Attributes,
        layer: str = "",
        identity: elements.Identity | None = None,
    ) -> None:
        container = elements.ShapeContainer(self._level, layer)
        for kind, attributes in _to_shapes(geometry):
            shape = elements.DrawnShape(
                kind, {**attributes, **paint}, {}, container, identity, True
            )
            self._writer.add_shape(shape)


def is_shaft(drawn: PaintedFeature) -> bool:
    """Return whether a feature is a lift or stairs with an outline, which has walls."""
    return drawn.look.layer == PaintLayer.CONNECTOR and isinstance(
        drawn.feature.geometry, AreaGeometry
    )


def _iter_walls(drawn: Iterable[PaintedFeature]) -> Iterator[Coordinates]:
    """Iterate over what doors may be in: walls, and the edges of all that has an inside."""
    for feature, look, _, _ in drawn:
        if isinstance(feature.geometry, LinesGeometry) and look.layer == PaintLayer.BARRIER:
            yield from feature.geometry.lines
        elif isinstance(feature.geometry, AreaGeometry) and look.layer != PaintLayer.DOOR:
            for ring in feature.geometry.rings:
                yield (*ring, ring[0])


def _to_shapes(geometry: Geometry) -> Iterator[tuple[str, Attributes]]:
    """Return a geometry as kinds of shapes and their attributes; points have none."""
    match geometry:
        case AreaGeometry((ring,), _):
            yield "Polygon", {"points": _join(ring)}
        case AreaGeometry(rings, nonzero):
            rule = {} if nonzero else {"fill-rule": "evenodd"}
            yield "Path", {"d": " ".join(f"M{_join(ring)}Z" for ring in rings), **rule}
        case LinesGeometry((line,)):
            yield "Polyline", {"points": _join(line)}
        case LinesGeometry(lines):
            yield "Path", {"d": " ".join(f"M{_join(line)}" for line in lines)}


def _join(points: Coordinates) -> str:
    return " ".join(f"{_format(x)},{_format(y)}" for x, y in points)


def _format(number: float) -> str:
    return f"{round(number, DECIMALS) + 0.0:.12g}"  # + 0.0 turns -0.0 into 0.0
