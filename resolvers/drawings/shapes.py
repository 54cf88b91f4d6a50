"""Resolvers of drawings: their levels, and their shapes as one SVG path each with a box."""

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Final, NamedTuple, TypeAlias

import orjson
import strawberry

from parsing.errors import DocumentRejectedError, InvalidMarkupError
from parsing.svg.lengths import format_number, parse_length
from parsing.svg.outlines import trace_shape
from parsing.svg.transforms import parse_transform
from resolvers.maps import MapId, check_drawing_size, load_drawing_digests, load_drawings
from resolvers.request.context import Cache, Context, Info
from resolvers.request.inputs import ID, PageArguments, argument, batch_resolver
from resolvers.request.kinds import DescribedEnum, graphql_enum
from resolvers.request.listing import paged
from resolvers.request.threads import pause_if_due, run_in_thread
from storage.catalog import MAPS, Map, Unit
from storage.records.paging import Page

TOLERANCE: Final = 0.05
"""A box may be so far from a curve, in units of the drawing."""
MAX_CHORDS_OF_CURVE: Final = 50
COST_OF_SHAPE: Final = 10
CHARACTERS_PER_COST: Final = 10
"""A shape takes some 50 microseconds, and 0.5 more for each character of its geometry."""
_GEOMETRY_TEXTS: Final = ("points", "d", "transform")

Attributes = Mapping[str, Any]


class ShapeBox(NamedTuple):
    """The bounding box of a shape in the map's own coordinates, where y grows downwards."""

    x: Annotated[float, "The left side."]
    y: Annotated[float, "The upper side."]
    width: float
    height: float
    center_x: Annotated[float, "The middle of the box, where a label can stand."]
    center_y: Annotated[float, "The middle of the box, where a label can stand."]


@graphql_enum
class ShapePart(DescribedEnum):
    """What a shape is for."""

    UNIT = "unit", "The outline of a unit."
    HIT_AREA = "hit_area", "An area to click."
    BACKGROUND = "background", "All else."


@graphql_enum
class ShapeType(DescribedEnum):
    """An element of a drawing, named as in parsed maps."""

    POLYGON = "Polygon", "A closed line of straight pieces."
    POLYLINE = "Polyline", "An open line of straight pieces."
    LINE = "Line", "One straight line."
    PATH = "Path", "Any line, also with curves."
    CIRCLE = "Circle", "A circle."
    ELLIPSE = "Ellipse", "An ellipse."
    RECT = "Rect", "A rectangle."


class Shape(NamedTuple):
    """A shape of a drawing: `<path d={d} transform={transform} fill={fill}/>` draws any of them."""

    part: Annotated[
        str,
        "`unit` for the outline of a unit, `hit_area` for an area to click, `background` for all"
        " else.",
    ]
    unit_id: Annotated[str | None, "The unit that it shows or selects; null in the background."]
    level_id: Annotated[str | None, "The level that it is on; null if it is on none."]
    type: Annotated[
        str | None,
        "`Polygon`, `Polyline`, `Line`, `Path`, `Circle`, `Ellipse` or `Rect`, as in the drawing.",
    ]
    d: Annotated[str | None, "The shape as data of an SVG path; null if it has no extent."]
    transform: Annotated[str | None, "What the path is transformed by, as in SVG."]
    fill: Annotated[str | None, "A colour, or `none`; null is black, as in SVG."]
    fill_opacity: str | None
    fill_rule: str | None
    stroke: Annotated[str | None, "A colour; null is none, as in SVG."]
    stroke_width: str | None
    stroke_opacity: str | None
    opacity: str | None
    box: Annotated[ShapeBox | None, "Without the stroke; null if the shape has no extent."]


class PlacedShape(NamedTuple):
    """A shape of a parsed drawing, its unit and level, and its attributes."""

    part: str
    unit_id: str | None
    level_id: str | None
    attributes: Attributes


def measure_cost(attributes: Attributes) -> int:
    """Return what `build_shape` costs, in records."""
    characters = sum(len(str(attributes.get(name, ""))) for name in _GEOMETRY_TEXTS)
    return COST_OF_SHAPE + characters // CHARACTERS_PER_COST


