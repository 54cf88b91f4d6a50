"""Resolver of the distance matrix (E18), and the waypoints that it and routes go between.

Waypoints are completed from locations. A unit is a waypoint where its location is:
docs/decisions/routing/waypoints.md.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, TypeAlias

import strawberry
from msgspec import Struct

from resolvers.locations import LOCATIONS_OF_UNIT
from resolvers.request.context import Context, Info
from resolvers.request.errors import InvalidInputError
from resolvers.request.inputs import (
    ID,
    NO_NUL,
    Each,
    InputViolation,
    Items,
    JointRule,
    JsonSchema,
    Length,
    OneOf,
    PageArguments,
    Range,
    Rule,
    argument,
    joint_rules,
    ruled_field,
)
from resolvers.request.kinds import DescribedEnum, describe_enum, graphql_enum
from resolvers.request.threads import ROUTING, FairThreads
from resolvers.routable_maps import Placement, RoutableMap, to_placement
from routing.values import ConnectorKind, Position, Restrictions, WaypointRef
from routing.values import TravelMode as TravelMode
from storage.catalog import FLOORS, LOCATIONS, MAX_COORDINATE, Map
from storage.records.kinds import MAX_TEXT_CHARACTERS

if TYPE_CHECKING:
    from routing.search.matrix import TravelMatrix
    from routing.search.router import Router


# One thread: GEOS changes a prepared geometry while it tests it, so two searches of a map at once
# end the process.
run_search = FairThreads("search", max_threads=1).run


@graphql_enum
class Avoidable(DescribedEnum):
    """What routes can avoid."""

    STAIRS = "stairs", "Stairs."
    ESCALATORS = "escalators", "Escalators and moving walkways between floors."
    LIFTS = "lifts", "Lifts."
    OUTDOORS = "outdoors", "Whatever is not in a building."


describe_enum(
    ConnectorKind,
    "What carries people between floors.",
    elevator="A lift.",
    steps="Stairs.",
    escalator="An escalator or a moving walkway.",
    ramp="A ramp.",
)

AVOIDABLE_KINDS: Final = {
    Avoidable.STAIRS: ConnectorKind.STEPS,
    Avoidable.ESCALATORS: ConnectorKind.ESCALATOR,
    Avoidable.LIFTS: ConnectorKind.ELEVATOR,
}
AVOID_RULES: Final[tuple[Rule, ...]] = (
    Items(0, len(Avoidable), "values"),
    Each(OneOf(*(each.value for each in Avoidable))),
)
AVOID_DESCRIPTION: Final = (
    "What not to use: stairs, escalators, lifts, outdoors. Straight lines take no account of it."
)

Avoid: TypeAlias = Annotated[
    list[Avoidable] | None,
    argument("What not to use: stairs, escalators, lifts, outdoors.", *AVOID_RULES,
             example=["stairs"]),
]  # fmt: skip


def to_restrictions(avoid: Collection[str] | None) -> Restrictions | None:
    """Return the restrictions that values of `Avoidable` stand for; None without any.

    >>> to_restrictions(["stairs", "outdoors"]).connector_kinds
    frozenset({<ConnectorKind.STEPS: 'steps'>})
    """
    if not avoid:
        return None
    names = frozenset(avoid)
    kinds = frozenset(kind for name, kind in AVOIDABLE_KINDS.items() if name in names)
    return Restrictions(connector_kinds=kinds, outdoors=Avoidable.OUTDOORS in names)


class LocationOrPosition:
    """Joint rule of a waypoint: it has the id of a location or a unit, or a complete position."""

    def check(self, values: Mapping[str, Any]) -> InputViolation | None:
        """Return the error, or None."""
        x, id, unit_id = values["x"], values["id"], values["unit_id"]
        if (x is None) != (values["y"] is None):
            return InputViolation("", "must have both x and y, or neither")
        if id is not None and unit_id is not None:
            return InputViolation("", "must have an id or a unit id, not both")
        if id is None and unit_id is None and (x is None or values["floor_id"] is None):
            return InputViolation(
                "", "must have the id of a location or a unit, or x, y and a floor"
            )
        return None

    def json_schema(self) -> JsonSchema:
        """Return the forms as conditions; a member that is null counts as absent.

        In REST, `floorId` is a second name of `floor_id`.

        Generators of clients make types of `anyOf`, which would lose those of the members.
        """
        number, null = {"type": "number"}, {"type": "null"}
        text = {"not": null}

        def has(**members: JsonSchema) -> JsonSchema:
            return {"required": [*members], "properties": members}

        is_named = [has(id=text), has(unit_id=text)]
        return {
            "if": has(x=number, y=number),
            "then": {"anyOf": [has(floor_id=text), has(floorId=text), *is_named]},
            "else": {"anyOf": is_named, "properties": {"x": null, "y": null}},
            "not": has(id=text, unit_id=text),
        }


@joint_rules(LocationOrPosition())
@strawberry.input(
    description="A location or a unit of the map, or x, y and a floor. With both, the coordinates "
    "count and the response repeats the id."
)
class WaypointInput:
    id: strawberry.ID | None = ruled_field(
        "Id of a location of the map; if it has no such location, of a unit with one.",
        ID,
        default=None,
    )
    unit_id: strawberry.ID | None = ruled_field(
        "Id of a unit that has a location on the map, instead of `id`.", ID, default=None
    )
    name: str | None = ruled_field(
        "Repeated in the response; the location's name by default.",
        Length(0, MAX_TEXT_CHARACTERS),
        NO_NUL,
        default=None,
    )
    x: float | None = ruled_field(
        "In the map's own coordinates.", Range(-MAX_COORDINATE, MAX_COORDINATE), default=None
    )
    y: float | None = ruled_field(
        "In the map's own coordinates.", Range(-MAX_COORDINATE, MAX_COORDINATE), default=None
    )
    floor_id: strawberry.ID | None = ruled_field("Id of a floor of the map.", ID, default=None)


class Waypoint(Struct, frozen=True):
    """A waypoint of a request, completed from its location."""

    id: str | None
    """The id in the request, of a location or a unit."""
    name: str | None
    x: float
    y: float
    floor_id: str
    is_location: bool
    """True if it is at the position of `location_id`, and does not only repeat an id."""
    location_id: str | None = None
    """The location that `id` names, or that stands for the unit that it names."""


async def resolve_waypoints(
    context: Context,
    parent: Map,
    routable: RoutableMap | None,
    named_inputs: Sequence[tuple[str, WaypointInput]],
) -> list[Waypoint]:
    """Return the waypoints in their order; each input comes with its name for error messages.

    Raises InvalidInputError with every location and floor that is not the map's.
    """
    ids = {point.id for _, point in named_inputs if point.id is not None}
    floor_ids = {point.floor_id for _, point in named_inputs if point.floor_id is not None}
    placements = await _load_placements(context, parent, routable, ids)
    points = [point for _, point in named_inputs]
    units = await _load_placements_of_units(context, parent, points, placements)
    known_floor_ids = await _load_floor_ids(context, parent, routable, floor_ids)
    errors: dict[str, str] = {}
    waypoints = []
    for name, point in named_inputs:
        has_position = _has_position(point)
        placement = placements.get(point.id or "")
        # Another waypoint may name the same unit, but a position does without it.
        if placement is None and not has_position:
            placement = units.get(point.unit_id or point.id or "")
        if point.floor_id is not None and point.floor_id not in known_floor_ids:
            errors[f"{name}.floorId"] = f"must be a floor of this map, not {point.floor_id!r}"
        elif has_position or (
            placement is not None and point.floor_id in (None, *placement.floor_ids)
        ):
            waypoints.append(_complete_waypoint(point, placement))
        elif placement is not None:
            errors[f"{name}.floorId"] = f"must be a floor of the location {placement.id!r}"
        elif point.unit_id is not None:
            errors[f"{name}.unitId"] = (
                f"must be a unit that has a location on this map, not {point.unit_id!r}"
            )
        else:
            errors[f"{name}.id"] = (
                "must be a location of this map, or a unit that has one, not " + repr(point.id)
            )
    if errors:
        raise InvalidInputError(**errors)
    return waypoints


def find_locations(
    placements: Mapping[str, Placement], points: Iterable[WaypointInput]
) -> list[Waypoint] | None:
    """Return the waypoints if all of them only name a location of a network; else None.

    They are those that `resolve_waypoints` returns: then it neither reads nor finds errors.
    """
    waypoints = []
    for point in points:
        placement = placements.get(point.id or "")
        if placement is None or point.x is not None or point.floor_id is not None:
            return None
        key, own_name, x, y, floor_ids = placement
        name = own_name if point.name is None else point.name
        floor_id = floor_ids[0] if floor_ids else ""
        waypoints.append(Waypoint(point.id, name, x, y, floor_id, True, key))
    return waypoints


def to_waypoint_refs(
    router: "Router", parent: Map, waypoints: Iterable[Waypoint]
) -> list[WaypointRef]:
    """Return waypoints for routing: the id of each location, else a position in feet."""
    known, scale = router.location_index, parent.feet_per_unit or 1.0
    return [
        key
        if each.is_location and (key := each.location_id or "") in known
        else Position(each.floor_id, each.x * scale, each.y * scale)
        for each in waypoints
    ]


async def _load_placements(
    context: Context, parent: Map, routable: RoutableMap | None, ids: Iterable[str]
) -> Mapping[str, Placement]:
    """Return the map's locations among `ids`; read those that its network does not know."""
    known = routable.placements if routable else {}
    read = await context.load_by_id(LOCATIONS, [key for key in ids if key not in known])
    if not read:
        return known
    others = {
        key: to_placement(location)
        for key, location in read.items()
        if location.unit_map_id == parent.id
    }
    return {**known, **others}


