"""The drawing of a floor plan: the common result of all plan readers.

Coordinates are in units of `Drawing.feet_per_unit` feet, x to the east (right), y to the south
(down). Tags describe features in the terms of OpenStreetMap's Simple Indoor Tagging, even if
the source has its own vocabulary.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from parsing.errors import DocumentRejectedError, ParsingError

Coordinate: TypeAlias = tuple[float, float]
"""x and y; longitude and latitude before projection."""
Coordinates: TypeAlias = tuple[Coordinate, ...]
Tags: TypeAlias = Mapping[str, str]

FEET_PER_METRE: Final = 1 / 0.3048
MAX_EXAMPLES: Final = 5
MAX_FAULTS: Final = 1_000
"""Faults of one cause that a drawing keeps; its notes count the others too."""
MAX_MESSAGE_CHARS: Final = 500
MAX_LISTED_FAULTS: Final = 50
"""Faults that an error message lists."""

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
    """A storey. `ordinal` counts storeys; if None, only the floor record `floor_id` can tell.

    The id of one that is numbered is its place in the drawing, which says nothing of its storey.
    """

    id: str
    name: str
    ordinal: float | None = None
    floor_id: str | None = None
    is_numbered: bool = False


class Feature(NamedTuple):
    """A drawn thing on one or more levels. `unit_id` is set if this is the shape of that unit."""

    id: str
    levels: tuple[str, ...]
    geometry: Geometry
    tags: Tags
    unit_id: str | None = None


class SourcePlace(NamedTuple):
    """The place of a feature in the source; the line counts from 1, and is 0 if unknown.

    >>> SourcePlace("plan.geojson", 4, "Bar").label("features[2]")
    "'Bar'"
    >>> SourcePlace("plan.osm", 4, "Bar").label("way/3")
    "'Bar' (way/3)"
    >>> SourcePlace("plan.geojson", 4).example("features[2]")
    'features[2] (line 4 of plan.geojson)'
    """

    file: str
    line: int = 0
    name: str = ""

    def label(self, part: str) -> str:
        """Return the name of a feature, with its id unless that is a number beside a line."""
        short = part.removeprefix(f"{self.file} ")
        if not self.name:
            return short
        name = f"'{shorten(self.name)}'"
        return name if self.line and is_number(part) else f"{name} ({short})"

    def example(self, part: str) -> str:
        """Return how a note names a feature that has no id of its own: by its name and line."""
        if not is_number(part) or not (self.line or self.name):
            return part
        return self.label(part) + (f" (line {self.line} of {self.file})" if self.line else "")


def is_number(part: str) -> bool:
    """Return whether an id is only the number of a feature, as `features[3]` is."""
    return part.endswith("]") and "features[" in part


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


class ReadingFault(NamedTuple):
    """An error of the source, for which an element was left out or read only in part.

    `cause` groups faults of one kind, and begins with "left out" if the element is. `part` is the
    id of the element, `position` a coordinate of it, `line` counts from 1; they are empty, None or
    0 if unknown. `elements` is how many have the error; `part` is the first of them, and `name`
    its name.

    >>> str(ReadingFault("id is missing", "a node has no id", file="plan.osm", line=7))
    'plan.osm, line 7: a node has no id'
    """

    cause: str
    message: str
    part: str = ""
    file: str = ""
    line: int = 0
    position: Coordinate | None = None
    levels: tuple[str, ...] = ()
    elements: int = 1
    name: str = ""

    @property
    def is_left_out(self) -> bool:
        """Return whether the element was left out; else all or a part of it was read."""
        return self.cause.startswith("left out")

    def __str__(self) -> str:
        places = (self.file, f"line {self.line}" if self.line else "")
        place = ", ".join(filter(None, places))
        return f"{place}: {self.message}" if place else self.message


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
    outside the file. `name` is the name of the building or site, or "". `faults` has the first
    `MAX_FAULTS` errors of the source of each cause; `notes` counts all of them. `to_degrees`
    returns the longitude and latitude of a position, if the source has them. `places` has the
    places of features in the source, by id.
    """

    levels: tuple[DrawnLevel, ...]
    features: tuple[Feature, ...]
    feet_per_unit: float
    bounds: Bounds
    notes: tuple[ReadingNote, ...] = ()
    id_key: str | None = None
    name: str = ""
    faults: tuple[ReadingFault, ...] = ()
    to_degrees: Callable[[Coordinate], Coordinate] | None = field(default=None, compare=False)
    places: Mapping[str, SourcePlace] = field(default_factory=dict, compare=False)