def build_shape(place: PlacedShape) -> Shape:
    """Return a shape from the attributes that the parser has stored."""
    given = place.attributes
    kind = given.get("type")
    values = {name: given.get(name.replace("_", "-")) for name in _STYLES}
    styles = {name: None if value is None else str(value) for name, value in values.items()}
    path = build_path(kind, given) if kind in PATH_BY_KIND else None
    return Shape(
        part=place.part,
        unit_id=place.unit_id,
        level_id=place.level_id,
        type=kind if kind in PATH_BY_KIND else None,
        d=path,
        box=None if path is None else measure_box(kind or "", given),
        **styles,
    )


def build_path(kind: str | None, attributes: Attributes) -> str | None:
    """Return the path data of a shape, in its own coordinates; None if it has no extent.

    >>> build_path("Rect", {"x": 1, "y": 2, "width": 30, "height": 4})
    'M1 2h30v4h-30z'
    >>> build_path("Circle", {"cx": "5", "cy": "5", "r": "2"})
    'M3 5a2 2 0 1 0 4 0a2 2 0 1 0 -4 0z'
    """
    return PATH_BY_KIND[kind or ""](attributes)


def measure_box(kind: str, attributes: Attributes) -> ShapeBox | None:
    """Return the bounding box of a shape, transformed; None if it has no extent.

    >>> measure_box("Rect", {"width": 2, "height": 1, "transform": "translate(10 0) scale(2)"})
    ShapeBox(x=10.0, y=0.0, width=4.0, height=2.0, center_x=12.0, center_y=1.0)
    """
    try:
        matrix = parse_transform(str(attributes.get("transform", "")))
        lines = trace_shape(kind, attributes, TOLERANCE, MAX_CHORDS_OF_CURVE)
    except (InvalidMarkupError, DocumentRejectedError):
        return None
    points = [matrix.apply(point) for line in lines for point in line.points]
    if not points:
        return None
    left, right = min(x for x, _ in points), max(x for x, _ in points)
    top, bottom = min(y for _, y in points), max(y for _, y in points)
    return ShapeBox(left, top, right - left, bottom - top, (left + right) / 2, (top + bottom) / 2)


_STYLES: Final = (
    "transform",
    "fill",
    "fill_opacity",
    "fill_rule",
    "stroke",
    "stroke_width",
    "stroke_opacity",
    "opacity",
)


def _read_number(attributes: Attributes, name: str) -> float:
    value = attributes.get(name, 0)
    number = parse_length(value, math.nan) if isinstance(value, str) else float(value)
    return 0.0 if number is None or math.isnan(number) else number


def _polyline(attributes: Attributes) -> str | None:
    points = str(attributes.get("points", "")).strip()
    return f"M{points}" if points else None


def _polygon(attributes: Attributes) -> str | None:
    line = _polyline(attributes)
    return line and f"{line}z"


def _line(attributes: Attributes) -> str | None:
    x1, y1, x2, y2 = (
        format_number(_read_number(attributes, name)) for name in ("x1", "y1", "x2", "y2")
    )
    return f"M{x1} {y1}L{x2} {y2}"


def _path(attributes: Attributes) -> str | None:
    return str(attributes.get("d", "")).strip() or None


