"""Rows of apartments and rooms along a corridor, and the stairs and lifts between them.

In a row's frame the corridor ends at v = -0.5, the row reaches from v = 0 to 28 and its
facade to v = 29: walls are half a foot inside and a foot outside.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from samples.apartments import DEPTH_FEET, Kind
from samples.frame import Frame, Line, Point, area_square_feet, closed
from samples.furniture import furnish_room
from samples.plan import Apartment, Disc, Space, Storey, Tags

WALL_FEET = 0.5
CORRIDOR_WALL = (-0.5, 0.0)
FACADE = (28.0, 29.0)
STAIR_WIDTH_FEET, STAIR_DEPTH_FEET = 9.5, 18.0
CORRIDOR_FILL, SERVICE_FILL, AMENITY_FILL = "#f3efe6", "#dcd8cf", "#f2c6a5"


@dataclass(frozen=True)
class Row:
    """A frame and what its windows look at; a row without a view has no windows."""

    frame: Frame
    view: str | None = None


@dataclass(frozen=True)
class Flat:
    """`tail_feet` is how far it reaches on behind a stair; `flip` mirrors its interior."""

    stack: int
    kind: Kind
    width_feet: float
    bay: bool = False
    balcony: bool = False
    corner: bool = False
    flip: bool = False
    tail_feet: float = 0.0


@dataclass(frozen=True)
class Room:
    name: str
    width_feet: float
    tags: Tags = field(default_factory=dict)
    depth_feet: float = DEPTH_FEET
    door_u_feet: float | None = None
    door_width_feet: float = 3.0
    garden_door: bool = False


def lay_out(storey: Storey, row: Row, slots: Iterable[Flat | Room]) -> None:
    """Place `slots` one after another along `row`, from u = 0."""
    u = 0.0
    for slot in slots:
        place = Row(row.frame.shifted(u), row.view)
        if isinstance(slot, Flat):
            add_flat(storey, place, slot)
        else:
            add_room(storey, place, slot)
        u += slot.width_feet + WALL_FEET


def add_flat(storey: Storey, row: Row, flat: Flat) -> None:
    frame = row.frame.mirrored(flat.width_feet) if flat.flip else row.frame
    outline = outline_flat(frame, flat)
    number = f"{storey.number}{flat.stack:02d}"
    tags = {"indoor": "room", "room": "apartment", "ref": number}
    anchor = frame.at(flat.width_feet / 2 + flat.kind.label_shift_feet, 11.4)
    space = Space(number, outline, anchor, flat.kind.fill, tags)
    has_balcony = flat.balcony and storey.number > 1
    features = {
        row.view or "": row.view is not None,
        "balcony": has_balcony,
        "bay-window": flat.bay,
        "corner": flat.corner,
        "top-floor": storey.number == 5,
    }
    kept = tuple(feature for feature, holds in features.items() if holds)
    area = round(area_square_feet(outline))
    storey.apartments.append(Apartment(number, flat.kind.key, space, area, kept))
    door_u = flat.kind.door_u_feet(flat.width_feet)
    storey.add_door(frame, door_u, CORRIDOR_WALL)
    storey.strokes["swings"].append(frame.swing(door_u - 1.5, 0.0, 3.0))
    flat.kind.furnish(storey, frame, flat.width_feet)
    add_windows(storey, frame, flat)
    if has_balcony:
        add_balcony(storey, frame, flat)


def outline_flat(frame: Frame, flat: Flat) -> Line:
    width, depth = flat.width_feet, DEPTH_FEET
    if flat.tail_feet:
        behind, end = STAIR_DEPTH_FEET + WALL_FEET, width + flat.tail_feet
        return frame.line(
            (0, 0), (width, 0), (width, behind), (end, behind), (end, depth), (0, depth)
        )
    if flat.bay:
        near, far = bay_feet(width)
        bay = ((far, depth), (far - 2, depth + 3), (near + 2, depth + 3), (near, depth))
        return frame.line((0, 0), (width, 0), (width, depth), *bay, (0, depth))
    return frame.rectangle(0, 0, width, depth)


def bay_feet(width_feet: float) -> tuple[float, float]:
    """Where a bay window starts and ends: the middle twelve feet of a facade."""
    return width_feet / 2 - 6, width_feet / 2 + 6


def add_windows(storey: Storey, frame: Frame, flat: Flat) -> None:
    width = flat.width_feet
    near, far = bay_feet(width)
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
    storey: Storey, frame: Frame, start: tuple[float, float], end: tuple[float, float]
) -> None:
    storey.strokes["windows"].append(frame.line(start, end))


def add_balcony(storey: Storey, frame: Frame, flat: Flat) -> None:
    centre = flat.width_feet / 2
    outline = frame.rectangle(centre - 6, FACADE[1], centre + 6, FACADE[1] + 5)
    storey.strokes["balconies"].append(closed(outline))


def add_room(storey: Storey, row: Row, room: Room) -> None:
    frame, width, depth = row.frame, room.width_feet, room.depth_feet
    tags = {"indoor": "room", "name": room.name, **room.tags}
    outline = frame.rectangle(0, 0, width, depth)
    fill = SERVICE_FILL if "room" in tags else AMENITY_FILL
    storey.rooms.append(Space(room.name, outline, frame.at(width / 2, depth / 2), fill, tags))
    furnish_room(storey, frame, room.name)
    door_u = width / 2 if room.door_u_feet is None else room.door_u_feet
    storey.add_door(frame, door_u, CORRIDOR_WALL, room.door_width_feet)
    storey.strokes["swings"].append(
        frame.swing(door_u - room.door_width_feet / 2, 0.0, room.door_width_feet)
    )
    if room.garden_door:
        storey.add_door(frame, width / 2, FACADE, 6.0)
    if row.view is not None:
        for centre in (width * 0.22, width * 0.78):
            add_window(storey, frame, (centre - 2.2, 28.5), (centre + 2.2, 28.5))


def add_stair(storey: Storey, frame: Frame, ref: str, name: str) -> None:
    """A stair of two flights; the same `ref` on every storey makes it one connector."""
    width, depth = STAIR_WIDTH_FEET, STAIR_DEPTH_FEET
    tags = {"indoor": "room", "highway": "steps", "ref": ref, "name": name}
    outline = frame.rectangle(0, 0, width, depth)
    storey.connectors.append(Space(name, outline, frame.at(width / 2, 2.2), SERVICE_FILL, tags))
    storey.add_door(frame, width / 2, CORRIDOR_WALL)
    treads = [frame.line((0, 4.5 + step), (width, 4.5 + step)) for step in range(10)]
    storey.strokes["treads"] += [*treads, frame.line((width / 2, 4.5), (width / 2, 13.5))]


def add_lift(storey: Storey, frame: Frame, ref: str, name: str) -> None:
    """A lift car of 7 by 8 feet whose door is in the wall beyond u = 7."""
    tags = {"indoor": "room", "highway": "elevator", "ref": ref, "name": name}
    outline = frame.rectangle(0, 0, 7, 8)
    storey.connectors.append(Space(name, outline, frame.at(3.5, 4), SERVICE_FILL, tags))
    doorway = Frame(frame.at(7, 4), frame.outward, frame.along)
    storey.add_door(doorway, 0, (0, WALL_FEET), 3.5)
    storey.strokes["treads"] += [frame.line((0, 0), (7, 8)), frame.line((7, 0), (0, 8))]


def add_area(storey: Storey, name: str, outline: Line, fill: str, **tags: str) -> None:
    """Open space inside the building, open to every corridor and area that it touches."""
    xs, ys = [p.x for p in outline], [p.y for p in outline]
    anchor = Point((min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2)
    tags = {"indoor": "area", "name": name, **tags}
    storey.rooms.append(Space(name, outline, anchor, fill, tags))


def add_ground(
    storey: Storey, name: str, outline: Line, anchor: Point, fill: str, **tags: str
) -> None:
    """Open space outside: a garden, a terrace, a deck."""
    tags = {"indoor": "area", "name": name, **tags}
    storey.grounds.append(Space(name, outline, anchor, fill, tags, walled=False))


def plant(storey: Storey, frame: Frame, *trees: tuple[float, float, float]) -> None:
    for u, v, radius in trees:
        storey.discs.append(Disc(frame.at(u, v), radius, "#93bd80"))
        storey.discs.append(
            Disc(frame.at(u - radius / 6, v - radius / 6), radius * 0.62, "#aed19c")
        )
