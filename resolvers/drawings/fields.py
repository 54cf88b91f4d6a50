"""Resolvers of drawings: their levels and shapes, and the shape of one unit."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import Annotated, TypeAlias

import strawberry

from resolvers.drawings.parsed_drawings import (
    PARTS,
    ParsedDrawing,
    load_parsed_drawings,
)
from resolvers.drawings.parsed_drawings import (
    DrawingLevel as DrawingLevel,
)
from resolvers.drawings.shapes import Place, build_shape, measure_cost
from resolvers.drawings.shapes import Shape as Shape
from resolvers.drawings.shapes import ShapeBox as ShapeBox
from resolvers.drawings.shapes import ShapePart as ShapePart
from resolvers.drawings.shapes import ShapeType as ShapeType
from resolvers.maps import MapId
from resolvers.request.context import Context, Info
from resolvers.request.inputs import ID, OneOf, PageArguments, argument
from resolvers.request.listing import batch_resolver, paged
from resolvers.request.threads import pause_if_due
from storage.catalog import MAPS, Map, Unit
from storage.records.paging import Page

LevelFilter: TypeAlias = Annotated[
    strawberry.ID | None, argument("Id of a level of the drawing.", ID, example="second-floor")
]
PartFilter: TypeAlias = Annotated[
    ShapePart | None,
    argument("`unit`, `hit_area` or `background`.", OneOf(*PARTS), example="unit"),
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


async def _build_shapes(context: Context, places: Sequence[Place]) -> list[Shape]:
    # Before they are built, which takes longer than to return them.
    context.budget.count_read(sum(measure_cost(place.attributes) for place in places))
    shapes = []
    for place in places:
        shapes.append(build_shape(place))
        await pause_if_due()
    return shapes