def _rect(attributes: Attributes) -> str | None:
    x, y, width, height = (_read_number(attributes, name) for name in ("x", "y", "width", "height"))
    if width <= 0 or height <= 0:
        return None
    # One radius may stand for both, half a side is the limit (SVG 2, section 10.2).
    radii = [name for name in ("rx", "ry") if attributes.get(name, "auto") != "auto"]
    rx = min(max(_read_number(attributes, radii[0]), 0), width / 2) if radii else 0
    ry = min(max(_read_number(attributes, radii[-1]), 0), height / 2) if radii else 0
    if not rx or not ry:
        return "M{} {}h{}v{}h{}z".format(*map(format_number, (x, y, width, height, -width)))
    right, down = width - 2 * rx, height - 2 * ry
    corner = f"a{format_number(rx)} {format_number(ry)} 0 0 1 "
    steps = (
        f"M{format_number(x + rx)} {format_number(y)}h{format_number(right)}",
        f"{corner}{format_number(rx)} {format_number(ry)}v{format_number(down)}",
        f"{corner}{format_number(-rx)} {format_number(ry)}h{format_number(0 - right)}",
        f"{corner}{format_number(-rx)} {format_number(-ry)}v{format_number(0 - down)}",
        f"{corner}{format_number(rx)} {format_number(-ry)}z",
    )
    return "".join(steps)


def _ellipse(attributes: Attributes, radii: Sequence[str] = ("rx", "ry")) -> str | None:
    rx, ry = (_read_number(attributes, name) for name in radii)
    if rx <= 0 or ry <= 0:
        return None
    x, y = (_read_number(attributes, name) for name in ("cx", "cy"))
    arc = f"a{format_number(rx)} {format_number(ry)} 0 1 0 "
    across = format_number(2 * rx)
    return f"M{format_number(x - rx)} {format_number(y)}{arc}{across} 0{arc}-{across} 0z"


PATH_BY_KIND: Final[dict[str, Callable[[Attributes], str | None]]] = {
    "Polygon": _polygon,
    "Polyline": _polyline,
    "Line": _line,
    "Path": _path,
    "Circle": partial(_ellipse, radii=("r", "r")),
    "Ellipse": _ellipse,
    "Rect": _rect,
}


MAX_DRAWING_BYTES = 8_000_000
"""A drawing whose JSON has more is not read: this holds the interpreter for 50 ms."""
MAX_READ_DRAWINGS_BYTES = 16_000_000
"""JSON of the drawings that are kept in memory, where they take some five times as much."""
UNIT, HIT_AREA, BACKGROUND = PARTS = tuple(part.value for part in ShapePart)


class DrawingTag(NamedTuple):
    """A tag of a level: the id of a value of a level tag."""

    key: Annotated[str, "The key of a level tag of the map."]
    value: Annotated[str, "The value of the tag, such as the id of a floor."]


class DrawingLevel(NamedTuple):
    """A level of a drawing."""

    level_id: str | None
    tags: list[DrawingTag]


class ParsedDrawing(NamedTuple):
    """A drawing that was read. Its places are in the order in which they are painted."""

    width: int
    height: int
    levels: Sequence[DrawingLevel]
    places: Sequence[PlacedShape]
    by_unit: dict[str, PlacedShape]
    """The first outline of each unit."""
    size_bytes: int
    """The size of its JSON."""


_read_drawings: Cache[str, ParsedDrawing] = Cache(
    max_bytes=MAX_READ_DRAWINGS_BYTES, weigh=lambda _, drawing: drawing.size_bytes
)
"""Drawings by the digest of their content: they are never out of date."""


def read_drawing(content: bytes) -> ParsedDrawing:
    """Read the JSON of a parsed drawing."""
    document = orjson.loads(content)
    levels: list[DrawingLevel] = []
    places = [*_iter_places(document["elements"], None, levels)]
    by_unit: dict[str, PlacedShape] = {}
    for place in places:
        if place.part == UNIT and place.unit_id is not None:
            by_unit.setdefault(place.unit_id, place)
    return ParsedDrawing(
        document["width"], document["height"], levels, places, by_unit, len(content)
    )


def _iter_places(
    elements: list[dict[str, Any]], level_id: str | None, levels: list[DrawingLevel]
) -> Iterator[PlacedShape]:
    for element in elements:
        match element["type"]:
            case "Level":
                tags = [DrawingTag(*pair) for pair in element.get("tags", {}).items()]
                levels.append(DrawingLevel(element.get("id"), tags))
                yield from _iter_places(element["elements"], element.get("id"), levels)
            case "Unit":
                yield PlacedShape(UNIT, element["id"], level_id, element["shape"])
            case "HitArea":
                yield PlacedShape(HIT_AREA, element["target"]["id"], level_id, element["shape"])
            case kind if kind in PATH_BY_KIND:
                yield PlacedShape(BACKGROUND, None, level_id, element)
            case _:
                yield from _iter_places(element.get("elements", []), level_id, levels)