async def _load_placements_of_units(
    context: Context,
    parent: Map,
    points: Iterable[WaypointInput],
    placements: Mapping[str, Placement],
) -> Mapping[str, Placement]:
    """Return the locations on the map of the units that waypoints name, by unit.

    A waypoint with a position needs none, and an id that is that of a location names no unit.
    """
    named = dict.fromkeys(
        unit_id
        for point in points
        if (unit_id := point.unit_id or point.id) is not None
        and not _has_position(point)
        and (point.unit_id is not None or unit_id not in placements)
    )
    if not named:
        return {}
    keys = [(unit_id, parent.asset_id, parent.id) for unit_id in named]
    pages = await context.load_pages(LOCATIONS_OF_UNIT, keys, PageArguments(1, 1))
    return {
        unit_id: placements.get(location.id) or to_placement(location)
        for unit_id, page in zip(named, pages, strict=True)
        for location in page.data
    }


def _has_position(point: WaypointInput) -> bool:
    return point.x is not None and point.floor_id is not None


async def _load_floor_ids(
    context: Context, parent: Map, routable: RoutableMap | None, floor_ids: Iterable[str]
) -> set[str]:
    """Return which of `floor_ids` are floors of the map's asset; read those not in its network."""
    known = {key for key in floor_ids if routable and routable.router.has_level(key)}
    read = await context.load_by_id(FLOORS, [key for key in floor_ids if key not in known])
    return known | {key for key, floor in read.items() if floor.asset_id == parent.asset_id}


