"""An indoor plan as routing sees it: the one model that every source is translated into.

All coordinates are feet in one frame for the whole plan, x to the east and y to the south, as SVG
has it. Geometry may be faulty (self-crossing, empty): processing repairs and reports it. The terms
are those of OpenStreetMap's Simple Indoor Tagging and of IMDF.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from shapely import LineString, MultiLineString, MultiPolygon, Point, Polygon

Polygonal: TypeAlias = Polygon | MultiPolygon
Lineal: TypeAlias = LineString | MultiLineString


class SpaceKind(StrEnum):
    """A room is enclosed and only doors lead into it; what touches of the others is open."""

    ROOM = "room"
    CORRIDOR = "corridor"
    AREA = "area"


class ConnectorKind(StrEnum):
    ELEVATOR = "elevator"
    STEPS = "steps"
    ESCALATOR = "escalator"
    RAMP = "ramp"


class Direction(StrEnum):
    """The way a connector moves, seen from its lowest level."""

    UP = "up"
    DOWN = "down"


@dataclass(frozen=True)
class Level:
    """A storey. `ordinal` orders them and counts storeys: 0, 1 and 2, or 0 and 0.5.

    `outline` is the floor's outer edge (`indoor=level`, IMDF `level`): where no corridor or area is
    drawn, what the rooms leave of it is walkable.
    """

    id: str
    ordinal: float
    name: str = ""
    outline: Polygonal | None = None


@dataclass(frozen=True)
class Space:
    id: str
    level_id: str
    polygon: Polygonal
    kind: SpaceKind = SpaceKind.ROOM
    name: str = ""


@dataclass(frozen=True)
class Barrier:
    """What nobody walks through: a wall drawn as a line, a pillar, a kiosk, a pool."""

    level_id: str
    geometry: Lineal | Polygonal
    id: str = ""


@dataclass(frozen=True)
class Door:
    """An opening in a wall: a point on it, a line along it or a shape across it.

    `width_feet` is the clear width where known. `wheelchair` is False where a source says that
    none passes, None where it says nothing. A `locked` door lets nobody through.
    """

    id: str
    level_id: str
    geometry: Point | Lineal | Polygonal
    width_feet: float | None = None
    wheelchair: bool | None = None
    is_locked: bool = False


@dataclass(frozen=True)
class Connector:
    """A way between levels: one lift, one flight of stairs, one escalator.

    `entrances` has, for each level served, by level id, where it is entered there: the shaft, the
    stairs' outline or end, a point. A connector that is also drawn as a room is a `Space` besides.
    `direction` is the only way it moves, None for both. One out of service serves nobody.
    """

    id: str
    kind: ConnectorKind
    entrances: Mapping[str, Point | Lineal | Polygonal]
    name: str = ""
    wheelchair: bool | None = None
    direction: Direction | None = None
    is_in_service: bool = True


@dataclass(frozen=True)
class PlanLocation:
    """A point of interest or a unit; `space_id` is the space that it stands for, if any."""

    id: str
    level_id: str
    x: float
    y: float
    name: str = ""
    space_id: str | None = None


@dataclass(frozen=True)
class Plan:
    levels: tuple[Level, ...]
    spaces: tuple[Space, ...] = ()
    barriers: tuple[Barrier, ...] = ()
    doors: tuple[Door, ...] = ()
    connectors: tuple[Connector, ...] = ()
    locations: tuple[PlanLocation, ...] = ()
