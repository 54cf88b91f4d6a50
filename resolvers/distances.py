"""E18: how far it is from some waypoints of a map to others."""

import math
from typing import Annotated, Final, NamedTuple

import numpy as np
import strawberry
from msgspec import Struct

from resolvers.request.context import Info
from resolvers.request.errors import InvalidInputError
from resolvers.waypoints import Waypoint, WaypointInput, resolve_waypoints, to_waypoint_ref
from routing.costing import Costing, TravelMode
from routing.search.euclidean import euclidean_distances
from routing.search.matrix import TravelMatrix
from storage.maps import Map

MAX_PAIRS = 50
PEDESTRIAN_COSTING: Final = "pedestrian"
DEFAULT_METHOD: Final = "default"
PATHFINDING_METHOD: Final = "pathfinding"
EUCLIDEAN_METHOD: Final = "euclidean"
DISTANCE_METHODS = (DEFAULT_METHOD, PATHFINDING_METHOD, EUCLIDEAN_METHOD)
ROUNDING_TOLERANCE = 1e-6
"""Thousandths by which floating point may exceed a number, so that it is not rounded up."""


@strawberry.input
class PedestrianOptions:
    mode: str | None = TravelMode.FOOT.value


@strawberry.input
class CostingOptions:
    pedestrian: PedestrianOptions | None = None


# `location_id` and not `id`: GraphQL clients normalize objects by type and id, and one location is
# in many rows of a matrix.
LocationId = Annotated[str | None, "The id in the request's waypoint."]
WaypointIndex = Annotated[int, "Position in the request's list, from 0."]


# Structs: a matrix makes up to `MAX_PAIRS` of them, four times as quickly as dataclasses.
class MatrixTarget(Struct, frozen=True):
    """Where a source leads, how far it is and how long it takes."""

    location_id: LocationId
    name: str | None
    x: float
    y: float
    floor_id: str
    index: WaypointIndex
    distance: Annotated[float | None, "In feet; null where no path leads."]
    time: Annotated[float | None, "In seconds; null where no path leads."]


class MatrixSource(Struct, frozen=True):
    """A starting point with the way to every target."""

    location_id: LocationId
    name: str | None
    x: float
    y: float
    floor_id: str
    index: WaypointIndex
    targets: list[MatrixTarget]


class DistanceMatrix(NamedTuple):
    """Distances from every source to every target."""

    distance_method: Annotated[str, "The method that was used: `pathfinding` or `euclidean`."]
    sources: list[MatrixSource]


class MatrixRequest(NamedTuple):
    """A request whose waypoints are known."""

    unit_map: Map
    sources: list[Waypoint]
    targets: list[Waypoint]
    mode: TravelMode


async def get_distance_matrix(
    parent: strawberry.Parent[Map],
    info: Info,
    sources: list[WaypointInput],
    targets: list[WaypointInput],
    costing: str | None = PEDESTRIAN_COSTING,
    costing_options: CostingOptions | None = None,
    distance_method: str | None = DEFAULT_METHOD,
) -> DistanceMatrix:
    """Distances in feet and times in seconds from each source to each target.

    `pathfinding` follows the walkable space, `euclidean` ignores it; `default` is pathfinding
    where the map has been processed and every waypoint is on it, else euclidean.
    """
    validate_matrix_size(len(sources), len(targets))
    mode = parse_costing_mode(costing, costing_options)
    method = parse_distance_method(distance_method)
    routable = await info.context.load_routable_map(parent.id)
    given = [(f"sources[{index}]", each) for index, each in enumerate(sources)]
    given += [(f"targets[{index}]", each) for index, each in enumerate(targets)]
    waypoints = await resolve_waypoints(info.context, parent, routable, given)
    request = MatrixRequest(parent, waypoints[: len(sources)], waypoints[len(sources) :], mode)
    if routable is None and method == PATHFINDING_METHOD:
        raise InvalidInputError(
            distanceMethod="must not be pathfinding: this map has not been processed for it"
        )
    if routable is not None and method != EUCLIDEAN_METHOD:
        router = routable.router
        stops = [to_waypoint_ref(router, parent, waypoint) for waypoint in waypoints]
        if method == PATHFINDING_METHOD or router.are_attached(stops, mode):
            found = router.matrix(stops[: len(sources)], stops[len(sources) :], mode)
            return _build_matrix(PATHFINDING_METHOD, request, found)
    return _build_matrix(EUCLIDEAN_METHOD, request, _measure_euclidean(request))


