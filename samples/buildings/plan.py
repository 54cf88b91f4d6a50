"""The parts of a building: storeys with spaces, doors and strokes, all in feet."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from parsing.drawing import FEET_PER_METRE
from samples.buildings.frame import LocalFrame, PlanPosition, Polyline

Tags = dict[str, str]
"""OpenStreetMap indoor terms."""

AMENITY_KEYS = frozenset({"amenity", "leisure", "office", "shop"})


@dataclass(frozen=True)
class DrawnSpace:
    """A named room, corridor, area, stair or lift. `anchor` is a point inside `outline`."""

    name: str
    outline: Polyline
    anchor: PlanPosition
    fill: str
    tags: Tags
    has_walls: bool = True

    @property
    def is_amenity(self) -> bool:
        return not AMENITY_KEYS.isdisjoint(self.tags)


@dataclass(frozen=True)
class Apartment:
    number: str
    kind: str
    space: DrawnSpace
    area_square_feet: int
    features: tuple[str, ...]


@dataclass(frozen=True)
class DrawnDoor:
    outline: Polyline
    width_feet: float
    tags: Tags

    @property
    def osm_tags(self) -> Tags:
        """The door in OpenStreetMap's terms, with its width in metres."""
        return {"door": "yes", "width": f"{self.width_feet / FEET_PER_METRE:.2f}", **self.tags}


@dataclass(frozen=True)
class CircleShape:
    """A tree or a parasol."""

    centre: PlanPosition
    radius_feet: float
    fill: str


@dataclass
class Storey:
    """One level during layout: spaces and doors are added, then it is drawn."""

    number: int
    name: str
    label: str
    grounds: list[DrawnSpace] = field(default_factory=list)
    corridors: list[DrawnSpace] = field(default_factory=list)
    rooms: list[DrawnSpace] = field(default_factory=list)
    connectors: list[DrawnSpace] = field(default_factory=list)
    apartments: list[Apartment] = field(default_factory=list)
    doors: list[DrawnDoor] = field(default_factory=list)
    discs: list[CircleShape] = field(default_factory=list)
    strokes: dict[str, list[Polyline]] = field(default_factory=lambda: defaultdict(list))

    def add_door(
        self,
        frame: LocalFrame,
        u: float,
        wall: tuple[float, float],
        width_feet: float = 3.0,
        **tags: str,
    ) -> None:
        """Add a door centred on `u` through the wall from v = `wall[0]` to `wall[1]`.

        It reaches a quarter of a foot into the space on either side.
        """
        near, far = min(wall) - 0.25, max(wall) + 0.25
        outline = frame.rectangle(u - width_feet / 2, near, u + width_feet / 2, far)
        self.doors.append(DrawnDoor(outline, width_feet, tags))

    @property
    def spaces(self) -> list[DrawnSpace]:
        flats = [flat.space for flat in self.apartments]
        return [*self.grounds, *self.corridors, *self.rooms, *self.connectors, *flats]

    @property
    def amenities(self) -> list[DrawnSpace]:
        return [space for space in self.spaces if space.is_amenity]


@dataclass(frozen=True)
class Building:
    id: str
    name: str
    width_feet: float
    height_feet: float
    latitude: float
    longitude: float
    storeys: tuple[Storey, ...]

    def floor_id(self, storey: Storey) -> str:
        return f"{self.id}-floor-{storey.number}"

    @property
    def map_id(self) -> str:
        return f"{self.id}-floor-plates"

    @property
    def apartments(self) -> list[Apartment]:
        return [flat for storey in self.storeys for flat in storey.apartments]
