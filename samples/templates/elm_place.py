"""Elm Place, the property of the templates: two levels of six rooms on a corridor, in feet."""

from collections.abc import Iterator
from typing import NamedTuple

ASSET_ID = "elm-place"
PAGE_WIDTH, PAGE_HEIGHT = 148.5, 105.0
WEST, EAST, LIFT_WEST = 14.0, 134.0, 122.0
NORTH, CORRIDOR_NORTH, CORRIDOR_SOUTH, SOUTH = 13.5, 46.5, 58.5, 91.5
ROOM_WIDTH = (EAST - WEST) / 3
DOOR_WIDTH, DOOR_DEPTH = 3.0, 1.0
WALL_COLOUR = "#3f4855"
DOOR_TAGS = "door=yes;width=0.91"
GYM_TAGS = "indoor=room;leisure=fitness_centre;name=Gym"


class TemplateBox(NamedTuple):
    """A rectangle in feet from the top left corner of the page."""

    name: str
    x: float
    y: float
    width: float
    height: float
    fill: str
    tags: str = ""

    @property
    def corners(self) -> list[tuple[float, float]]:
        right, bottom = self.x + self.width, self.y + self.height
        return [(self.x, self.y), (right, self.y), (right, bottom), (self.x, bottom)]


class TemplateLayer(NamedTuple):
    """A layer of a drawing; its shapes are filled, outlined, both, or neither."""

    name: str
    boxes: list[TemplateBox]
    is_filled: bool
    has_outlines: bool


class TemplateLevel(NamedTuple):
    """One storey; `spaces` are drawn below the apartments, `doors` above them."""

    number: int
    apartments: list[TemplateBox]
    spaces: list[TemplateBox]
    doors: list[TemplateBox]

    @property
    def floor_id(self) -> str:
        return f"{ASSET_ID}-floor-{self.number}"

    @property
    def name(self) -> str:
        """Return the name of the layer, which says what it is and which floor it shows."""
        return f"Level {self.number}: floor={self.floor_id}"

    @property
    def layers(self) -> list[TemplateLayer]:
        """Return the layers from the lowest. Units have no outlines, so walls draw these."""
        return [
            TemplateLayer("Rooms", self.spaces, is_filled=True, has_outlines=True),
            TemplateLayer("UnitLayer", self.apartments, is_filled=True, has_outlines=False),
            TemplateLayer("Walls", self.walls, is_filled=False, has_outlines=True),
            TemplateLayer("Doors", self.doors, is_filled=True, has_outlines=True),
            TemplateLayer("HitAreaLayer", self.apartments, is_filled=False, has_outlines=False),
        ]

    @property
    def layers_above_hit_areas(self) -> list[TemplateLayer]:
        """Return layers for programs that may leave out invisible shapes: units cover hit areas."""
        *others, hit_areas = self.layers
        return [hit_areas._replace(is_filled=True), *others]

    @property
    def walls(self) -> list[TemplateBox]:
        return [box._replace(name=f"Walls {box.name}") for box in self.apartments]


def build_levels() -> list[TemplateLevel]:
    """Return the levels from the lowest; the first has a gym in place of its sixth apartment."""
    return [_build_level(1, gym=True), _build_level(2, gym=False)]


def _build_level(number: int, gym: bool) -> TemplateLevel:
    rooms = list(_rooms(number))
    others = [rooms.pop()._replace(name="Gym", fill="#d8cfe8", tags=GYM_TAGS)] if gym else []
    corridor_depth = CORRIDOR_SOUTH - CORRIDOR_NORTH
    corridor = TemplateBox(
        "Corridor",
        WEST,
        CORRIDOR_NORTH,
        LIFT_WEST - WEST,
        corridor_depth,
        "#f3efe6",
        "indoor=corridor",
    )
    lift = TemplateBox(
        "Lift",
        LIFT_WEST,
        CORRIDOR_NORTH,
        EAST - LIFT_WEST,
        corridor_depth,
        "#c9ced6",
        "indoor=room;highway=elevator;ref=lift-1",
    )
    doors = [*map(_door_of, [*rooms, *others]), _lift_door(lift)]
    return TemplateLevel(number, rooms, [corridor, lift, *others], doors)


def _rooms(number: int) -> Iterator[TemplateBox]:
    rows = ((NORTH, CORRIDOR_NORTH), (CORRIDOR_SOUTH, SOUTH))
    for row, (top, bottom) in enumerate(rows):
        for column in range(3):
            name = f"{ASSET_ID}-{100 * number + 3 * row + column + 1}"
            x = WEST + column * ROOM_WIDTH
            yield TemplateBox(name, x, top, ROOM_WIDTH, bottom - top, "#a9c7b0")


def _door_of(room: TemplateBox) -> TemplateBox:
    wall = CORRIDOR_NORTH if room.y < CORRIDOR_NORTH else CORRIDOR_SOUTH
    x = room.x + (room.width - DOOR_WIDTH) / 2
    return TemplateBox(
        f"Door {room.name}", x, wall - DOOR_DEPTH / 2, DOOR_WIDTH, DOOR_DEPTH, "#ffffff", DOOR_TAGS
    )


def _lift_door(lift: TemplateBox) -> TemplateBox:
    y = lift.y + (lift.height - DOOR_WIDTH) / 2
    return TemplateBox(
        "Door lift", lift.x - DOOR_DEPTH / 2, y, DOOR_DEPTH, DOOR_WIDTH, "#ffffff", DOOR_TAGS
    )
