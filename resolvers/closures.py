"""Resolvers of what is closed on a map, and of the connectors, doors and spaces that can be."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeAlias

import strawberry

from resolvers.directory import load_unit_names
from resolvers.maps import MapId, load_closures
from resolvers.request.context import Context, Info
from resolvers.request.errors import MAX_QUOTED_CHARACTERS, InvalidInputError, NotFoundError
from resolvers.request.inputs import ID, Each, Items, PageArguments, argument, batch_resolver
from resolvers.request.kinds import DescribedEnum, find_word, graphql_enum
from resolvers.request.listing import paged
from resolvers.request.threads import run_in_thread
from routing.values import TravelMode
from storage import closures
from storage.catalog import MAPS, Map
from storage.closures import Closures as Closures
from storage.closures import NetworkPart, name_some
from storage.errors import NetworkOutdatedError
from storage.networks import find_network_digest
from storage.records.paging import Page

if TYPE_CHECKING:
    import shapely

    from routing.network.network import Network
    from routing.search.router import Router


@graphql_enum
class ClosablePart(DescribedEnum):
    """What can be closed."""

    CONNECTOR = "connector", "A lift, stairs, an escalator or a ramp."
    DOOR = "door", "A door."
    SPACE = "space", "A room, a corridor or an area."


@graphql_enum
class ClosableKind(DescribedEnum):
    """A kind of connectors or of spaces."""

    ELEVATOR = "elevator", "A lift."
    STEPS = "steps", "Stairs."
    ESCALATOR = "escalator", "An escalator or a moving walkway."
    RAMP = "ramp", "A ramp."
    ROOM = "room", "A space with walls: only doors lead into it."
    CORRIDOR = "corridor", "Open floor for walking."
    AREA = "area", "Open floor, such as a hall or a yard."


CONNECTOR, DOOR, SPACE = ClosablePart
PARTS = {"connectors": CONNECTOR, "doors": DOOR, "spaces": SPACE}
"""The lists of closures hold these parts."""


class Place(NamedTuple):
    """A position on a floor."""

    floor_id: str
    x: Annotated[float, "In the map's own coordinates."]
    y: Annotated[float, "In the map's own coordinates."]


class Closable(NamedTuple):
    """A part of a map that can be closed."""

    # Not `id`: GraphQL clients normalize objects by type and id, and maps may share ids of doors.
    part_id: str
    part: Annotated[ClosablePart, "What it is."]
    kind: Annotated[ClosableKind | None, "Of a connector or a space; a door has none."]
    name: str | None
    places: Annotated[
        list[Place], "Where it is: of a connector, the entrances that lead to a walkable floor."
    ]


def list_closable(router: "Router", feet_per_unit: float) -> list[Closable]:
    """Return what can be closed, by part and id; places are in the map's units."""
    from routing.network.portals import NO_CONNECTOR

    network = router.networks[TravelMode.FOOT]
    found = {
        (CONNECTOR, each.id): Closable(
            each.id, CONNECTOR, ClosableKind(each.kind.value), each.name or None, []
        )
        for each in network.connectors
    }
    for portal in network.portals:
        if portal.connector != NO_CONNECTOR:
            level_id = network.level_ids[portal.level]
            place = _to_place(level_id, portal.x, portal.y, feet_per_unit)
            found[CONNECTOR, network.connectors[portal.connector].id].places.append(place)
    for level_id, part, point in _iter_shapes(network):
        place = _to_place(level_id, point.x, point.y, feet_per_unit)
        found.setdefault((part.part, part.part_id), part).places.append(place)
    return [found[key] for key in sorted(found)]


async def name_units(context: Context, unit_map: Map, items: Sequence[Closable]) -> list[Closable]:
    """Return parts of a map with the names of units in the place of names that the plan lacks."""
    unnamed = [item.part_id for item in items if item.part == SPACE and item.name is None]
    names = await load_unit_names(context, unit_map, unnamed)
    return [
        item._replace(name=names.get(item.part_id))
        if item.part == SPACE and item.name is None
        else item
        for item in items
    ]


def list_parts(router: "Router", feet_per_unit: float) -> list[NetworkPart]:
    """Return what can be closed, as it is stored with what is closed."""
    lists = {part: name for name, part in PARTS.items()}
    return [
        NetworkPart(
            lists[each.part],
            each.part_id,
            each.kind and each.kind.value,
            [(at.floor_id, at.x, at.y) for at in each.places],
        )
        for each in list_closable(router, feet_per_unit)
    ]


def _to_place(level_id: str, x: float, y: float, feet_per_unit: float) -> Place:
    return Place(level_id, round(x / feet_per_unit, 3), round(y / feet_per_unit, 3))


def _iter_shapes(network: "Network") -> Iterator[tuple[str, Closable, "shapely.Point"]]:
    """Yield the doors and spaces of each level, with a point inside."""
    import shapely

    levels = network.levels
    for number in network.level_numbers.tolist():
        parts = [
            Closable(door_id, DOOR, None, None, []) for (door_id,) in levels.door_rows.rows(number)
        ]
        parts += [
            Closable(space_id, SPACE, find_word(ClosableKind, kind), name or None, [])
            for space_id, name, kind, _ in levels.space_rows.rows(number)
        ]
        shapes = [*levels.doors.shapes(number), *levels.spaces.shapes(number)]
        for part, point in zip(parts, shapely.point_on_surface(shapes), strict=True):
            yield levels.ids[number], part, point


