"""The drawing of a floor plan: the common result of all plan readers.

Coordinates are in units of `Drawing.feet_per_unit` feet, x to the east (right), y to the south
(down). Tags describe features in the terms of OpenStreetMap's Simple Indoor Tagging, even if
the source has its own vocabulary.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

Coordinate: TypeAlias = tuple[float, float]
"""x and y; longitude and latitude before projection."""
Coordinates: TypeAlias = tuple[Coordinate, ...]
Tags: TypeAlias = Mapping[str, str]

FEET_PER_METRE: Final = 1 / 0.3048
MAX_EXAMPLES: Final = 5

AREA_VALUES: Final = frozenset({"room", "corridor", "area", "level"})
"""Values of the tag `indoor` that make a closed outline an area and never a line."""


class PointGeometry(NamedTuple):
    """A single point, such as a door or an amenity."""

    position: Coordinate


class LinesGeometry(NamedTuple):
    """One or more lines of at least two points each."""

    lines: tuple[Coordinates, ...]


class AreaGeometry(NamedTuple):
    """The inside of rings that do not repeat their first point at the end.

    By default the even-odd rule decides what is inside; `nonzero` selects SVG's fill rule of that
    name (SVG 2, section 13.4.2).
    """

    rings: tuple[Coordinates, ...]
    nonzero: bool = False


Geometry: TypeAlias = PointGeometry | LinesGeometry | AreaGeometry


class DrawnLevel(NamedTuple):
    """A storey. `ordinal` counts storeys; if None, only the floor record `floor_id` can tell."""

    id: str
    name: str
    ordinal: float | None = None
    floor_id: str | None = None


class Feature(NamedTuple):
    """A drawn thing on one or more levels. `unit_id` is set if this is the shape of that unit."""

    id: str
    levels: tuple[str, ...]
    geometry: Geometry
    tags: Tags
    unit_id: str | None = None


@dataclass(frozen=True, slots=True)
class ReadingNote:
    """A deviation of the drawing from its source: how often it occurs and the ids of examples.

    >>> str(ReadingNote("shape without extent", 3, ("wall-1", "wall-2")))
    'shape without extent: 3 (wall-1, wall-2, ...)'
    """

    message: str
    count: int
    examples: tuple[str, ...] = ()

    def __str__(self) -> str:
        names = ", ".join(self.examples)
        more = ", ..." if 0 < len(self.examples) < self.count else ""
        return f"{self.message}: {self.count}" + (f" ({names}{more})" if names else "")


class Bounds(NamedTuple):
    """A bounding box in drawing units."""

    west: float
    north: float
    east: float
    south: float


@dataclass(frozen=True, slots=True)
class Drawing:
    """All features of a plan, by level.

    `id_key` is the tag under which a location keeps its feature's id, or None if ids mean nothing
    outside the file. `name` is the name of the building or site, or "".
    """

    levels: tuple[DrawnLevel, ...]
    features: tuple[Feature, ...]
    feet_per_unit: float
    bounds: Bounds
    notes: tuple[ReadingNote, ...] = ()
    id_key: str | None = None
    name: str = ""


class NoteCollector:
    """Counts reading notes by message and keeps the first few examples of each."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._examples: defaultdict[str, list[str]] = defaultdict(list)

    def add(self, message: str, example: str = "") -> None:
        self._counts[message] += 1
        if example and len(self._examples[message]) < MAX_EXAMPLES:
            self._examples[message].append(example)

    def notes(self) -> tuple[ReadingNote, ...]:
        """Return the notes in order of first occurrence."""
        return tuple(
            ReadingNote(message, count, tuple(self._examples[message]))
            for message, count in self._counts.items()
        )


def iter_coordinates(geometry: Geometry) -> Iterable[Coordinate]:
    """Iterate over every coordinate of a geometry."""
    match geometry:
        case PointGeometry(position):
            yield position
        case LinesGeometry(paths) | AreaGeometry(paths, _):
            for path in paths:
                yield from path


def compute_bounds(geometries: Iterable[Geometry]) -> Bounds:
    """Return the smallest box around at least one coordinate."""
    points = (point for geometry in geometries for point in iter_coordinates(geometry))
    xs, ys = zip(*points, strict=True)
    return Bounds(min(xs), min(ys), max(xs), max(ys))
