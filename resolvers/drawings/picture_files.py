"""Make the file of a picture of a level: SVG, or PNG.

Runs in a process of its own, which imports this module.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

import orjson

from parsing.errors import DocumentRejectedError
from parsing.svg.render import Marks, find_levels_of_unit, render_picture
from resolvers.drawings.drawing_levels import (
    Element,
    ShownFloor,
    find_floors,
    iter_level_elements,
)

MAX_PNG_SHAPES: Final = 50_000
"""Elements of a drawing of which there are PNGs."""
MAX_PICTURE_HEIGHT: Final = 4_096
"""A picture with more pixels is made smaller."""


class RouteOnFloors(NamedTuple):
    """The parts of a route by floor, and the floor where it starts."""

    marks: Mapping[str, Marks]
    first_floor_id: str


class PictureRequest(NamedTuple):
    """A picture to draw; the floors are in storey order, from the lowest up."""

    floor_names: Mapping[str, str]
    map_name: str
    level: str | None
    unit_id: str | None
    route: RouteOnFloors | None
    is_png: bool
    width: int


class PictureFile(NamedTuple):
    """A picture, and which level it shows; None where the drawing has no Levels."""

    content: bytes
    width: int
    height: int
    shown: ShownFloor | None


class NoSuchPartError(Exception):
    """The drawing does not show what is asked for; the arguments are its name and a message."""


def make_picture(content: bytes, request: PictureRequest) -> PictureFile:
    """Return a picture of a parsed map.

    Raises NoSuchPartError, and DocumentRejectedError if it has too many shapes for a PNG.
    """
    document: Element = orjson.loads(content)
    shown = _choose_level(document, request)
    marks = Marks()
    if request.route is not None and shown is not None and shown.floor_id is not None:
        marks = request.route.marks.get(shown.floor_id, marks)
    marks = marks._replace(unit_id=request.unit_id)
    scale = min(request.width / document["width"], MAX_PICTURE_HEIGHT / document["height"])
    width = max(1, round(document["width"] * scale))
    height = max(1, round(document["height"] * scale))
    name = shown and (request.floor_names.get(shown.floor_id or "") or shown.level_id)
    title = f"{request.map_name}, {name}" if name else request.map_name
    svg = render_picture(document, shown and shown.uid, marks, title, width, height)
    if not request.is_png:
        return PictureFile(svg.encode(), width, height, shown)
    if svg.count("\n") > MAX_PNG_SHAPES:
        raise DocumentRejectedError(
            f"over {MAX_PNG_SHAPES:,} shapes; ask for SVG, or draw the level with fewer"
        )
    import resvg_py  # only processes for drawings need it

    # Without the fonts of the system, of which pictures need none.
    png = resvg_py.svg_to_bytes(svg_string=svg, skip_system_fonts=True)
    return PictureFile(bytes(png), width, height, shown)


def _choose_level(document: Element, request: PictureRequest) -> ShownFloor | None:
    elements = [*iter_level_elements(document["elements"])]
    ranks = {floor_id: rank for rank, floor_id in enumerate(request.floor_names)}
    levels = find_floors(elements, ranks)
    chosen = levels
    if request.level is not None:
        chosen = [shown for shown in levels if shown.is_called(request.level)]
        if not chosen:
            raise NoSuchPartError(
                "level",
                f"{request.level!r} is neither a floor that the drawing shows nor one of its "
                "Levels",
            )
    if request.unit_id is not None:
        uids = {*find_levels_of_unit(document["elements"], request.unit_id)}
        if not uids or (None not in uids and uids.isdisjoint(shown.uid for shown in chosen)):
            raise NoSuchPartError("unit", f"{request.unit_id!r} is not drawn there")
        chosen = [shown for shown in chosen if shown.uid in uids] or chosen
    first = request.route.first_floor_id if request.route else None
    on_route = [shown for shown in chosen if shown.floor_id == first] if first else []

    def rank(shown: ShownFloor) -> int:
        return ranks.get(shown.floor_id or "", len(ranks))

    return min(on_route or chosen, key=rank, default=None)
