"""Parsed maps of made-up buildings of any size."""

from collections.abc import Iterator
from typing import Any

ROOM = 40
CORRIDOR = 20
COLORS = ("#f4d58d", "#cfe3f1", "#d9ead3", "#f2c6a5")
Element = dict[str, Any]


def build_map(levels: int, units: int) -> Element:
    """Return a parsed map of `levels` storeys with `units` rooms each, four walls a room.

    Rooms are 40 by 40, in rows along corridors; every fifth is drawn with curves. Unit 7 of level 2
    is `2-7`.
    """
    across = max(1, round(units**0.5))
    rows = -(-units // across)
    width, height = across * ROOM, rows * (ROOM + CORRIDOR)
    floor = {"type": "Rect", "x": 0, "y": 0, "width": width, "height": height, "fill": "#f3efe6"}
    storeys = [_level(number, units, across) for number in range(1, levels + 1)]
    return {
        "version": "1.2",
        "type": "application/vnd.map+json",
        "width": width,
        "height": height,
        "elements": [{"type": "Layer", "elements": [floor]}, *storeys],
    }


def _level(number: int, units: int, across: int) -> Element:
    rooms = [(str(index), *_corner(index, across)) for index in range(units)]
    layers = {
        "Layer": [_wall(x, y) for _, x, y in rooms],
        "UnitLayer": [
            {
                "type": "Unit",
                "uid": f"u{number}-{room}",
                "id": f"{number}-{room}",
                "shape": {**_room(x, y, int(room)), "fill": COLORS[int(room) % len(COLORS)]},
            }
            for room, x, y in rooms
        ],
        "HitAreaLayer": [
            {
                "type": "HitArea",
                "uid": f"h{number}-{room}",
                "id": f"hit{number}-{room}",
                "target": {"id": f"{number}-{room}", "type": "Unit"},
                "shape": {**_room(x, y, 0), "fill": "transparent"},
            }
            for room, x, y in rooms
        ],
    }
    return {
        "type": "Level",
        "uid": f"l{number}",
        "id": f"level-{number}",
        "tags": {"floor": str(number)},
        "elements": [{"type": kind, "elements": shapes} for kind, shapes in layers.items()],
    }


def _corner(index: int, across: int) -> tuple[int, int]:
    row, column = divmod(index, across)
    return column * ROOM, row * (ROOM + CORRIDOR)


def _room(x: int, y: int, index: int) -> Element:
    if index % 5 == 4:
        return {"type": "Path", "d": f"M{x} {y}h{ROOM}v{ROOM - 10}q0 10 -10 10h{10 - ROOM}z"}
    corners = ((x, y), (x + ROOM, y), (x + ROOM, y + ROOM), (x, y + ROOM))
    return {"type": "Polygon", "points": " ".join(f"{a},{b}" for a, b in corners)}


def _wall(x: int, y: int) -> Element:
    wall = {"fill": "none", "stroke": "#3f4855", "stroke-width": "2"}
    return {"type": "Path", "d": f"M{x} {y}h{ROOM}v{ROOM}h{-ROOM}z", **wall}


def ids(level: int, units: int) -> Iterator[str]:
    """The ids of the units of a level."""
    return (f"{level}-{index}" for index in range(units))
