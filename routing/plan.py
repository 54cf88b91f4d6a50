"""The indoor plan model that every source format (SVG, OSM, IMDF) is translated into.

All coordinates are feet in one frame for the whole plan, x to the east and y to the south, as in
SVG. Geometry may be invalid (self-crossing, empty): processing repairs and reports it. Terms follow
OpenStreetMap's Simple Indoor Tagging and IMDF.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from shapely import LineString, MultiLineString, MultiPolygon, Point, Polygon

from routing.values import ConnectorKind as ConnectorKind
from routing.values import Direction as Direction
from routing.values import SpaceKind as SpaceKind

Polygonal: TypeAlias = Polygon | MultiPolygon
Lineal: TypeAlias = LineString | MultiLineString


@dataclass(frozen=True)
class Level:
    """A storey. `ordinal` is its height in storeys: 0, 1 and 2, or 0 and 0.5 for a mezzanine.

    `outline` is the floor's outer edge (`indoor=level`, IMDF `level`). If the level has no corridor
    or area, the part of the outline outside all rooms is walkable.
    """

    id: str
    ordinal: float
    name: str = ""
    outline: Polygonal | None = None


@dataclass(frozen=True)
class Space:
    """A room, corridor or area of one level.

    A room that does not need a door, such as a shaft or a utility room, may have none. A private
    room is only the beginning or the end of a route.
    """

    id: str
    level_id: str
    polygon: Polygonal
    kind: SpaceKind = SpaceKind.ROOM
    name: str = ""
    needs_door: bool = True
    is_outdoors: bool = False
    is_private: bool = False

    @property
    def place(self) -> str:
        """Either `indoors` or `outdoors`."""
        return "outdoors" if self.is_outdoors else "indoors"


@dataclass(frozen=True)
class Barrier:
    """An obstacle: a wall drawn as a line, a pillar, a kiosk, a pool."""

    level_id: str
    geometry: Lineal | Polygonal
    id: str = ""


@dataclass(frozen=True)
class Door:
    """An opening in a wall: a point on it, a line along it or a shape across it.

    `width_feet` is the clear width, None if unknown. `wheelchair` is False if the source forbids
    wheelchairs, None if it says nothing. A locked door is impassable, and a private one leads only
    to where routes begin and end. `one_way` is the direction in which alone people pass, a vector;
    None if they pass both ways.
    """

    id: str
    level_id: str
    geometry: Point | Lineal | Polygonal
    width_feet: float | None = None
    wheelchair: bool | None = None
    is_locked: bool = False
    one_way: tuple[float, float] | None = None
    is_private: bool = False


@dataclass(frozen=True)
class Connector:
    """A link between levels: one lift, one flight of stairs, one escalator.

    `entrances` maps each served level's id to the geometry where people enter: a shaft, the outline
    or the end of stairs, a point. A connector that is also drawn as a room has a `Space` as well.
    `direction` is None if it moves both up and down. `confidence`, from 0 to 1, is lower if the
    source does not say that these are one. `flights` are its parts that are drawn as lines, which
    lead up, by the ordinals at their ends.
    """

    id: str
    kind: ConnectorKind
    entrances: Mapping[str, Point | Lineal | Polygonal]
    name: str = ""
    wheelchair: bool | None = None
    direction: Direction | None = None
    is_in_service: bool = True
    confidence: float = 1.0
    width_feet: float | None = None
    flights: Mapping[tuple[float, float], LineString] = field(default_factory=dict)

    @property
    def has_steps(self) -> bool:
        return self.kind in (ConnectorKind.STEPS, ConnectorKind.ESCALATOR)


@dataclass(frozen=True)
class PlanLocation:
    """A point of interest or a unit; `space_id` is the space it represents, if any."""

    id: str
    level_id: str
    x: float
    y: float
    name: str = ""
    space_id: str | None = None


class PartSource(NamedTuple):
    """The feature of a file that a part of a plan is made from: its name and where it stands.

    What is unknown is "" or 0.
    """

    id: str
    name: str = ""
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        if self.line:
            return f"line {self.line} of {self.file}" if self.file else f"line {self.line}"
        return f"{self.id} of {self.file}" if self.file not in self.id else self.id


@dataclass(frozen=True)
class Plan:
    """A whole building; see `tests/routing/ascii_plans.py` for plans drawn in ASCII.

    `sources` has what parts are made from, by id, for messages.
    """

    levels: tuple[Level, ...]
    spaces: tuple[Space, ...] = ()
    barriers: tuple[Barrier, ...] = ()
    doors: tuple[Door, ...] = ()
    connectors: tuple[Connector, ...] = ()
    locations: tuple[PlanLocation, ...] = ()
    sources: Mapping[str, PartSource] = field(default_factory=dict, compare=False)
