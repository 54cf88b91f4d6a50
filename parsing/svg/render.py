"""Render parsed maps: as SVG in the same dialect, or one level as a picture."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from parsing.drawing import Coordinate, Coordinates
from parsing.svg.elements import HIT_PREFIX, format_tags
from parsing.svg.lengths import format_number
from parsing.svg.names import SHAPE_KINDS

TAG_BY_KIND: Final = {kind: kind.lower() for kind in SHAPE_KINDS}
JsonObject = Mapping[str, Any]


def to_svg(parsed: JsonObject) -> str:
    """Render the objects of `ParsedUnitMap.to_dict`. Raises KeyError if members are missing."""
    width, height = parsed["width"], parsed["height"]
    root = {
        "xmlns": "http://www.w3.org/2000/svg",
        "width": width,
        "height": height,
        "viewBox": f"0 0 {width} {height}",
    }
    return "\n".join([f"<svg{_format_attributes(root)}>", *render_elements(parsed), "</svg>", ""])


def render_elements(parent: JsonObject) -> Iterator[str]:
    """Yield the SVG of the elements of a parsed map or of one of its groups."""
    for element in parent["elements"]:
        kind = element["type"]
        if "elements" in element:
            yield f"<g{_format_attributes(_group_attributes(element))}>"
            yield from render_elements(element)
            yield "</g>"
        elif kind == "Georeference":
            numbers = {f"data-{n}": v for n, v in element.items() if n not in ("type", "uid")}
            yield f"<g{_format_attributes({'data-type': kind, **numbers})}/>"
        elif "shape" in element:
            yield render_shape({**_identity_attributes(element), **element["shape"]})
        else:
            yield render_shape(element)


def render_shape(attributes: JsonObject) -> str:
    """Return the SVG of a shape, from its attributes and its `type`."""
    own = {name: value for name, value in attributes.items() if name != "type"}
    return f"<{TAG_BY_KIND[attributes['type']]}{_format_attributes(own)}/>"


def _group_attributes(element: JsonObject) -> dict[str, str]:
    kind = element["type"]
    attributes = {} if kind == "Layer" else {"data-type": kind}
    if "id" in element:
        attributes["id"] = element["id"]
    if "tags" in element:
        attributes["data-tags"] = format_tags(element["tags"])
    return attributes


def _identity_attributes(element: JsonObject) -> dict[str, str]:
    """Return `id` and those `data-target-*` attributes that do not follow from it."""
    attributes = {"id": element["id"]}
    target = element.get("target")
    if target is not None and element["id"] != HIT_PREFIX + target["id"]:
        attributes["data-target-id"] = target["id"]
    if target is not None and target["type"] != "Unit":
        attributes["data-target-type"] = target["type"]
    return attributes


def _format_attributes(attributes: Mapping[str, object]) -> str:
    return "".join(f" {name}={quoteattr(str(value))}" for name, value in attributes.items())


# Render a level of a parsed map as a picture: an SVG without text, links and scripts. Over the
# level lie what is marked: a unit, and the route on the level.

StopDirection = Literal["up", "down", "here"]

CANVAS_COLOUR: Final = "#ffffff"
MARK_COLOUR: Final = "#f59f00"
ROUTE_COLOUR: Final = "#1864ab"
START_COLOUR: Final = "#2b8a3e"
END_COLOUR: Final = "#c92a2a"
MARKS_PER_SIDE: Final = 60
"""Radii of a marker in the longer side of the canvas."""
_ARROWS: Final[Mapping[StopDirection, str]] = {
    "up": "M0-.6L.55.4H-.55z",
    "down": "M0 .6L.55-.4H-.55z",
    "here": "M-.4-.4H.4V.4H-.4z",
}


class RouteStop(NamedTuple):
    """A place where a route leaves the level, or comes onto it (`here`)."""

    position: Coordinate
    direction: StopDirection


class Marks(NamedTuple):
    """The unit and the route that a picture shows on a level, in the coordinates of the map."""

    unit_id: str | None = None
    lines: Sequence[Coordinates] = ()
    stops: Sequence[RouteStop] = ()
    start: Coordinate | None = None
    end: Coordinate | None = None


def render_picture(
    parsed: JsonObject, level_uid: str | None, marks: Marks, title: str, width: int, height: int
) -> str:
    """Render what is on the level with this `uid`, and on none; all without a `uid`.

    `width` and `height` are those of the picture, in pixels.
    """
    box = f"0 0 {parsed['width']} {parsed['height']}"
    canvas = {"width": parsed["width"], "height": parsed["height"], "fill": CANVAS_COLOUR}
    shapes = [*_iter_shapes(parsed["elements"], level_uid)]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" height="{height}" '
        f"viewBox={quoteattr(box)}>",
        f"<title>{escape(title)}</title>",
        f"<rect{_format_attributes(canvas)}/>",
        *(render_shape(shape) for _, shape in shapes),
    ]
    radius = max(parsed["width"], parsed["height"]) / MARKS_PER_SIDE
    if marks.unit_id is not None:
        lines += [
            _render_marked(shape, radius) for unit_id, shape in shapes if unit_id == marks.unit_id
        ]
    return "\n".join([*lines, *_render_route(marks, radius), "</svg>", ""])


def find_levels_of_unit(elements: Sequence[JsonObject], unit_id: str) -> Iterator[str | None]:
    """Yield the `uid` of each Level that shows a unit, None if it is on none."""
    for element in elements:
        if element["type"] == "Unit" and element["id"] == unit_id:
            yield None
        inside = find_levels_of_unit(element.get("elements", ()), unit_id)
        yield from (element["uid"] for _ in inside) if element["type"] == "Level" else inside


def _iter_shapes(
    elements: Sequence[JsonObject], level_uid: str | None
) -> Iterator[tuple[str | None, JsonObject]]:
    """Yield what is painted, in this order, with the unit that it shows."""
    for element in elements:
        kind = element["type"]
        if kind == "Unit":
            yield element["id"], element["shape"]
        elif kind in SHAPE_KINDS:
            yield None, element
        elif kind != "Level" or level_uid in (None, element["uid"]):
            yield from _iter_shapes(element.get("elements", ()), level_uid)


def _render_marked(shape: JsonObject, radius: float) -> str:
    look = {
        "fill": MARK_COLOUR,
        "fill-opacity": "0.55",
        "stroke": MARK_COLOUR,
        "stroke-width": format_number(radius / 4),
    }
    return render_shape({**shape, **look})


def _render_route(marks: Marks, radius: float) -> Iterator[str]:
    for colour, thickness in (("#ffffff", 0.9), (ROUTE_COLOUR, 0.5)):
        for line in marks.lines:
            points = " ".join(f"{format_number(x)},{format_number(y)}" for x, y in line)
            look = {
                "points": points,
                "fill": "none",
                "stroke": colour,
                "stroke-width": format_number(radius * thickness),
                "stroke-linejoin": "round",
                "stroke-linecap": "round",
            }
            yield f"<polyline{_format_attributes(look)}/>"
    for stop in marks.stops:
        yield _render_pin(stop.position, radius, ROUTE_COLOUR, _ARROWS[stop.direction])
    if marks.start is not None:
        yield _render_pin(marks.start, radius, START_COLOUR, "")
    if marks.end is not None:
        yield _render_pin(marks.end, radius, END_COLOUR, "M0-.5L.5 0L0 .5L-.5 0z")


def _render_pin(position: Coordinate, radius: float, colour: str, sign: str) -> str:
    x, y = map(format_number, position)
    place = quoteattr(f"translate({x} {y}) scale({format_number(radius)})")
    drawn = f'<path d="{sign}" fill="#ffffff"/>' if sign else ""
    circle = f'<circle r="1" fill="{colour}" stroke="#ffffff" stroke-width="0.25"/>'
    return f"<g transform={place}>{circle}{drawn}</g>"
