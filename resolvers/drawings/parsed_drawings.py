"""Parsed drawings as levels and places of shapes, read once for each drawing."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, NamedTuple

import orjson

from resolvers.drawings.shapes import PATH_BY_KIND, Place, ShapePart
from resolvers.request.context import Cache, Context
from resolvers.request.errors import LimitExceededError
from resolvers.request.map_loads import load_drawing_digests, load_drawings
from resolvers.request.threads import run_in_thread

MAX_DRAWING_BYTES = 8_000_000
"""Of the JSON of a drawing that is read; it holds the interpreter for 50 ms."""
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
    places: Sequence[Place]
    by_unit: dict[str, Place]
    """The first outline of each unit."""
    size_bytes: int
    """Of its JSON."""


_read_drawings: Cache[str, ParsedDrawing] = Cache(
    max_bytes=MAX_READ_DRAWINGS_BYTES, weigh=lambda _, drawing: drawing.size_bytes
)
"""By digest, which says what is in a drawing: it is never out of date."""


def read_drawing(content: bytes) -> ParsedDrawing:
    """Read the JSON of a parsed drawing."""
    document = orjson.loads(content)
    levels: list[DrawingLevel] = []
    places = [*_iter_places(document["elements"], None, levels)]
    by_unit: dict[str, Place] = {}
    for place in places:
        if place.part == UNIT and place.unit_id is not None:
            by_unit.setdefault(place.unit_id, place)
    return ParsedDrawing(
        document["width"], document["height"], levels, places, by_unit, len(content)
    )


def _iter_places(
    elements: list[dict[str, Any]], level_id: str | None, levels: list[DrawingLevel]
) -> Iterator[Place]:
    for element in elements:
        match element["type"]:
            case "Level":
                tags = [DrawingTag(*pair) for pair in element.get("tags", {}).items()]
                levels.append(DrawingLevel(element.get("id"), tags))
                yield from _iter_places(element["elements"], element.get("id"), levels)
            case "Unit":
                yield Place(UNIT, element["id"], level_id, element["shape"])
            case "HitArea":
                yield Place(HIT_AREA, element["target"]["id"], level_id, element["shape"])
            case kind if kind in PATH_BY_KIND:
                yield Place(BACKGROUND, None, level_id, element)
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
    missing = [
        map_id
        for map_id, digest in zip(map_ids, digests, strict=True)
        if digest is not None and found[digest] is None
    ]
    contents = dict(zip(missing, await load_drawings(context, missing), strict=True))
    drawings: list[ParsedDrawing | None] = []
    for map_id, digest in zip(map_ids, digests, strict=True):
        drawing = None if digest is None else found[digest]
        content = contents.get(map_id)
        if drawing is None and digest is not None and content is not None:
            drawing = found[digest] = await _read_and_keep(digest, content)
        drawings.append(drawing)
    return drawings


async def _read_and_keep(digest: str, content: bytes) -> ParsedDrawing:
    if len(content) > MAX_DRAWING_BYTES:
        raise LimitExceededError(
            f"The drawing has {len(content)} bytes, over the limit of {MAX_DRAWING_BYTES} for"
            " single shapes; ask for parsed instead",
            limit="response_bytes",
            maximum=MAX_DRAWING_BYTES,
            requested=len(content),
        )
    drawing = await run_in_thread(read_drawing, content)
    _read_drawings.put(digest, drawing)
    return drawing
