"""Read a unit-map SVG with `data-tags` on its shapes into a drawing in its own user units."""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Final

from parsing.drawing import (
    AREA_VALUES,
    FEET_PER_METRE,
    AreaGeometry,
    Coordinate,
    Coordinates,
    Drawing,
    DrawnLevel,
    Feature,
    Geometry,
    LinesGeometry,
    NoteCollector,
    ReadingFault,
    compute_bounds,
)
from parsing.errors import InvalidMarkupError, InvalidPlanError
from parsing.limits import DEFAULT_LIMITS, DocumentLimits
from parsing.svg.elements import DrawingHandler, DrawnGroup, DrawnShape, RejectedShape, parse_tags
from parsing.svg.lengths import Number
from parsing.svg.names import RECT_LENGTHS
from parsing.svg.outlines import Outline, find_start, trace_shape
from parsing.svg.transforms import parse_transform
from parsing.svg.walk_drawing import walk_drawing
from parsing.xml_documents import SourceLines, decode_document

CURVE_TOLERANCE_FEET: Final = 0.01 * FEET_PER_METRE
"""Largest distance between a curve and its chords: a centimetre."""

FLOOR_KEY: Final = "floor"
UNTAGGED_NOTES: Final = {
    "": "shape without data-tags",
    "UnitLayer": "shape of a UnitLayer that names no unit",
}


def read_svg_plan(
    svg: bytes,
    feet_per_unit: float,
    collector: NoteCollector,
    limits: DocumentLimits = DEFAULT_LIMITS,
    *,
    file: str = "",
) -> Drawing:
    """Read a plan; shapes that are left out are faults, in the `file` of that name.

    Raises `ParsingError` with line and column.

    A drawing without Levels has one level with an empty id. Shapes hidden by their style are read
    too, so that a designer can add features that viewers do not show.
    """
    if not (math.isfinite(feet_per_unit) and feet_per_unit > 0):
        raise InvalidPlanError(f"feet per unit is {feet_per_unit:g}; expected a number above 0")
    lines = SourceLines(collector, file)
    reader = _PlanHandler(CURVE_TOLERANCE_FEET / feet_per_unit, collector, limits, lines)
    for warning in walk_drawing(svg, reader, limits):
        if warning.code == "read-as":
            for place in warning.places:
                collector.add("group read by its name", f"{place.name}, line {place.line}")
    document = decode_document(svg, limits)
    lines.number_faults(document)
    lines.set_places(document)
    return reader.build_drawing(feet_per_unit)


def read_level(level_id: str, tags: Mapping[str, str] | None, number: int) -> DrawnLevel:
    """Return a Level, the `number`th of the drawing. Those with equal ids are one.

    >>> read_level("", None, 2)
    DrawnLevel(id='Level 2', name='Level 2', ordinal=None, floor_id=None, is_numbered=True)
    """
    floor_id = (tags or {}).get(FLOOR_KEY)
    id = floor_id or level_id or f"Level {number}"
    return DrawnLevel(id, level_id or id, None, floor_id, not (floor_id or level_id))


