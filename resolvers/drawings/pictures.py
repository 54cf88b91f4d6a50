"""Resolver of pictures of a map: one level as SVG or PNG, with a unit and a route on it."""

import base64
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any

import strawberry
from msgspec import Struct

from parsing.svg.render import Marks, RouteStop
from resolvers.directory import load_floors
from resolvers.distances import (
    AVOID_DESCRIPTION,
    AVOID_RULES,
    Avoidable,
    WaypointInput,
)
from resolvers.drawings import picture_files
from resolvers.drawings.shapes import MAX_DRAWING_BYTES
from resolvers.maps import load_drawing, load_drawing_digests, process_drawing
from resolvers.request import inputs
from resolvers.request.caller import CALCULATE_DISTANCES
from resolvers.request.context import Context, Info
from resolvers.request.errors import InvalidInputError
from resolvers.request.kinds import DescribedEnum, graphql_enum
from resolvers.routes import Route, draw_route, find_route
from routing.values import TravelMode
from storage.catalog import Map

MIN_PICTURE_WIDTH = 16
MAX_PICTURE_WIDTH = 2_048
DEFAULT_PICTURE_WIDTH = 1_024


@graphql_enum
class PictureFormat(DescribedEnum):
    """A format of pictures."""

    SVG = "svg", "Shapes, sharp at any size."
    PNG = "png", "Pixels, for programs that do not draw SVG."


class Picture(Struct, frozen=True):
    """A picture of one level of a map."""

    format: Annotated[PictureFormat, "SVG or PNG."]
    width: Annotated[int, "In pixels."]
    height: Annotated[int, "In pixels."]
    level_id: Annotated[str | None, "The id of the Level, if it has one."]
    floor_id: Annotated[str | None, "The floor that the Level shows, if it shows one."]
    content: Annotated[str, "The text of an SVG; a PNG in Base64."]


class BothEnds:
    """Joint rule of a picture: a route has a start and an end."""

    def check(self, values: Mapping[str, Any]) -> inputs.InputViolation | None:
        """Return the error, or None."""
        if (values["source"] is None) == (values["target"] is None):
            return None
        missing, given = ("from", "to") if values["source"] is None else ("to", "from")
        return inputs.InputViolation(missing, f"must be given too, as {given} is")

    def json_schema(self) -> inputs.JsonSchema:
        """Return that each needs the other."""
        return {"dependentRequired": {"from": ["to"], "to": ["from"]}}


@inputs.joint_rules(BothEnds())
async def get_picture_of_map(
    parent: strawberry.Parent[Map],
    info: Info,
    level: Annotated[
        strawberry.ID | None,
        inputs.argument(
            "The level that shows the floor with this id, or has it itself; by default that of the "
            "unit, else the one where the route starts, else the lowest.",
            inputs.ID,
            example="alder-court-floor-1",
        ),
    ] = None,
    format: Annotated[
        PictureFormat | None,
        inputs.argument("The format.", example="png"),
    ] = PictureFormat.SVG,
    width: Annotated[
        int | None,
        inputs.argument(
            "In pixels; the height follows.",
            inputs.Range(MIN_PICTURE_WIDTH, MAX_PICTURE_WIDTH),
            example=DEFAULT_PICTURE_WIDTH,
        ),
    ] = DEFAULT_PICTURE_WIDTH,
    unit: Annotated[
        strawberry.ID | None, inputs.argument("The unit to mark.", inputs.ID, example="ugwo2tfiznm")
    ] = None,
    source: Annotated[
        WaypointInput | None,
        inputs.argument(
            "Where a route starts.",
            name="from",
            example={"id": "l4xusy2pgwt"},
            requirement=CALCULATE_DISTANCES,
        ),
    ] = None,
    target: Annotated[
        WaypointInput | None,
        inputs.argument(
            "Where the route goes.",
            name="to",
            example={"id": "lvx7jztptwu"},
            requirement=CALCULATE_DISTANCES,
        ),
    ] = None,
    mode: Annotated[
        TravelMode | None,
        inputs.argument(
            "How to travel.",
            example=TravelMode.WHEELCHAIR.value,
            requirement=CALCULATE_DISTANCES,
        ),
    ] = None,
    avoid: Annotated[
        list[Avoidable] | None,
        inputs.argument(
            AVOID_DESCRIPTION, *AVOID_RULES, example=["stairs"], requirement=CALCULATE_DISTANCES
        ),
    ] = None,
) -> Picture | None:
    """Get a picture of one level, with a unit and a route marked on it.

    Null for a map without a drawing. Where no path leads, no route is drawn.
    """
    context = info.context
    [digest] = await load_drawing_digests(context, [parent.id])
    if digest is None:
        return None
    floors = await load_floors(context, parent.asset_id)
    floors = sorted(floors, key=lambda floor: (floor.sort, floor.id))
    route = None
    if source is not None and target is not None:
        route = await find_route(parent, info, source, target, mode or TravelMode.FOOT, avoid)
    chosen = format or PictureFormat.SVG
    request = picture_files.PictureRequest(
        {floor.id: floor.name for floor in floors},
        parent.name,
        level,
        unit,
        None if route is None else await _divide(route, info, [floor.id for floor in floors]),
        chosen is PictureFormat.PNG,
        width or DEFAULT_PICTURE_WIDTH,
    )
    file = await _make(context, parent, request)
    is_text = chosen is PictureFormat.SVG
    content = file.content.decode() if is_text else base64.b64encode(file.content).decode()
    context.budget.check_least(len(content))
    shown = file.shown
    return Picture(
        chosen,
        file.width,
        file.height,
        shown and shown.level_id,
        shown and shown.floor_id,
        content,
    )


async def _make(
    context: Context, unit_map: Map, request: picture_files.PictureRequest
) -> picture_files.PictureFile:
    use = "pictures; ask for parsed instead"
    content = await load_drawing(context, unit_map.id, MAX_DRAWING_BYTES, use)
    try:
        return await process_drawing(
            context, partial(picture_files.make_picture, request=request), content
        )
    except picture_files.NoSuchPartError as error:
        name, message = error.args
        raise InvalidInputError(**{name: message}) from error


async def _divide(route: Route, info: Info, order: Sequence[str]) -> picture_files.RouteOnFloors:
    """Return what each floor shows of a route."""
    ranks = {floor_id: rank for rank, floor_id in enumerate(order)}
    marks: dict[str, Marks] = {}

    def add(floor_id: str, **changes: Any) -> None:
        before = marks.get(floor_id, Marks())
        more: dict[str, Any] = {
            name: (*getattr(before, name), value) if name in ("lines", "stops") else value
            for name, value in changes.items()
        }
        marks[floor_id] = before._replace(**more)

    legs = route.legs
    for index, (leg, drawn) in enumerate(zip(legs, await draw_route(route, info), strict=True)):
        if drawn:
            line = tuple((x, y) for x, y in drawn)
            add(leg.floor_id, lines=line)
            if index == 0:
                add(leg.floor_id, start=line[0])
            if index == len(legs) - 1:
                add(leg.floor_id, end=line[-1])
            continue
        is_up = ranks.get(leg.to_floor_id, 0) > ranks.get(leg.floor_id, 0)
        if index and legs[index - 1].points:
            x, y = legs[index - 1].points[-1]
            add(leg.floor_id, stops=RouteStop((x, y), "up" if is_up else "down"))
        if index + 1 < len(legs) and legs[index + 1].points:
            x, y = legs[index + 1].points[0]
            add(leg.to_floor_id, stops=RouteStop((x, y), "here"))
    first = legs[0].floor_id if legs else ""
    return picture_files.RouteOnFloors(marks, first)
