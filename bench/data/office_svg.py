"""The drawing of a property for measurements: corridors, rooms on both sides, a lift."""

from collections.abc import Mapping, Sequence

ROOM_FEET, DEPTH_FEET, CORRIDOR_FEET = 12, 18, 8
LIFT_FEET = 10


def draw_office(units_by_floor: Mapping[str, Sequence[str]]) -> str:
    """A unit map in SVG, a foot a unit, of floors from the lowest to the highest."""
    max_units = max(len(units) for units in units_by_floor.values())
    width = LIFT_FEET + ROOM_FEET * -(-max_units // 2)
    height = 2 * DEPTH_FEET + CORRIDOR_FEET
    levels = "".join(_level(floor, units, width) for floor, units in units_by_floor.items())
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">'
    return f"{head}{levels}</svg>"


def _level(floor: str, units: Sequence[str], width: int) -> str:
    rooms = "".join(_rectangle(f'id="{unit}"', *_room(at)) for at, unit in enumerate(units))
    doors = "".join(_rectangle('data-tags="door=yes"', *_door(at)) for at in range(len(units)))
    hall = _rectangle('data-tags="indoor=corridor"', 0, DEPTH_FEET, width, CORRIDOR_FEET)
    lift = _rectangle('data-tags="highway=elevator;ref=lift"', 1, DEPTH_FEET + 1, 6, 6)
    return (
        f'<g data-type="Level" data-tags="floor={floor}">'
        f'<g data-type="UnitLayer">{rooms}</g><g>{hall}{lift}{doors}</g></g>'
    )


def _room(at: int) -> tuple[int, int, int, int]:
    along, south = divmod(at, 2)
    return _west(along), south * (DEPTH_FEET + CORRIDOR_FEET), ROOM_FEET, DEPTH_FEET


def _door(at: int) -> tuple[int, int, int, int]:
    along, south = divmod(at, 2)
    return _west(along) + 4, DEPTH_FEET - 1 + south * CORRIDOR_FEET, 4, 2


def _west(along: int) -> int:
    return LIFT_FEET + along * ROOM_FEET


def _rectangle(attributes: str, x: int, y: int, width: int, height: int) -> str:
    return f'<rect {attributes} x="{x}" y="{y}" width="{width}" height="{height}"/>'
