"""Unit maps of any size, drawn in SVG."""

from collections.abc import Iterator

UNITS_PER_LEVEL = 100
ROOM, DEPTH, CORRIDOR = 40, 40, 20
CURVED_EVERY = 5
STYLES = {
    "room": {"fill": "#adb5bd"},
    "wall": {"fill": "none", "stroke": "#495057", "stroke-width": "2"},
    "door": {"fill": "#fff"},
}
CHAIR = "m{x},{y}c5.2,0 9.5,4.3 9.5,9.5v6.1c0,2.4-1.9,4.3-4.3,4.3h-10.4c-2.4,0-4.3-1.9-4.3-4.3z"


def draw_unit_map(
    units: int,
    units_per_level: int = UNITS_PER_LEVEL,
    has_classes: bool = False,
    is_furnished: bool = True,
) -> bytes:
    """Return a unit map in SVG, styled with attributes or with classes.

    Its rooms have hit areas, walls, doors and furniture, and are in rows along corridors; every
    fifth has a curve. Unit 7 of level 2 is `2-7`.
    """
    across = max(1, round(min(units, units_per_level) ** 0.5))
    width, height = ROOM * across, (DEPTH + CORRIDOR) * -(-units_per_level // across)
    rules = (
        f".{name}{{{';'.join(map(':'.join, style.items()))}}}" for name, style in STYLES.items()
    )
    levels = "".join(
        _draw_level(1 + at, min(units_per_level, units - first), across, has_classes, is_furnished)
        for at, first in enumerate(range(0, units, units_per_level))
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">'
    style = f"<style>{''.join(rules)}</style>" if has_classes else ""
    return f"{head}{style}{levels}</svg>\n".encode()


def _draw_level(level: int, units: int, across: int, has_classes: bool, is_furnished: bool) -> str:
    paint = {
        name: f'class="{name}"'
        if has_classes
        else " ".join(f'{key}="{value}"' for key, value in style.items())
        for name, style in STYLES.items()
    }
    places = list(_places(level, units, across))
    hits = "\n".join(f'<polygon id="hit{unit}" points="{_corners(*at)}"/>' for unit, *at in places)
    rooms = "\n".join(
        f'<path id="{unit}" d="{_curve(*at)}" {paint["room"]}/>'
        if number % CURVED_EVERY == CURVED_EVERY - 1
        else f'<polygon id="{unit}" points="{_corners(*at)}" {paint["room"]}/>'
        for number, (unit, *at) in enumerate(places)
    )
    walls = "\n".join(
        f'<path d="M{x},{y}h{ROOM}v{DEPTH}h-{ROOM}z" {paint["wall"]}/>\n'
        f'<rect x="{x + 10}" y="{y - 2}" width="20" height="4" {paint["door"]}/>'
        for _, x, y in places
    )
    chairs = "\n".join(
        f'<path d="{CHAIR.format(x=x + 9.25, y=y + 2 + 10 * row)}" fill="#dee2e6"/>'
        for _, x, y in places
        for row in range(3 if is_furnished else 0)
    )
    return (
        f'<g data-type="Level" id="{level}">\n'
        f'<g id="furniture" transform="translate(4 4)">\n{chairs}\n</g>\n<g>\n{walls}\n</g>\n'
        f'<g data-type="HitAreaLayer" fill="none">\n{hits}\n</g>\n'
        f'<g data-type="UnitLayer">\n{rooms}\n</g>\n</g>\n'
    )


def _places(level: int, units: int, across: int) -> Iterator[tuple[str, int, int]]:
    for unit in range(units):
        row, column = divmod(unit, across)
        yield f"{level}-{unit}", column * ROOM, row * (DEPTH + CORRIDOR)


def _corners(x: int, y: int) -> str:
    right, bottom = x + ROOM, y + DEPTH
    return f"{x}.5,{y}.5 {right}.5,{y}.5 {right}.5,{bottom}.5 {x}.5,{bottom}.5"


def _curve(x: int, y: int) -> str:
    return f"M{x}.5 {y}.5h{ROOM}v{DEPTH - 10}q0 10 -10 10h{10 - ROOM}z"
