"""Unit maps of any size for measurements: rooms with hit areas, walls, doors and furniture."""

from collections.abc import Iterator

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
    """Return a unit map, styled with attributes or with classes."""
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
