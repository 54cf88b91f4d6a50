"""Unit maps of any size, as drawings in SVG and as the parsed maps of made-up buildings."""

from collections.abc import Iterator
from typing import Any

UNITS_PER_LEVEL = 100
ROOM, DEPTH, CORRIDOR = 80, 120, 40
STYLES = ".room{fill:#adb5bd}.wall{fill:none;stroke:#495057;stroke-width:2}.door{fill:#fff}"
ATTRIBUTES = {
    "room": 'fill="#adb5bd"',
    "wall": 'fill="none" stroke="#495057" stroke-width="2"',
    "door": 'fill="#fff"',
}
CHAIR = "m{x},{y}c5.2,0 9.5,4.3 9.5,9.5v6.1c0,2.4-1.9,4.3-4.3,4.3h-10.4c-2.4,0-4.3-1.9-4.3-4.3z"


def draw_unit_map(units: int, has_classes: bool = False) -> bytes:
    """Return a unit map in SVG, styled with attributes or with classes.

    Its rooms have hit areas, walls, doors and furniture.
    """
    width, height = ROOM * UNITS_PER_LEVEL // 2, 2 * DEPTH + CORRIDOR
    style = f"<style>{STYLES}</style>" if has_classes else ""
    levels = "".join(
        _draw_level(range(first, min(first + UNITS_PER_LEVEL, units)), has_classes)
        for first in range(0, units, UNITS_PER_LEVEL)
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">'
    return f"{head}{style}{levels}</svg>\n".encode()


def _draw_level(units: range, has_classes: bool) -> str:
    paint = {
        name: f'class="{name}"' if has_classes else attributes
        for name, attributes in ATTRIBUTES.items()
    }
    places = list(_places(units))
    hits = "\n".join(f'<polygon id="hit{unit}" points="{_corners(*at)}"/>' for unit, *at in places)
    rooms = "\n".join(
        f'<polygon id="{unit}" points="{_corners(*at)}" {paint["room"]}/>' for unit, *at in places
    )
    walls = "\n".join(
        f'<path d="M{x},{y}h{ROOM}v{DEPTH}h-{ROOM}z" {paint["wall"]}/>\n'
        f'<rect x="{x + 30}" y="{y - 2}" width="20" height="4" {paint["door"]}/>'
        for _, x, y in places
    )
    chairs = "\n".join(
        f'<path d="{CHAIR.format(x=x + 9.25, y=y + 12.5 + 30 * row)}" fill="#dee2e6"/>'
        for _, x, y in places
        for row in range(3)
    )
    return (
        f'<g data-type="Level" id="{1 + units.start // UNITS_PER_LEVEL}">\n'
        f'<g id="furniture" transform="translate(4 4)">\n{chairs}\n</g>\n<g>\n{walls}\n</g>\n'
        f'<g data-type="HitAreaLayer" fill="none">\n{hits}\n</g>\n'
        f'<g data-type="UnitLayer">\n{rooms}\n</g>\n</g>\n'
    )


def _places(units: range) -> Iterator[tuple[str, int, int]]:
    for unit in units:
        along, south = divmod(unit - units.start, 2)
        yield f"{101 + unit}", along * ROOM, south * (DEPTH + CORRIDOR)


def _corners(x: int, y: int) -> str:
    right, bottom = x + ROOM, y + DEPTH
    return f"{x}.5,{y}.5 {right}.5,{y}.5 {right}.5,{bottom}.5 {x}.5,{bottom}.5"


# Parsed maps

SIDE, AISLE = 40, 20
COLORS = ("#f4d58d", "#cfe3f1", "#d9ead3", "#f2c6a5")
Element = dict[str, Any]


def build_map(levels: int, units: int) -> Element:
    """Return a parsed map of `levels` storeys with `units` rooms each, four walls a room.

    Rooms are 40 by 40, in rows along corridors; every fifth is drawn with curves. Unit 7 of level 2
    is `2-7`.
    """
    across = max(1, round(units**0.5))
    rows = -(-units // across)
    width, height = across * SIDE, rows * (SIDE + AISLE)
    floor = {"type": "Rect", "x": 0, "y": 0, "width": width, "height": height, "fill": "#f3efe6"}
    storeys = [_parsed_level(number, units, across) for number in range(1, levels + 1)]
    return {
        "version": "1.2",
        "type": "application/vnd.map+json",
        "width": width,
        "height": height,
        "elements": [{"type": "Layer", "elements": [floor]}, *storeys],
    }


def _parsed_level(number: int, units: int, across: int) -> Element:
    rooms = [(str(index), *_parsed_corner(index, across)) for index in range(units)]
    layers = {
        "Layer": [_parsed_wall(x, y) for _, x, y in rooms],
        "UnitLayer": [
            {
                "type": "Unit",
                "uid": f"u{number}-{room}",
                "id": f"{number}-{room}",
                "shape": {**_parsed_room(x, y, int(room)), "fill": COLORS[int(room) % len(COLORS)]},
            }
            for room, x, y in rooms
        ],
        "HitAreaLayer": [
            {
                "type": "HitArea",
                "uid": f"h{number}-{room}",
                "id": f"hit{number}-{room}",
                "target": {"id": f"{number}-{room}", "type": "Unit"},
                "shape": {**_parsed_room(x, y, 0), "fill": "transparent"},
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


def _parsed_corner(index: int, across: int) -> tuple[int, int]:
    row, column = divmod(index, across)
    return column * SIDE, row * (SIDE + AISLE)


def _parsed_room(x: int, y: int, index: int) -> Element:
    if index % 5 == 4:
        return {
            "type": "Path",
            "d": f"M{x} {y}h{SIDE}v{SIDE - 10}q0 10 -10 10h{10 - SIDE}z",
        }
    corners = (
        (x, y),
        (x + SIDE, y),
        (x + SIDE, y + SIDE),
        (x, y + SIDE),
    )
    return {"type": "Polygon", "points": " ".join(f"{a},{b}" for a, b in corners)}


def _parsed_wall(x: int, y: int) -> Element:
    wall = {"fill": "none", "stroke": "#3f4855", "stroke-width": "2"}
    return {"type": "Path", "d": f"M{x} {y}h{SIDE}v{SIDE}h{-SIDE}z", **wall}