def _complete_waypoint(point: WaypointInput, placement: Placement | None) -> Waypoint:
    # A location on several floors counts as itself only on the floor where routing has it.
    if placement is None:
        assert point.x is not None
        assert point.y is not None
        echoed = point.id or point.unit_id
        return Waypoint(echoed, point.name, point.x, point.y, point.floor_id or "", False)
    name = placement.name if point.name is None else point.name
    x = placement.x if point.x is None else point.x
    y = placement.y if point.y is None else point.y
    own_floor_id = placement.floor_id
    floor_id = point.floor_id or own_floor_id
    is_location = x == placement.x and y == placement.y and floor_id == own_floor_id
    return Waypoint(point.id or point.unit_id, name, x, y, floor_id, is_location, placement.id)


MAX_PAIRS = 50
ROUNDING_TOLERANCE = 1e-6
"""Floating-point noise of up to so many thousandths does not round a number up."""


_ALONG, _STRAIGHT = "Along the walkable space.", "In a straight line."


@graphql_enum
class CostingModel(DescribedEnum):
    """A costing model."""

    PEDESTRIAN = "pedestrian", "People who walk or use a wheelchair."


@graphql_enum
class DistanceMethod(DescribedEnum):
    """How to measure distances."""

    DEFAULT = (
        "default",
        "`pathfinding` if the map is routable and every waypoint is on it, else `euclidean`.",
    )
    PATHFINDING = "pathfinding", _ALONG
    EUCLIDEAN = "euclidean", _STRAIGHT


@graphql_enum
class UsedDistanceMethod(DescribedEnum):
    """How distances were measured."""

    PATHFINDING = "pathfinding", _ALONG
    EUCLIDEAN = "euclidean", _STRAIGHT


describe_enum(
    TravelMode,
    "A mode of travel.",
    foot="On foot.",
    wheelchair="In a wheelchair: no stairs, no escalators, no narrow doors.",
)