async def load_parsed_drawings(
    context: Context, map_ids: Sequence[str]
) -> list[ParsedDrawing | None]:
    """Return the drawing of each map; None for maps without one.

    Raises LimitExceededError for one that is too large.
    """
    digests = await load_drawing_digests(context, map_ids)
    found = {digest: _read_drawings.get(digest) for digest in digests if digest is not None}
    missing = {
        digest: map_id
        for map_id, digest in zip(map_ids, digests, strict=True)
        if digest is not None and found[digest] is None
    }
    contents = await load_drawings(context, [*missing.values()])
    for digest, content in zip(missing, contents, strict=True):
        if content is not None:
            check_drawing_size(content, MAX_DRAWING_BYTES, "single shapes; ask for parsed instead")
            found[digest] = drawing = await run_in_thread(read_drawing, content)
            _read_drawings.put(digest, drawing)
    return [None if digest is None else found[digest] for digest in digests]


LevelFilter: TypeAlias = Annotated[
    strawberry.ID | None, argument("Id of a level of the drawing.", ID, example="second-floor")
]
PartFilter: TypeAlias = Annotated[
    ShapePart | None, argument("`unit`, `hit_area` or `background`.", example="unit")
]


_IS_POSITION = re.compile(r"[0-9]{1,9}")


@batch_resolver
async def load_drawing_of_map(parents: Sequence[Map], info: Info) -> list[ParsedDrawing | None]:
    """Get the parsed drawing of a map, level by level and shape by shape, if it has one.

    `parsed` is the same drawing as one document.
    """
    return await load_parsed_drawings(info.context, [parent.id for parent in parents])


@paged
async def list_shapes_of_drawing(
    parent: strawberry.Parent[ParsedDrawing],
    info: Info,
    pages: PageArguments,
    level: LevelFilter = None,
    part: PartFilter = None,
) -> Page[Shape]:
    """List the shapes of a drawing in the order in which they are painted."""
    list_id = ("shapes", parent.width, parent.height, parent.size_bytes, pages.filters)
    request = pages.parse_for_list(list_id)
    key = "" if request.after is None else str(request.after[0])
    start = int(key) + 1 if _IS_POSITION.fullmatch(key) else 0
    found = [
        number
        for number, place in enumerate(parent.places)
        if part in (None, place.part) and level in (None, place.level_id)
    ]
    following = found[bisect_left(found, start) :]
    on_page = following[request.skip : request.skip + request.limit]
    places = [parent.places[number] for number in on_page[: request.per_page]]
    shapes = await _build_shapes(info.context, places)
    page = request.build_page(shapes, [(str(number),) for number in on_page])
    return page.of_list(list_id, len(found))


@batch_resolver
async def load_shape_of_unit(parents: Sequence[Unit], info: Info, map: MapId) -> list[Shape | None]:
    """Get the outline of a unit on a map; null if the map does not show it."""
    unit_map = await info.context.get_record(MAPS, map)
    drawing = None
    if unit_map is not None:
        [drawing] = await load_parsed_drawings(info.context, [unit_map.id])
    if unit_map is None or drawing is None:
        return [None for _ in parents]
    places = [
        drawing.by_unit.get(parent.id) if parent.asset_id == unit_map.asset_id else None
        for parent in parents
    ]
    shapes = iter(await _build_shapes(info.context, [each for each in places if each]))
    return [None if place is None else next(shapes) for place in places]


async def _build_shapes(context: Context, places: Sequence[PlacedShape]) -> list[Shape]:
    # Before they are built, which takes longer than to return them.
    context.budget.count_read(sum(measure_cost(place.attributes) for place in places))
    shapes = []
    for place in places:
        shapes.append(build_shape(place))
        await pause_if_due()
    return shapes
