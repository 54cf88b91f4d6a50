"""Draw a level of a parsed map as the service reads it, with its warnings at their places."""

import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import count
from typing import Final, NamedTuple

from parsing.svg.floor_plan import read_level
from parsing.svg.outcome import ParseWarning, WarningPlace
from parsing.svg.render import JsonObject, render_elements, render_shape

PLAN_PIXELS: Final = 1_200
"""Length of the longer side of the canvas in a picture."""
MIN_WIDTH: Final = 600
"""Width that the legend needs."""
MARGIN: Final = 30
RADIUS: Final = 10
MAX_PICTURES: Final = 100
MAX_NAME_CHARACTERS: Final = 80
MAX_MARKERS: Final = 500
MAX_TITLES: Final = 5
"""Places that one marker names if it is pointed at."""
LINE_HEIGHT, CHARACTER_WIDTH, INDENT = 19, 6.6, 32
COLOURS: Final = (
    *("#c92a2a", "#9c36b5", "#364fc7", "#0b7285", "#2b8a3e", "#e67700"),
    *("#a61e4d", "#495057", "#1864ab", "#087f5b", "#5c940d", "#d9480f"),
)
STYLE: Final = (
    "text{font:13px sans-serif}.remedy{fill:#5c5f66}"
    ".number{font:bold 11px sans-serif;fill:#fff;text-anchor:middle}"
    ".times{font:bold 11px sans-serif;paint-order:stroke;stroke:#fff;stroke-width:3px}"
    ".unit *,.hit *,.at{fill:none;stroke-width:1.5px;stroke-opacity:1;"
    "vector-effect:non-scaling-stroke}"
    ".unit *{stroke:#1971c2}.hit *{stroke:#f08c00;stroke-dasharray:5 3}.at{stroke-width:1px}"
)
OUTLINES: Final = {"Unit": "unit", "HitArea": "hit"}
KEYS: Final = {"units": "#1971c2", "hit areas": "#f08c00"}


class ShownWarning(NamedTuple):
    """A cause with its number in the picture, and those of its places that are on the level."""

    number: int
    warning: ParseWarning
    places: list[WarningPlace]

    @property
    def colour(self) -> str:
        return COLOURS[(self.number - 1) % len(COLOURS)]


class WarningMarker(NamedTuple):
    """A marker of places of one cause that are near to each other, in pixels."""

    x: float
    y: float
    own: ShownWarning
    places: list[WarningPlace]


def draw_pictures(parsed: JsonObject, warnings: Sequence[ParseWarning]) -> dict[str, str]:
    """Return an SVG of each Level of `ParsedUnitMap.to_dict`, by its number and name; at most 100.

    A map without Levels has one picture, of the name "map".
    """
    levels = find_levels(parsed)
    if not levels:
        return {"map": draw_picture(parsed, warnings, None, "no Level")}
    pictures: dict[str, str] = {}
    for index, element in enumerate(levels[:MAX_PICTURES]):
        level = read_level(element.get("id", ""), element.get("tags"), index + 1)
        name = f"{index + 1}.{level.name[:MAX_NAME_CHARACTERS]}"
        pictures[name] = draw_picture(parsed, warnings, index, level.name)
    return pictures


def find_levels(parsed: JsonObject) -> list[JsonObject]:
    """Return the Levels of a parsed map, in the order of `WarningPlace.level_index`."""
    levels: list[JsonObject] = []
    pending = [parsed]
    while pending:
        element = pending.pop()
        if element["type"] == "Level":
            levels.append(element)
        pending += reversed(element.get("elements", ()))
    return levels


def draw_picture(
    parsed: JsonObject, warnings: Iterable[ParseWarning], level: int | None, name: str
) -> str:
    """Return an SVG of one Level of `ParsedUnitMap.to_dict`, and of what is in none.

    Units are outlined in blue, hit areas in dashed orange. Warnings have the numbers that the
    legend above the map explains, as in the explorer: mistakes before notes. `level` is the number
    of the Level, None for a map without any.
    """
    width, height = parsed["width"], parsed["height"]
    scale = PLAN_PIXELS / max(width, height)
    shown = [
        each
        for number, warning in enumerate(sorted(warnings, key=lambda each: each.is_note), 1)
        if (each := _keep_places(number, warning, level)).places
    ]
    total_width = max(width * scale, MIN_WIDTH) + 2 * MARGIN
    legend = [*_draw_legend(name, shown, total_width - 2 * MARGIN)]
    top = MARGIN + LINE_HEIGHT * len(legend) + MARGIN
    total_height = top + height * scale + MARGIN
    elements = [*_keep_level(parsed["elements"], level, count())]
    plan = "\n".join(
        [
            f'<rect width="{width}" height="{height}" fill="#fff"/>',
            *render_elements({"elements": elements}),
            *_draw_outlines(elements),
            f'<rect class="at" width="{width}" height="{height}" stroke="#adb5bd"/>',
        ]
    )
    markers = "\n".join(_draw_markers(_place_markers(shown, scale, top, total_width, total_height)))
    lines = "\n".join(
        f'<g transform="translate({MARGIN} {MARGIN + LINE_HEIGHT * row})">{line}</g>'
        for row, line in enumerate(legend)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total_width:.0f}"'
        f' height="{total_height:.0f}" viewBox="0 0 {total_width:.2f} {total_height:.2f}">\n'
        f"<title>{escape(name)}</title><style>{STYLE}</style>\n"
        f'<rect width="100%" height="100%" fill="#f1f3f5"/>\n{lines}\n'
        f'<svg x="{MARGIN}" y="{top}" width="{width * scale:.2f}" height="{height * scale:.2f}"'
        f' viewBox="0 0 {width} {height}">\n{plan}\n</svg>\n{markers}\n</svg>\n'
    )


