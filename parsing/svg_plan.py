"""A unit-map SVG whose shapes carry `data-tags` -> a drawing in its own user units."""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Final

from parsing.drawing import (
    Area,
    Coordinates,
    Drawing,
    Feature,
    Geometry,
    Level,
    Lines,
    Notebook,
    bounds_of,
)
from parsing.elements import Georeference, Group, Place
from parsing.errors import InvalidMarkup, InvalidPlan
from parsing.identities import Identity
from parsing.lengths import Number
from parsing.limits import DEFAULT, Limits
from parsing.matrices import parse_transform
from parsing.outlines import Trace, trace
from parsing.projection import FEET_PER_METRE
from parsing.tags import parse_tags
from parsing.walk import walk

TOLERANCE_FEET: Final = 0.01 * FEET_PER_METRE
"""How far the chords that stand for a curve may lie from it: a centimetre."""

AREAS: Final = frozenset({"room", "corridor", "area", "level"})
FLOOR: Final = "floor"
UNTAGGED: Final = {
    "": "shape without data-tags",
    "UnitLayer": "shape of a UnitLayer that names no unit",
}


def read(svg: bytes, feet_per_unit: float, limits: Limits = DEFAULT) -> Drawing:
    """Raises `ParsingError`, with line and column.

    A drawing without Levels is one level, whose id is empty. Shapes hidden by their style are
    read as well: they are how a designer adds to a plan what viewers need not see.
    """
    if not (math.isfinite(feet_per_unit) and feet_per_unit > 0):
        raise InvalidPlan(f"feet per unit is {feet_per_unit:g}; expected a number above 0")
    reader = _Reader(TOLERANCE_FEET / feet_per_unit, limits)
    walk(svg, reader, limits)
    return reader.finish(feet_per_unit)


class _Reader:
    """Takes shapes that carry tags or stand for units, by the Level around them."""

    def __init__(self, tolerance: float, limits: Limits) -> None:
        self._tolerance = tolerance
        self._limits = limits
        self._levels: dict[int, Level] = {}  # by the identity of the group
        self._groups: list[Group] = []  # kept, so that no identity is used twice
        self._features: list[Feature] = []
        self._outside: list[Feature] = []
        self._names: Counter[str] = Counter()
        self._notebook = Notebook()

    def canvas(self, width: int, height: int) -> None:
        """The size of the sheet says nothing about the plan."""

    def georeference(self, georeference: Georeference) -> None:
        """Distances need no place on Earth."""

    def open(self, group: Group) -> None:
        if group.kind == "Level":
            number = len(self._groups) + 1
            floor_id = (group.tags or {}).get(FLOOR)
            level_id = floor_id or group.id or f"Level {number}"
            if any(level.id == level_id for level in self._levels.values()):
                self._notebook.add("Levels of one floor, read as one", level_id)
            self._groups.append(group)
            self._levels[id(group)] = Level(level_id, group.id or level_id, None, floor_id)

    def close(self) -> None:
        """Shapes come with the Level that they are in."""

    def shape(
        self,
        kind: str,
        attributes: Mapping[str, str | Number],
        source: Mapping[str, str],
        place: Place,
        identity: Identity | None,
        visible: bool,
    ) -> None:
        tags = parse_tags(source.get("data-tags", ""))
        unit_id = identity.id if identity and place.layer == "UnitLayer" else None
        if unit_id:
            tags.setdefault("indoor", "room")
        if not tags:
            if note := UNTAGGED.get(place.layer):
                self._notebook.add(note)
            return
        geometry = self._geometry(kind, attributes, tags)
        if geometry is None:
            self._notebook.add("shape without extent", unit_id or source.get("id", ""))
            return
        level = self._levels.get(id(place.level))
        name = self._name(unit_id or source.get("id") or f"{level.id if level else ''}#", level)
        feature = Feature(name, (level.id if level else "",), geometry, tags, unit_id)
        (self._features if level else self._outside).append(feature)

    def finish(self, feet_per_unit: float) -> Drawing:
        if not self._levels:
            return self._drawing((Level("", ""),), self._outside, feet_per_unit)
        for feature in self._outside:
            self._notebook.add("data-tags outside of every Level", feature.id)
        levels = {level.id: level for level in reversed(self._levels.values())}
        return self._drawing(tuple(reversed(levels.values())), self._features, feet_per_unit)

    def _drawing(
        self, levels: tuple[Level, ...], features: list[Feature], feet_per_unit: float
    ) -> Drawing:
        if not features:
            raise InvalidPlan(
                "no shape says what it is; a room is a shape with data-tags="
                '"indoor=room", or one in the UnitLayer of a Level'
            )
        bounds = bounds_of(feature.geometry for feature in features)
        notes = self._notebook.notes()
        return Drawing(levels, tuple(features), feet_per_unit, bounds, notes)

    def _name(self, wanted: str, level: Level | None) -> str:
        """The id itself the first time; numbered where there is none or it comes again."""
        self._names[wanted] += 1
        count = self._names[wanted]
        if wanted.endswith("#"):
            return f"{wanted}{count}"
        return wanted if count == 1 else f"{wanted}#{count}"

    def _geometry(
        self, kind: str, attributes: Mapping[str, str | Number], tags: Mapping[str, str]
    ) -> Geometry | None:
        matrix = parse_transform(str(attributes.get("transform", "")))
        stretch = matrix.stretch or 1.0
        traces = [
            Trace(tuple(map(matrix.apply, line.points)), line.is_closed)
            for line in trace(kind, attributes, self._tolerance / stretch)
        ]
        for line in traces:
            self._check(line.points)
        nonzero = attributes.get("fill-rule", "nonzero") != "evenodd"
        return _filled(traces, attributes, tags, nonzero)

    def _check(self, points: Coordinates) -> None:
        for number in (number for point in points for number in point):
            if not abs(number) <= self._limits.magnitude:
                raise InvalidMarkup(
                    f"a coordinate is too large; at most {self._limits.magnitude:,} is read"
                )


def _filled(
    traces: list[Trace],
    attributes: Mapping[str, str | Number],
    tags: Mapping[str, str],
    nonzero: bool,
) -> Geometry | None:
    """What is closed, or said to be a space, is an area; walls without fill are lines."""
    rings = tuple(line.points for line in traces if len(line.points) > 2)
    is_space = tags.get("indoor") in AREAS
    is_outline = tags.get("indoor") == "wall" and attributes.get("fill") == "none"
    if rings and not is_outline and (is_space or all(line.is_closed for line in traces)):
        return Area(rings, nonzero)
    lines = tuple(
        (*line.points, line.points[0]) if line.is_closed else line.points for line in traces
    )
    return Lines(lines) if lines else None