def parse_costing_mode(costing: str | None, options: CostingOptions | None) -> TravelMode:
    """How people travel. Raises InvalidInput."""
    if costing not in (None, PEDESTRIAN_COSTING):
        raise InvalidInputError(costing=f"must be {PEDESTRIAN_COSTING}, not {costing!r}")
    name = options.pedestrian.mode if options and options.pedestrian else None
    return parse_travel_mode("costingOptions.pedestrian.mode", name)


def parse_travel_mode(argument: str, name: str | None) -> TravelMode:
    """A mode by its name. Raises InvalidInput."""
    try:
        return TravelMode.FOOT if name is None else TravelMode(name)
    except ValueError as error:
        modes = " or ".join(mode.value for mode in TravelMode)
        raise InvalidInputError(**{argument: f"must be {modes}, not {name!r}"}) from error


def validate_matrix_size(sources: int, targets: int) -> None:
    """Whether a matrix may be this large. Raises InvalidInput."""
    for name, count in (("sources", sources), ("targets", targets)):
        if not count:
            raise InvalidInputError(**{name: "must hold at least one waypoint"})
    if sources * targets > MAX_PAIRS:
        raise InvalidInputError(
            sources=f"times targets must be at most {MAX_PAIRS} pairs, not {sources * targets}"
        )


def parse_distance_method(method: str | None) -> str:
    """How to measure. Raises InvalidInput."""
    if method is None:
        return DEFAULT_METHOD
    if method not in DISTANCE_METHODS:
        raise InvalidInputError(
            distanceMethod=f"must be among {', '.join(DISTANCE_METHODS)}, not {method!r}"
        )
    return method


def _measure_euclidean(request: MatrixRequest) -> TravelMatrix:
    scale = request.unit_map.feet_per_unit
    if scale is None:
        raise InvalidInputError(
            distanceMethod="cannot be euclidean: nobody has said how many feet a unit of this "
            "map is (feet_per_unit)"
        )
    return euclidean_distances(
        [(way.x * scale, way.y * scale) for way in request.sources],
        [(way.x * scale, way.y * scale) for way in request.targets],
        Costing().feet_per_second(request.mode),
    )


def _build_matrix(method: str, request: MatrixRequest, found: TravelMatrix) -> DistanceMatrix:
    targets = [target.response_fields for target in request.targets]
    all_feet, all_seconds = _round_cells(found)
    rows = zip(request.sources, all_feet, all_seconds, strict=True)
    return DistanceMatrix(
        method,
        [
            MatrixSource(
                *source.response_fields,
                index,
                [
                    MatrixTarget(*target, number, distance, time)
                    for number, (target, distance, time) in enumerate(
                        zip(targets, feet, seconds, strict=True)
                    )
                ],
            )
            for index, (source, feet, seconds) in enumerate(rows)
        ],
    )


def _round_cells(found: TravelMatrix) -> list[list[list[float | None]]]:
    """Rows of feet and rows of seconds, as `rounded` makes them; None for NaN."""
    numbers = np.array(found, dtype=float)
    cells = (np.ceil(numbers * 1000 - ROUNDING_TOLERANCE) / 1000 + 0.0).astype(
        object
    )  # 0, never -0
    cells[np.isnan(numbers)] = None
    rows: list[list[list[float | None]]] = cells.tolist()
    return rows


def round_up(number: float) -> float:
    """To a thousandth, upwards: no distance may fall below the straight line."""
    return math.ceil(number * 1000 - ROUNDING_TOLERANCE) / 1000
