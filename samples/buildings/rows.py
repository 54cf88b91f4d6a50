"""Rows of apartments and rooms along a corridor, and the stairs and lifts between them.

In a row's frame the corridor ends at v = -0.5, the row reaches from v = 0 to 28 and its
facade to v = 29: walls are half a foot inside and a foot outside.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from samples.buildings.apartments import DEPTH_FEET, ApartmentType, furnish_room
from samples.buildings.plan import (
    Apartment,
    CircleShape,
    DrawnSpace,
    LocalFrame,
    PlanPosition,
    Polyline,
    Storey,
    Tags,
    area_square_feet,
    close_ring,
)

WALL_FEET = 0.5
CORRIDOR_WALL = (-0.5, 0.0)
FACADE = (28.0, 29.0)
STAIR_WIDTH_FEET, STAIR_DEPTH_FEET = 9.5, 18.0
CORRIDOR_FILL, SERVICE_FILL, AMENITY_FILL = "#f3efe6", "#dcd8cf", "#f2c6a5"


@dataclass(frozen=True)
class RoomRow:
    """A frame and the view of its windows; a row without a view has no windows."""

    frame: LocalFrame
    view: str | None = None


@dataclass(frozen=True)
class ApartmentSlot:
    """An apartment in a row. `tail_feet` is its extent behind a stair; `flip` mirrors it."""

    stack: int
    kind: ApartmentType
    width_feet: float
    bay: bool = False
    balcony: bool = False
    corner: bool = False
    flip: bool = False
    tail_feet: float = 0.0


@dataclass(frozen=True)
class RoomSlot:
    name: str
    width_feet: float
    tags: Tags = field(default_factory=dict)
    depth_feet: float = DEPTH_FEET
    door_u_feet: float | None = None
    door_width_feet: float = 3.0
    garden_door: bool = False


def place_slots(storey: Storey, row: RoomRow, slots: Iterable[ApartmentSlot | RoomSlot]) -> None:
    """Place `slots` one after another along `row`, from u = 0."""
    u = 0.0
    for slot in slots:
        rest_of_row = RoomRow(row.frame.shift(u), row.view)
        if isinstance(slot, ApartmentSlot):
            add_flat(storey, rest_of_row, slot)
        else:
            add_room(storey, rest_of_row, slot)
        u += slot.width_feet + WALL_FEET


def add_flat(storey: Storey, row: RoomRow, flat: ApartmentSlot) -> None:
    frame = row.frame.mirror(flat.width_feet) if flat.flip else row.frame
    outline = outline_flat(frame, flat)
    number = f"{storey.number}{flat.stack:02d}"
    tags = {"indoor": "room", "room": "apartment", "ref": number}
    anchor = frame.to_point(flat.width_feet / 2 + flat.kind.label_shift_feet, 11.4)
    space = DrawnSpace(number, outline, anchor, flat.kind.fill, tags)
    has_balcony = flat.balcony and storey.number > 1
    features = {
        row.view or "": row.view is not None,
        "balcony": has_balcony,
        "bay-window": flat.bay,
        "corner": flat.corner,
        "top-floor": storey.number == 5,
    }
    own_features = tuple(feature for feature, holds in features.items() if holds)
    area = round(area_square_feet(outline))
    storey.apartments.append(Apartment(number, flat.kind.key, space, area, own_features))
    door_u = flat.kind.door_u_feet(flat.width_feet)
    storey.add_door(frame, door_u, CORRIDOR_WALL)
    storey.strokes["swings"].append(frame.door_swing(door_u - 1.5, 0.0, 3.0))
    flat.kind.furnish(storey, frame, flat.width_feet)
    add_windows(storey, frame, flat)
    if has_balcony:
        add_balcony(storey, frame, flat)


def outline_flat(frame: LocalFrame, flat: ApartmentSlot) -> Polyline:
    width, depth = flat.width_feet, DEPTH_FEET
    if flat.tail_feet:
        behind, end = STAIR_DEPTH_FEET + WALL_FEET, width + flat.tail_feet
        return frame.line(
            (0, 0), (width, 0), (width, behind), (end, behind), (end, depth), (0, depth)
        )
    if flat.bay:
        near, far = bay_window_span(width)
        bay = ((far, depth), (far - 2, depth + 3), (near + 2, depth + 3), (near, depth))
        return frame.line((0, 0), (width, 0), (width, depth), *bay, (0, depth))
    return frame.rectangle(0, 0, width, depth)


def bay_window_span(width_feet: float) -> tuple[float, float]:
    """Return start and end of a bay window: the middle twelve feet of a facade."""
    return width_feet / 2 - 6, width_feet / 2 + 6


def add_windows(storey: Storey, frame: LocalFrame, flat: ApartmentSlot) -> None:
    width = flat.width_feet
    near, far = bay_window_span(width)
    count = max(1, int(width // 8))
    for index in range(count):
        centre = width * (index + 0.5) / count
        if not (flat.bay and near - 2.5 < centre < far + 2.5):
            add_window(storey, frame, (centre - 2.5, 28.5), (centre + 2.5, 28.5))
    if flat.bay:
        add_window(storey, frame, (near + 2.8, 31.5), (far - 2.8, 31.5))
    if flat.corner:
        for v in (4.0, 20.0):
            add_window(storey, frame, (-0.5, v), (-0.5, v + 5))


def add_window(
    storey: Storey, frame: LocalFrame, start: tuple[float, float], end: tuple[float, float]
) -> None:
    storey.strokes["windows"].append(frame.line(start, end))


def add_balcony(storey: Storey, frame: LocalFrame, flat: ApartmentSlot) -> None:
    centre = flat.width_feet / 2
    outline = frame.rectangle(centre - 6, FACADE[1], centre + 6, FACADE[1] + 5)
    storey.strokes["balconies"].append(close_ring(outline))


def add_room(storey: Storey, row: RoomRow, room: RoomSlot) -> None:
    frame, width, depth = row.frame, room.width_feet, room.depth_feet
    tags = {"indoor": "room", "name": room.name, **room.tags}
    outline = frame.rectangle(0, 0, width, depth)
    fill = SERVICE_FILL if "room" in tags else AMENITY_FILL
    storey.rooms.append(
        DrawnSpace(room.name, outline, frame.to_point(width / 2, depth / 2), fill, tags)
    )
    furnish_room(storey, frame, room.name)
    door_u = width / 2 if room.door_u_feet is None else room.door_u_feet
    storey.add_door(frame, door_u, CORRIDOR_WALL, room.door_width_feet)
    storey.strokes["swings"].append(
        frame.door_swing(door_u - room.door_width_feet / 2, 0.0, room.door_width_feet)
    )
    if room.garden_door:
        storey.add_door(frame, width / 2, FACADE, 6.0)
    if row.view is not None:
        for centre in (width * 0.22, width * 0.78):
            add_window(storey, frame, (centre - 2.2, 28.5), (centre + 2.2, 28.5))


def add_stair(storey: Storey, frame: LocalFrame, ref: str, name: str) -> None:
    """Add a stair of two flights; the same `ref` on every storey makes it one connector."""
    width, depth = STAIR_WIDTH_FEET, STAIR_DEPTH_FEET
    tags = {"indoor": "room", "highway": "steps", "ref": ref, "name": name}
    outline = frame.rectangle(0, 0, width, depth)
    storey.connectors.append(
        DrawnSpace(name, outline, frame.to_point(width / 2, 2.2), SERVICE_FILL, tags)
    )
    storey.add_door(frame, width / 2, CORRIDOR_WALL)
    treads = [frame.line((0, 4.5 + step), (width, 4.5 + step)) for step in range(10)]
    storey.strokes["treads"] += [*treads, frame.line((width / 2, 4.5), (width / 2, 13.5))]


def add_lift(storey: Storey, frame: LocalFrame, ref: str, name: str) -> None:
    """Add a lift car of 7 by 8 feet with its door in the wall beyond u = 7."""
    tags = {"indoor": "room", "highway": "elevator", "ref": ref, "name": name}
    outline = frame.rectangle(0, 0, 7, 8)
    storey.connectors.append(DrawnSpace(name, outline, frame.to_point(3.5, 4), SERVICE_FILL, tags))
    doorway = LocalFrame(frame.to_point(7, 4), frame.outward, frame.along)
    storey.add_door(doorway, 0, (0, WALL_FEET), 3.5)
    storey.strokes["treads"] += [frame.line((0, 0), (7, 8)), frame.line((7, 0), (0, 8))]


def add_area(storey: Storey, name: str, outline: Polyline, fill: str, **tags: str) -> None:
    """Add open space inside the building, connected to every corridor and area it touches."""
    xs, ys = [p.x for p in outline], [p.y for p in outline]
    anchor = PlanPosition((min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2)
    tags = {"indoor": "area", "name": name, **tags}
    storey.rooms.append(DrawnSpace(name, outline, anchor, fill, tags))


def add_ground(
    storey: Storey, name: str, outline: Polyline, anchor: PlanPosition, fill: str, **tags: str
) -> None:
    """Add open space outside: a garden, a terrace, a deck."""
    tags = {"indoor": "area", "name": name, **tags}
    storey.grounds.append(DrawnSpace(name, outline, anchor, fill, tags, has_walls=False))


def add_trees(storey: Storey, frame: LocalFrame, *trees: tuple[float, float, float]) -> None:
    for u, v, radius in trees:
        storey.discs.append(CircleShape(frame.to_point(u, v), radius, "#93bd80"))
        storey.discs.append(
            CircleShape(frame.to_point(u - radius / 6, v - radius / 6), radius * 0.62, "#aed19c")
        )
