"""Resolver of the distance matrix (E18): from some waypoints of a map to others."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias

import strawberry
from msgspec import Struct

from resolvers.maps import load_routable_map
from resolvers.networks.routable_maps import RoutableMap
from resolvers.networks.waypoints import (
    AVOID_DESCRIPTION,
    AVOID_RULES,
    Avoidable,
    Waypoint,
    WaypointInput,
    find_locations,
    resolve_waypoints,
    run_search,
    to_restrictions,
    to_waypoint_refs,
)
from resolvers.request.context import Info
from resolvers.request.errors import InvalidInputError
from resolvers.request.inputs import (
    InputViolation,
    Items,
    JointRule,
    OneOf,
    Range,
    argument,
    input_field,
    joint_rules,
)
from resolvers.request.kinds import DescribedEnum, describe_enum, graphql_enum
from resolvers.request.threads import ROUTING
from routing.values import TravelMode as TravelMode
from routing.values import WaypointRef
from storage.catalog import Map

if TYPE_CHECKING:
    from routing.search.matrix import TravelMatrix

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
TRAVEL_MODES = OneOf(*(mode.value for mode in TravelMode))


@strawberry.input(description="Options of the costing `pedestrian`.")
class PedestrianOptions:
    mode: TravelMode | None = input_field("How to travel.", TRAVEL_MODES, default=TravelMode.FOOT)
    avoid: list[Avoidable] | None = input_field(AVOID_DESCRIPTION, *AVOID_RULES, default=None)


@strawberry.input(description="Options by costing.")
class CostingOptions:
    pedestrian: PedestrianOptions | None = input_field("Of `pedestrian`.", default=None)


Mode: TypeAlias = Annotated[
    TravelMode | None, argument("How to travel.", TRAVEL_MODES, example=TravelMode.WHEELCHAIR.value)
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


class MatrixRequest(NamedTuple):
    """A request with its waypoints resolved."""

    unit_map: Map
    sources: list[Waypoint]
    targets: list[Waypoint]
    mode: TravelMode


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
        argument(
            "The costing model; there is only `pedestrian`.", OneOf(CostingModel.PEDESTRIAN.value)
        ),
    ] = CostingModel.PEDESTRIAN,
    costing_options: Annotated[
        CostingOptions | None,
        argument("Options by costing.", example={"pedestrian": {"mode": "wheelchair"}}),
    ] = None,
    distance_method: Annotated[
        DistanceMethod | None,
        argument("How to measure.", OneOf(*(each.value for each in DistanceMethod))),
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
    routable = await load_routable_map(info.context, parent.id, avoided)
    waypoints = routable and find_locations(routable.placements, chain(sources, targets))
    if waypoints is None:
        named_inputs = [(f"sources[{index}]", point) for index, point in enumerate(sources)]
        named_inputs += [(f"targets[{index}]", point) for index, point in enumerate(targets)]
        waypoints = await resolve_waypoints(info.context, parent, routable, named_inputs)
    request = MatrixRequest(parent, waypoints[: len(sources)], waypoints[len(sources) :], mode)
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
            return _build_matrix(UsedDistanceMethod.PATHFINDING, request, matrix)
    await ROUTING.load()
    return _build_matrix(UsedDistanceMethod.EUCLIDEAN, request, _measure_euclidean(request))


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


def _measure_euclidean(request: MatrixRequest) -> "TravelMatrix":
    from routing.costing import Costing
    from routing.search.matrix import euclidean_distances

    scale = request.unit_map.feet_per_unit
    if scale is None:
        raise InvalidInputError(
            distanceMethod="must not be euclidean, as the map has no feet_per_unit and its "
            "scale is unknown"
        )
    return euclidean_distances(
        [(point.x * scale, point.y * scale) for point in request.sources],
        [(point.x * scale, point.y * scale) for point in request.targets],
        Costing().feet_per_second(request.mode),
    )


def _build_matrix(
    method: UsedDistanceMethod, request: MatrixRequest, matrix: "TravelMatrix"
) -> DistanceMatrix:
    # By member, so that making up to `MAX_PAIRS` targets takes no step of the interpreter.
    members = [*zip(*map(_get_repeated, request.targets), strict=True)]
    indexes = range(len(request.targets))
    all_feet, all_seconds = _round_cells(matrix)
    rows = zip(request.sources, all_feet, all_seconds, strict=True)
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
