"""What the catalog has of a plan already, and what it gets from it."""

from typing import Any, NamedTuple

RecordDict = dict[str, Any]


class ExistingLocation(NamedTuple):
    """A location of the map, in the map's units. `unit_id` is the unit that it stands for."""

    id: str
    name: str
    x: float
    y: float
    floor_id: str
    unit_id: str | None
