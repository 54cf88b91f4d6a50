"""The parts of a routable map that can be closed: connectors, doors and spaces."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, NamedTuple

from resolvers.request.context import Context
from resolvers.request.kinds import find_word, graphql_enum
from resolvers.units import load_unit_names
from routing.values import TravelMode
from storage.catalog import Map
from storage.closures import Part

if TYPE_CHECKING:
    import shapely

    from routing.network.network import Network
    from routing.search.router import Router


class ClosablePart(StrEnum):
    """What can be closed."""

    CONNECTOR = "connector"
    DOOR = "door"
    SPACE = "space"


graphql_enum(
    ClosablePart,
    "What can be closed.",
    connector="A lift, stairs, an escalator or a ramp.",
    door="A door.",
    space="A room, a corridor or an area.",
)


class ClosableKind(StrEnum):
    """The kinds of connectors and of spaces."""

    ELEVATOR = "elevator"
    STEPS = "steps"
    ESCALATOR = "escalator"
    RAMP = "ramp"
    ROOM = "room"
    CORRIDOR = "corridor"
    AREA = "area"


graphql_enum(
    ClosableKind,
    "A kind of connectors or of spaces.",
    elevator="A lift.",
    steps="Stairs.",
    escalator="An escalator or a moving walkway.",
    ramp="A ramp.",
    room="A space with walls: only doors lead into it.",
    corridor="Open floor for walking.",
    area="Open floor, such as a hall or a yard.",
)
CONNECTOR, DOOR, SPACE = ClosablePart
PARTS = {"connectors": CONNECTOR, "doors": DOOR, "spaces": SPACE}
"""What the lists of closures hold."""


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


def list_closable_ids(router: "Router") -> dict[str, set[str]]:
    """Return the ids of what can be closed, by part."""
    network = router.networks[TravelMode.FOOT]
    levels, numbers = network.levels, network.level_numbers.tolist()
    return {
        CONNECTOR: {connector.id for connector in network.connectors},
        DOOR: {door_id for number in numbers for (door_id,) in levels.door_rows.rows(number)},
        SPACE: {space_id for number in numbers for space_id, *_ in levels.space_rows.rows(number)},
    }


def list_parts(router: "Router", feet_per_unit: float) -> list[Part]:
    """Return what can be closed, as it is stored with what is closed."""
    lists = {part: name for name, part in PARTS.items()}
    return [
        Part(
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