def shorten(text: str) -> str:
    """Return a text that may quote a value of any length, cut to `MAX_MESSAGE_CHARS`."""
    return text if len(text) <= MAX_MESSAGE_CHARS else f"{text[:MAX_MESSAGE_CHARS]}..."


class NoteCollector:
    """Counts reading notes by message and keeps the first few examples of each, and the faults."""

    def __init__(self, places: Mapping[str, SourcePlace] = MappingProxyType({})) -> None:
        self._counts: Counter[str] = Counter()
        self._examples: defaultdict[str, list[str]] = defaultdict(list)
        self.errors: list[ParsingError] = []
        self.faults: list[ReadingFault] = []
        self.fault_count = 0
        self.places: dict[str, SourcePlace] = {**places}
        """Places in the source of what has been read, by id."""

    def add(self, message: str, example: str = "", count: int = 1) -> None:
        self._counts[message] += count
        if example and len(self._examples[message]) < MAX_EXAMPLES:
            self._examples[message].append(example)

    def add_fault(self, fault: ReadingFault) -> None:
        """Note a fault under its cause, and keep it if its cause has fewer than `MAX_FAULTS`.

        One without a line gets that of its part, if it is known; its message begins with the name.
        """
        place = self.places.get(fault.part)
        if place and not fault.line and fault.file in ("", place.file):
            name = fault.name or place.name
            fault = fault._replace(file=place.file, line=place.line, name=name)
        fault = fault._replace(message=_name_part(fault))
        example = f"{fault.file}:{fault.line}" if fault.line else fault.file
        self.add(fault.cause, fault.part or example, fault.elements)
        self.fault_count += 1
        if self._counts[fault.cause] - fault.elements < MAX_FAULTS:
            self.faults.append(fault._replace(message=shorten(fault.message)))

    def leave_out(
        self,
        reason: str,
        message: str,
        part: str = "",
        file: str = "",
        *,
        line: int = 0,
        position: Coordinate | None = None,
        levels: tuple[str, ...] = (),
        elements: int = 1,
        name: str = "",
    ) -> None:
        """Add a fault of an element that is left out; the parameters are those of the fault."""
        cause = f"left out, {reason}"
        self.add_fault(
            ReadingFault(cause, message, part, file, line, position, levels, elements, name)
        )

    @contextmanager
    def reading_file(self, name: str) -> Iterator[None]:
        """Keep the error that ends the reading of a file, so that the other files are read too.

        `raise_errors` raises it. A file over a limit ends the reading of all: DocumentRejectedError
        is raised at once.
        """
        try:
            yield
        except ParsingError as error:
            self.errors.append(type(error)(f"{name}: {error}"))
            if isinstance(error, DocumentRejectedError):
                raise self.errors[-1] from error

    def raise_errors(self) -> None:
        """Raise what `reading_file` has kept, as one error of the first one's class."""
        if self.errors:
            raise type(self.errors[0])("\n".join(map(str, self.errors)))

    def describe_faults(self) -> str:
        """Return a line for each of the first faults, and how many more there are."""
        lines = [str(fault) for fault in self.faults[:MAX_LISTED_FAULTS]]
        more = self.fault_count - len(lines)
        return "\n".join([*lines, f"and {more:,} more"] if more else lines)

    def places_of(self, features: Iterable[Feature]) -> dict[str, SourcePlace]:
        """Return the places of features that are known."""
        return {
            feature.id: place
            for feature in features
            if (place := self.places.get(feature.id)) is not None
        }

    def notes(self) -> tuple[ReadingNote, ...]:
        """Return the notes in order of first occurrence."""
        return tuple(
            ReadingNote(message, count, tuple(map(self._name_example, self._examples[message])))
            for message, count in self._counts.items()
        )

    def _name_example(self, example: str) -> str:
        place = self.places.get(example)
        return place.example(example) if place else example


def _name_part(fault: ReadingFault) -> str:
    """Return the message of a fault, with the name of its part if it begins with the id."""
    if not fault.part or not fault.message.startswith(fault.part):
        return fault.message
    label = SourcePlace(fault.file, fault.line, fault.name).label(fault.part)
    return label + fault.message.removeprefix(fault.part)


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