def _keep_places(number: int, warning: ParseWarning, level: int | None) -> ShownWarning:
    """Return a cause with its places on a level, and those on none."""
    places = [place for place in warning.places if place.level_index in (None, level)]
    return ShownWarning(number, warning, places)


def _keep_level(
    elements: Iterable[JsonObject], level: int | None, numbers: Iterator[int]
) -> Iterator[JsonObject]:
    """Yield the elements of one Level and those of none. Levels are numbered as they come."""
    for element in elements:
        is_level = element["type"] == "Level"
        number = next(numbers) if is_level else None
        if "elements" not in element:
            yield element
            continue
        inner = [*_keep_level(element["elements"], level, numbers)]
        if not is_level or number == level:
            yield {**element, "elements": inner}
        else:  # the Level may be inside
            yield from (each for each in inner if each["type"] == "Level")


def _draw_outlines(elements: Iterable[JsonObject]) -> Iterator[str]:
    for element in elements:
        if (kind := OUTLINES.get(element["type"])) is not None:
            yield f'<g class="{kind}"><title>{escape(element["id"])}</title>'
            yield f"{render_shape(element['shape'])}</g>"
        yield from _draw_outlines(element.get("elements", ()))


def _place_markers(
    shown: Sequence[ShownWarning], scale: float, top: float, width: float, height: float
) -> list[WarningMarker]:
    """Return the markers, those of the first causes last and so on top.

    What is outside of the canvas is marked at its edge. Those of several causes at one place stand
    side by side.
    """
    cells: defaultdict[tuple[int, int], list[WarningMarker]] = defaultdict(list)
    for own in shown:
        for place in own.places:
            if place.x is None or place.y is None:
                continue
            x = min(max(MARGIN + place.x * scale, RADIUS), width - RADIUS)
            y = min(max(top + place.y * scale, top - MARGIN + RADIUS), height - RADIUS)
            cell = cells[int(x / (2 * RADIUS)), int(y / (2 * RADIUS))]
            same = next((marker for marker in cell if marker.own is own), None)
            if same is not None:
                same.places.append(place)
            else:
                x = min(x + 2 * RADIUS * len(cell), width - RADIUS)
                cell.append(WarningMarker(x, y, own, [place]))
    markers = sorted(
        (marker for cell in cells.values() for marker in cell), key=lambda each: each.own.number
    )
    return markers[:MAX_MARKERS][::-1]


def _draw_markers(markers: Iterable[WarningMarker]) -> Iterator[str]:
    """Yield the markers. Pointing at one shows what is wrong there."""
    for x, y, own, places in markers:
        titles = [
            (f"line {place.line}: " if place.line else "") + own.warning.describe(place)
            for place in places[:MAX_TITLES]
        ]
        more = len(places) - len(titles)
        titles += [f"and {more} more"] if more else []
        badge = _draw_badge(own)
        if len(places) > 1:
            badge += f'<text class="times" x="{RADIUS}" y="-3">×{len(places)}</text>'
        title = escape("\n".join(titles))
        yield (
            f'<g class="marker" transform="translate({x:.2f} {y:.2f})">'
            f"<title>{title}</title>{badge}</g>"
        )


def _draw_badge(own: ShownWarning) -> str:
    return (
        f'<circle r="{RADIUS}" fill="{own.colour}" stroke="#fff" stroke-width="1.5"/>'
        f'<text class="number" y="4">{own.number}</text>'
    )


def _draw_legend(name: str, shown: Sequence[ShownWarning], width: float) -> Iterator[str]:
    """Yield the lines of the legend: the Level, the colours, and under them the causes."""
    yield f'<text font-weight="bold">{escape(name)}</text>'
    yield "".join(
        f'<rect x="{100 * column}" y="-9" width="10" height="10" fill="none" stroke="{colour}"'
        f' stroke-width="2"/><text x="{100 * column + 16}">{key}</text>'
        for column, (key, colour) in enumerate(KEYS.items())
    )
    if not shown:
        yield "<text>no warnings</text>"
    characters = int((width - INDENT) / CHARACTER_WIDTH)
    for own in shown:
        warning, here = own.warning, len(own.places)
        details = {place.detail for place in own.places if place.x is None} - {""}
        where = "" if here == warning.count else f" ({here:,} of {warning.count:,} marked here)"
        what = f": {', '.join(sorted(details))}" if details and here == len(details) else ""
        badge = f'<g transform="translate(9 -4) scale(.8)">{_draw_badge(own)}</g>'
        for line in textwrap.wrap(f"{warning.message}{where}{what}", characters):
            yield f'{badge}<text x="{INDENT}">{escape(line)}</text>'
            badge = ""
        for line in textwrap.wrap(warning.remedy, characters):
            yield f'<text class="remedy" x="{INDENT}">{escape(line)}</text>'