@strawberry.input(description="Options of the costing `pedestrian`.")
class PedestrianOptions:
    mode: TravelMode | None = ruled_field("How to travel.", default=TravelMode.FOOT)
    avoid: list[Avoidable] | None = ruled_field(AVOID_DESCRIPTION, *AVOID_RULES, default=None)


@strawberry.input(description="Options by costing.")
class CostingOptions:
    pedestrian: PedestrianOptions | None = ruled_field("Of `pedestrian`.", default=None)


Mode: TypeAlias = Annotated[
    TravelMode | None, argument("How to travel.", example=TravelMode.WHEELCHAIR.value)
]


class MaxPairs(JointRule):
    """Joint rule of a matrix: at most `MAX_PAIRS` sources times targets."""

    def check(self, values: Mapping[str, Any]) -> InputViolation | None:
        """Return the error, or None."""
        pairs = len(values["sources"]) * len(values["targets"])
        if pairs <= MAX_PAIRS:
            return None
        return InputViolation(
            "sources", f"sources times targets must be at most {MAX_PAIRS} pairs, not {pairs}"
        )


# `waypoint_id` and not `id`: GraphQL clients normalize objects by type and id, and one location is
# in many rows of a matrix.
WaypointId = Annotated[str | None, "The `id` or `unitId` in the request's waypoint."]
WaypointIndex = Annotated[int, "Position in the request's list, from 0.", Range(0, MAX_PAIRS - 1)]


# Structs: a matrix makes up to `MAX_PAIRS` of them, four times as quickly as dataclasses.
class MatrixTarget(Struct, frozen=True, gc=False):
    """A target of the matrix, with its distance and time from the source."""

    waypoint_id: WaypointId
    name: str | None
    x: float
    y: float
    floor_id: str
    index: WaypointIndex
    distance: Annotated[float | None, "In feet; null where no path leads."]
    time: Annotated[float | None, "In seconds; null where no path leads."]


class MatrixSource(Struct, frozen=True, gc=False):
    """A source of the matrix, with its distance and time to every target."""

    waypoint_id: WaypointId
    name: str | None
    x: float
    y: float
    floor_id: str
    index: WaypointIndex
    targets: Annotated[
        list[MatrixTarget], "The targets, in the order of the request.", Items(1, MAX_PAIRS)
    ]


_get_repeated: Callable[[Waypoint], tuple[Any, Any, Any, Any, Any]]
_get_repeated = attrgetter("id", "name", "x", "y", "floor_id")
"""Returns what a response repeats of a waypoint, in C: a matrix asks for it up to 51 times."""


class DistanceMatrix(NamedTuple):
    """Distances from every source to every target."""

    distance_method: Annotated[UsedDistanceMethod, "The method that was used."]
    sources: Annotated[
        list[MatrixSource], "The sources, in the order of the request.", Items(1, MAX_PAIRS)
    ]


