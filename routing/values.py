"""Small values that callers of routing hold; other modules compute with them.

This module imports neither numpy nor shapely: a worker that starts needs it alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

FEET_PER_METRE: Final = 1 / 0.3048
"""The international foot is 0.3048 m exactly."""


ProcessingProgress = Callable[[float, str], None]
"""Called with the completed share, from 0 to 1, and the name of the next step."""


def ignore_progress(share: float, step: str) -> None:
    """Accept progress and do nothing."""


MAX_STEP_NAMES = 10
"""Spaces and rooms that a step names, the last ones: a hall may have hundreds of doors."""


class TravelMode(StrEnum):
    """A way to travel: it decides which doors and connectors routes use."""

    FOOT = "foot"
    WHEELCHAIR = "wheelchair"


class SpaceKind(StrEnum):
    """A room is enclosed: only doors lead into it. Touching corridors and areas are open floor."""

    ROOM = "room"
    CORRIDOR = "corridor"
    AREA = "area"


class ConnectorKind(StrEnum):
    """A kind of connector, which carries people between levels."""

    ELEVATOR = "elevator"
    STEPS = "steps"
    ESCALATOR = "escalator"
    RAMP = "ramp"


class Direction(StrEnum):
    """The only direction in which a one-way connector moves."""

    UP = "up"
    DOWN = "down"


@dataclass(frozen=True)
class Restrictions:
    """Parts of a map that routes do not use: by id, by kind, or all that is outdoors.

    Floor in a closed space is no floor: nothing leads to what stands there.
    """

    connector_ids: frozenset[str] = frozenset()
    door_ids: frozenset[str] = frozenset()
    space_ids: frozenset[str] = frozenset()
    connector_kinds: frozenset[ConnectorKind] = frozenset()
    outdoors: bool = False

    def __bool__(self) -> bool:
        return self.outdoors or self.have_ids or bool(self.connector_kinds)

    @property
    def have_ids(self) -> bool:
        """True if any part is restricted by its id, as only operators do."""
        return bool(self.connector_ids or self.door_ids or self.space_ids)

    def __or__(self, other: Restrictions) -> Restrictions:
        """Return what either restricts."""
        return Restrictions(
            self.connector_ids | other.connector_ids,
            self.door_ids | other.door_ids,
            self.space_ids | other.space_ids,
            self.connector_kinds | other.connector_kinds,
            self.outdoors or other.outdoors,
        )

    @property
    def of_floor(self) -> Restrictions:
        """The part that takes floor away, which is what takes long."""
        return replace(self, connector_ids=frozenset(), connector_kinds=frozenset())


class Position(NamedTuple):
    """A point on a level, in feet."""

    level_id: str
    x: float
    y: float


WaypointRef: TypeAlias = str | Position
"""The id of a location, or a position."""


class NearestLocation(NamedTuple):
    """A location and the length and time of the fastest route to it."""

    location_id: str
    feet: float
    seconds: float