class _PlanHandler(DrawingHandler):
    """Collects the shapes that have tags or represent units, by level."""

    def __init__(
        self, tolerance: float, collector: NoteCollector, limits: DocumentLimits, lines: SourceLines
    ) -> None:
        self._tolerance = tolerance
        self._lines = lines
        self._limits = limits
        self._levels: dict[int, DrawnLevel] = {}  # by id() of the group
        self._groups: list[DrawnGroup] = []  # keeps groups alive, so that no id() is reused
        self._features: list[Feature] = []
        self._features_outside_levels: list[Feature] = []
        self._id_counts: Counter[str] = Counter()
        self._notes = collector
        self._open_shape: DrawnShape | None = None

    def start_group(self, group: DrawnGroup) -> None:
        if group.kind == "Level":
            read = read_level(group.id, group.tags, len(self._groups) + 1)
            if any(level.id == read.id for level in self._levels.values()):
                self._notes.add("Levels of one floor, read as one", read.id)
            self._groups.append(group)
            self._levels[id(group)] = read

    def reject_shape(self, error: InvalidMarkupError, shape: RejectedShape) -> None:
        level = self._levels.get(id(shape.level))
        name = f"{shape.kind} {shape.id!r}" if shape.id else f"a {shape.kind}"
        fault = ReadingFault(
            "left out, invalid attribute",
            f"{name}: {error.message}",
            shape.id,
            self._lines.file,
            position=self._locate_open_shape(),
            levels=(level.id,) if level else (),
        )
        self._lines.add_fault(fault, shape.ordinal)
        self._open_shape = None

    def add_shape(self, shape: DrawnShape) -> None:
        if shape.is_part:
            return
        self._open_shape = shape
        self._read_shape(shape)
        self._open_shape = None

    def _locate_open_shape(self) -> Coordinate | None:
        """Return where the shape starts that is being read, or None if its attributes hide it."""
        if self._open_shape is None:
            return None
        attributes = self._open_shape.attributes
        try:
            start = find_start(self._open_shape.kind, attributes)
            matrix = parse_transform(str(attributes.get("transform", "")))
        except InvalidMarkupError:
            return None
        position = matrix.apply(start) if start else None
        is_near = position and all(abs(each) <= self._limits.magnitude for each in position)
        return position if is_near else None

    def _read_shape(self, shape: DrawnShape) -> None:
        tags = parse_tags(shape.source.get("data-tags", ""))
        layer, identity = shape.container.layer, shape.identity
        unit_id = identity.id if identity and layer == "UnitLayer" else None
        if unit_id:
            tags.setdefault("indoor", "room")
        if not tags:
            if note := UNTAGGED_NOTES.get(layer):
                self._notes.add(note)
            return
        _check_rect_lengths(shape)
        geometry = self._build_geometry(shape.kind, shape.attributes, tags)
        written_id = unit_id or shape.source.get("id", "")
        if geometry is None:
            self._notes.add("shape without extent", written_id)
            return
        level = self._levels.get(id(shape.container.level))
        level_id = level.id if level else ""
        feature_id = self._unique_id(written_id or f"{level_id}#")
        self._lines.add_part(feature_id, shape.ordinal)
        feature = Feature(feature_id, (level_id,), geometry, tags, unit_id)
        (self._features if level else self._features_outside_levels).append(feature)

    def build_drawing(self, feet_per_unit: float) -> Drawing:
        levels: tuple[DrawnLevel, ...] = (DrawnLevel("", ""),)
        features = self._features_outside_levels
        if self._levels:
            for feature in features:
                self._notes.add("data-tags outside of every Level", feature.id)
            # Of Levels with one id the first counts, at the place of the last.
            by_id = {level.id: level for level in reversed(self._levels.values())}
            levels, features = tuple(reversed(by_id.values())), self._features
        if not features:
            raise InvalidPlanError(
                "no shape is marked as a feature; a room is a shape with data-tags="
                '"indoor=room", or one in the UnitLayer of a Level'
            )
        bounds = compute_bounds(feature.geometry for feature in features)
        notes, faults = self._notes.notes(), tuple(self._notes.faults)
        places = self._notes.places_of(features)
        return Drawing(
            levels, tuple(features), feet_per_unit, bounds, notes, faults=faults, places=places
        )

    def _unique_id(self, requested: str) -> str:
        """Return the id itself the first time it is requested, later with a number after it.

        An id that ends in "#" is only a prefix and always gets its number.
        """
        self._id_counts[requested] += 1
        count = self._id_counts[requested]
        if requested.endswith("#"):
            return f"{requested}{count}"
        return requested if count == 1 else f"{requested}#{count}"

    def _build_geometry(
        self, kind: str, attributes: Mapping[str, str | Number], tags: Mapping[str, str]
    ) -> Geometry | None:
        matrix = parse_transform(str(attributes.get("transform", "")))
        scale = matrix.max_scale or 1.0
        outlines = [
            Outline(tuple(map(matrix.apply, line.points)), line.is_closed)
            for line in trace_shape(kind, attributes, self._tolerance / scale)
        ]
        for line in outlines:
            self._check_coordinates(line.points)
        return _to_geometry(outlines, attributes, tags)

    def _check_coordinates(self, points: Coordinates) -> None:
        for number in (number for point in points for number in point):
            if not abs(number) <= self._limits.magnitude:
                raise InvalidMarkupError(
                    f"a coordinate is too large; at most {self._limits.magnitude:,} is read"
                )


def _check_rect_lengths(shape: DrawnShape) -> None:
    """Raise `InvalidMarkupError` for a length of a Rect that was dropped because it is none."""
    if shape.kind == "Rect":
        for name in RECT_LENGTHS & shape.source.keys() - shape.attributes.keys():
            value = shape.source[name]
            if value != "auto":
                raise InvalidMarkupError(f"{name} is {value!r}; expected a length such as 12.5")


def _to_geometry(
    outlines: list[Outline], attributes: Mapping[str, str | Number], tags: Mapping[str, str]
) -> Geometry | None:
    """Return an area for closed outlines and spaces, else lines; walls without fill are lines."""
    rings = tuple(line.points for line in outlines if len(line.points) > 2)
    is_space = tags.get("indoor") in AREA_VALUES
    is_outline = tags.get("indoor") == "wall" and attributes.get("fill") == "none"
    if rings and not is_outline and (is_space or all(line.is_closed for line in outlines)):
        return AreaGeometry(rings, nonzero=attributes.get("fill-rule") != "evenodd")
    lines = tuple(
        (*line.points, line.points[0]) if line.is_closed else line.points for line in outlines
    )
    return LinesGeometry(lines) if lines else None
