"""A floor plan as its source draws it: the one value that every reader of plans returns.

Coordinates are in units of `Drawing.feet_per_unit` feet, x to the east (to the right), y to the
south (down). What a feature is, its tags say in the terms of OpenStreetMap's Simple Indoor
Tagging, whatever the source calls it.
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
    position: Coordinate


class LinesGeometry(NamedTuple):
    """One line or several, each of at least two points."""

    lines: tuple[Coordinates, ...]


class AreaGeometry(NamedTuple):
    """What rings surround; a ring's first point is not repeated at its end.

    Inside is what an odd number of rings surrounds, or with `nonzero` what SVG's fill rule of
    that name fills (SVG 2, section 13.4.2).
    """

    rings: tuple[Coordinates, ...]
    nonzero: bool = False


Geometry: TypeAlias = PointGeometry | LinesGeometry | AreaGeometry


class DrawnLevel(NamedTuple):
    """A storey. `ordinal` counts storeys; None where only the floor that it shows can tell."""

    id: str
    name: str
    ordinal: float | None = None
    floor_id: str | None = None


class Feature(NamedTuple):
    """Something drawn, on one level or more; `unit_id` is set where it is that unit's shape."""

    id: str
    levels: tuple[str, ...]
    geometry: Geometry
    tags: Tags
    unit_id: str | None = None


@dataclass(frozen=True, slots=True)
class ReadingNote:
    """Something that a reader did not take as it stands, how often, and a few of whose ids."""

    message: str
    count: int
    examples: tuple[str, ...] = ()

    def __str__(self) -> str:
        names = ", ".join(self.examples)
        more = ", ..." if 0 < len(self.examples) < self.count else ""
        return f"{self.message}: {self.count}" + (f" ({names}{more})" if names else "")


class Bounds(NamedTuple):
    west: float
    north: float
    east: float
    south: float


@dataclass(frozen=True, slots=True)
class Drawing:
    """`id_key` is the tag that keeps a feature's id on its location, None where ids mean nothing.

    `name` is the place's, empty where the source does not tell it.
    """

    levels: tuple[DrawnLevel, ...]
    features: tuple[Feature, ...]
    feet_per_unit: float
    bounds: Bounds
    notes: tuple[ReadingNote, ...] = ()
    id_key: str | None = None
    name: str = ""


class NoteCollector:
    """Counts what is not understood, by name."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._examples: defaultdict[str, list[str]] = defaultdict(list)

    def add(self, message: str, example: str = "") -> None:
        self._counts[message] += 1
        if example and len(self._examples[message]) < MAX_EXAMPLES:
            self._examples[message].append(example)

    def notes(self) -> tuple[ReadingNote, ...]:
        """In the order of first mention."""
        return tuple(
            ReadingNote(message, count, tuple(self._examples[message]))
            for message, count in self._counts.items()
        )


def iter_coordinates(geometry: Geometry) -> Iterable[Coordinate]:
    """Every coordinate of a geometry."""
    match geometry:
        case PointGeometry(at):
            yield at
        case LinesGeometry(paths) | AreaGeometry(paths, _):
            for path in paths:
                yield from path


def compute_bounds(geometries: Iterable[Geometry]) -> Bounds:
    """The smallest box around geometries, of which there must be one."""
    xs, ys = zip(*(at for geometry in geometries for at in iter_coordinates(geometry)), strict=True)
    return Bounds(min(xs), min(ys), max(xs), max(ys))