@joint_rules(MaxPairs())
async def get_distance_matrix(
    parent: strawberry.Parent[Map],
    info: Info,
    sources: Annotated[
        list[WaypointInput],
        argument(
            "Where to start.", Items(1, MAX_PAIRS, "waypoints"), example=[{"id": "lvx7jztptwu"}]
        ),
    ],
    targets: Annotated[
        list[WaypointInput],
        argument(
            f"Where to go. There may be {MAX_PAIRS} pairs of a source and a target.",
            Items(1, MAX_PAIRS, "waypoints"),
            example=[{"x": 437.5, "y": 350.0, "floor_id": "alder-court-floor-1"}],
        ),
    ],
    costing: Annotated[
        CostingModel | None,
        argument("The costing model; there is only `pedestrian`."),
    ] = CostingModel.PEDESTRIAN,
    costing_options: Annotated[
        CostingOptions | None,
        argument("Options by costing.", example={"pedestrian": {"mode": "wheelchair"}}),
    ] = None,
    distance_method: Annotated[
        DistanceMethod | None, argument("How to measure.")
    ] = DistanceMethod.DEFAULT,
) -> DistanceMatrix:
    """Calculate distances in feet and times in seconds from each source to each target.

    `pathfinding` follows the walkable space, `euclidean` ignores it. `default` means pathfinding
    if the map has been processed and every waypoint is on it, else euclidean.
    """
    pedestrian = costing_options.pedestrian if costing_options else None
    mode = (pedestrian and pedestrian.mode) or TravelMode.FOOT
    method = distance_method or DistanceMethod.DEFAULT
    avoided = to_restrictions(pedestrian.avoid if pedestrian else None)
    routable = await info.context.load_routable_map(parent.id, avoided)
    waypoints = routable and find_locations(routable.placements, chain(sources, targets))
    if waypoints is None:
        named_inputs = [(f"sources[{index}]", point) for index, point in enumerate(sources)]
        named_inputs += [(f"targets[{index}]", point) for index, point in enumerate(targets)]
        waypoints = await resolve_waypoints(info.context, parent, routable, named_inputs)
    starts, ends = waypoints[: len(sources)], waypoints[len(sources) :]
    if routable is None and method == DistanceMethod.PATHFINDING:
        raise InvalidInputError(
            distanceMethod="must not be pathfinding, as this map has not been processed for it"
        )
    if routable is not None and method != DistanceMethod.EUCLIDEAN:
        router = routable.router
        stops = to_waypoint_refs(router, parent, waypoints)
        search = partial(_search, routable, stops, len(sources), mode)
        is_required = method == DistanceMethod.PATHFINDING
        # What is in a table is only looked up; the rest takes a search.
        if router.has_distances(stops, mode):
            matrix = search(is_required)
        else:
            matrix = await run_search(search, is_required)
        if matrix is not None:
            return _build_matrix(UsedDistanceMethod.PATHFINDING, starts, ends, matrix)
    await ROUTING.load()
    matrix = _measure_euclidean(parent.feet_per_unit, starts, ends, mode)
    return _build_matrix(UsedDistanceMethod.EUCLIDEAN, starts, ends, matrix)


def _search(
    routable: RoutableMap,
    stops: Sequence[WaypointRef],
    source_count: int,
    mode: TravelMode,
    is_required: bool,
) -> "TravelMatrix | None":
    """Return the matrix; None if a stop is not attached, unless the matrix is required."""
    # What is closed or avoided is on the map all the same: no path leads to it.
    whole = routable.whole or routable.router
    if not is_required and not whole.are_attached(stops, mode):
        return None
    return routable.router.matrix(stops[:source_count], stops[source_count:], mode)


def _measure_euclidean(
    scale: float | None, starts: Sequence[Waypoint], ends: Sequence[Waypoint], mode: TravelMode
) -> "TravelMatrix":
    from routing.costing import Costing
    from routing.search.matrix import euclidean_distances

    if scale is None:
        raise InvalidInputError(
            distanceMethod="must not be euclidean, as the map has no feet_per_unit and its "
            "scale is unknown"
        )
    return euclidean_distances(
        [(point.x * scale, point.y * scale) for point in starts],
        [(point.x * scale, point.y * scale) for point in ends],
        Costing().feet_per_second(mode),
    )


def _build_matrix(
    method: UsedDistanceMethod,
    starts: Sequence[Waypoint],
    ends: Sequence[Waypoint],
    matrix: "TravelMatrix",
) -> DistanceMatrix:
    # By member, so that making up to `MAX_PAIRS` targets takes no step of the interpreter.
    members = [*zip(*map(_get_repeated, ends), strict=True)]
    indexes = range(len(ends))
    all_feet, all_seconds = _round_cells(matrix)
    rows = zip(starts, all_feet, all_seconds, strict=True)
    return DistanceMatrix(
        method,
        [
            MatrixSource(
                *_get_repeated(source),
                index,
                [*map(MatrixTarget, *members, indexes, feet, seconds)],
            )
            for index, (source, feet, seconds) in enumerate(rows)
        ],
    )


def _round_cells(matrix: "TravelMatrix") -> list[list[list[float | None]]]:
    """Return rows of feet and rows of seconds, rounded as `round_up` does; None for NaN."""
    import numpy as np

    rounded = np.ceil(np.array(matrix, dtype=float) * 1000 - ROUNDING_TOLERANCE) / 1000 + 0.0
    cells: list[list[list[float | None]]] = rounded.tolist()  # 0.0 has turned -0.0 into 0.0
    if math.isnan(rounded.sum()):
        return [
            [[None if cell != cell else cell for cell in row] for row in rows] for rows in cells
        ]
    return cells


def round_up(number: float) -> float:
    """Round up to a thousandth: no distance may fall below the straight line.

    >>> round_up(1.00049)
    1.001
    """
    return math.ceil(number * 1000 - ROUNDING_TOLERANCE) / 1000