MAX_CLOSED = 500
"""At most so many of each part of a map are closed."""
MAX_ATTEMPTS = 3
"""Closing parts of a map is tried so often if it is processed again each time meanwhile."""
_LENGTH = Items(0, MAX_CLOSED, "ids")

ClosedConnectors: TypeAlias = Annotated[
    list[strawberry.ID] | None,
    argument(
        "Ids of all connectors that are closed; by default none is.",
        _LENGTH,
        Each(ID),
        example=["alder-court-floor-1#27"],
    ),
]
ClosedDoors: TypeAlias = Annotated[
    list[strawberry.ID] | None,
    argument(
        "Ids of all doors that are closed; by default none is.", _LENGTH, Each(ID), example=[]
    ),
]
ClosedSpaces: TypeAlias = Annotated[
    list[strawberry.ID] | None,
    argument(
        "Ids of all spaces that are closed; by default none is.",
        _LENGTH,
        Each(ID),
        example=["alder-court-floor-1#15"],
    ),
]


@batch_resolver
async def load_closures_of_map(parents: Sequence[Map], info: Info) -> list[Closures]:
    """Get the connectors, doors and spaces that are closed, which no route uses."""
    return await load_closures(info.context, [parent.id for parent in parents])


@paged
async def list_closable_on_map(
    parent: strawberry.Parent[Map],
    info: Info,
    pages: PageArguments,
) -> Page[Closable]:
    """List the connectors, doors and spaces that can be closed, closed ones included.

    A map that is not routable has none.
    """
    list_id = ("closable", parent.id)
    request = pages.parse_for_list(list_id)
    routable = await info.context.load_whole_map(parent.id)
    found: list[Closable] = []
    if routable is not None:
        scale = parent.feet_per_unit or 1.0
        found = await run_in_thread(list_closable, routable.router, scale)
        info.context.budget.count_cost(len(found))  # whichever page is returned
    page = request.cut_page(found, _key_of).of_list(list_id, len(found))
    info.context.budget.count_read(len(page.data))
    return replace(page, data=await name_units(info.context, parent, page.data))


def _key_of(item: Closable) -> str:
    return f"{item.part} {item.part_id}"


class ChangedClosures(NamedTuple):
    """What is closed on a map from now on."""

    map_id: str
    closures: Closures


async def set_closures(
    info: Info,
    map: MapId,
    connectors: ClosedConnectors = None,
    doors: ClosedDoors = None,
    spaces: ClosedSpaces = None,
) -> ChangedClosures:
    """Close these connectors, doors and spaces of a map, and open all others.

    Routes and distances use none of them from now on. What is closed already may be named even if
    the map, processed again, no longer has it.
    """
    wanted = Closures.of(connectors=connectors or [], doors=doors or [], spaces=spaces or [])
    written = await change_closures(info.context, map, lambda _: wanted)
    await info.context.prepare_routes(map)
    return ChangedClosures(map, written)


async def change_closures(
    context: Context,
    map_id: str,
    edit: Callable[[Closures], Closures],
    attempts: int = MAX_ATTEMPTS,
) -> Closures:
    """Replace what is closed on a map by what `edit` makes of it, and return that.

    Raises NotFoundError, InvalidInputError.
    """
    store, scope = context.bypass_caches(), context.caller.scope
    unit_map = await store.load_record(MAPS, scope, map_id)
    if unit_map is None:
        raise NotFoundError
    digest = await find_network_digest(store.database, scope, map_id)
    cache = context.routable_map_cache
    routable = await cache.get_or_load(digest, map_id) if cache and digest else None
    scale = unit_map.feet_per_unit or 1.0
    parts = await run_in_thread(list_parts, routable.router, scale) if routable else []

    def change(before: Closures) -> Closures:
        after = edit(before)
        _check_closures(map_id, parts if routable else None, before, after)
        return after

    origin, check = context.origin, context.bind_precondition()
    try:
        written = await closures.set_closures(
            store.database, map_id, change, origin, check, parts, digest
        )
    except NetworkOutdatedError:  # published since it was loaded
        if attempts == 1:
            raise
        return await change_closures(context, map_id, edit, attempts - 1)
    if written is None:
        raise NotFoundError
    return written


def _check_closures(
    map_id: str, parts: Sequence[NetworkPart] | None, before: Closures, after: Closures
) -> None:
    """Raise InvalidInputError that names everything that the map does not have."""
    added = {name: {*getattr(after, name)} - {*getattr(before, name)} for name in PARTS}
    if not any(added.values()):
        return
    if parts is None:
        raise InvalidInputError(map=f"{map_id!r} has not been processed for pathfinding")
    known = {name: {each.id for each in parts if each.field == name} for name in PARTS}
    errors = {}
    for name in PARTS:
        if unknown := sorted(added[name] - known[name]):
            named = name_some([_describe_id(key, known) for key in unknown])
            errors[name] = f"must be {name} in the map's list `closable`, not {named}"
    for name in PARTS.keys() - errors.keys():
        if error := _LENGTH.check(getattr(after, name)):
            errors[name] = error
    if errors:
        raise InvalidInputError(**errors)


def _describe_id(key: str, known: dict[str, set[str]]) -> str:
    part = next((PARTS[name] for name, ids in known.items() if key in ids), None)
    return repr(key[:MAX_QUOTED_CHARACTERS]) + (f", which is a {part}" if part else "")
