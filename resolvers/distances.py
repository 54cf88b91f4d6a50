"""E18: how far it is from some waypoints of a map to others."""

import math
from typing import Final, NamedTuple

import numpy as np
import strawberry
from msgspec import Struct

from resolvers.context import Info
from resolvers.errors import InvalidInput
from resolvers.waypoints import Waypoint, WaypointInput, find_waypoints, to_stop
from routing.costing import Costing, Mode
from routing.matrix import Matrix
from routing.straight import measure_straight
from storage.maps import Map

MOST_PAIRS = 50
PEDESTRIAN: Final = "pedestrian"
DEFAULT: Final = "default"
PATHFINDING: Final = "pathfinding"
EUCLIDEAN: Final = "euclidean"
METHODS = (DEFAULT, PATHFINDING, EUCLIDEAN)
ROUNDING = 1e-6
"""Thousandths by which floating point may exceed a number, so that it is not rounded up."""


@strawberry.input
class PedestrianOptions:
    mode: str | None = Mode.FOOT.value


@strawberry.input
class CostingOptions:
    pedestrian: PedestrianOptions | None = None


class Target(Struct, frozen=True):
    """Where it leads, how far (feet) and how long (seconds); None where no path does."""

    location_id: str | None
    name: str | None
    x: float
    y: float
    floor_id: str
    index: int
    distance: float | None
    time: float | None


class Source(Struct, frozen=True):
    """From where."""

    location_id: str | None
    name: str | None
    x: float
    y: float
    floor_id: str
    index: int
    targets: list[Target]


class DistanceMatrix(NamedTuple):
    """All distances, by the method that was used."""

    distance_method: str
    sources: list[Source]


class Request(NamedTuple):
    """A request whose waypoints are known."""

    map: Map
    sources: list[Waypoint]
    targets: list[Waypoint]
    mode: Mode


async def matrix(
    parent: strawberry.Parent[Map],
    info: Info,
    sources: list[WaypointInput],
    targets: list[WaypointInput],
    costing: str | None = PEDESTRIAN,
    costing_options: CostingOptions | None = None,
    distance_method: str | None = DEFAULT,
) -> DistanceMatrix:
    """Distances in feet and times in seconds from each source to each target.

    `pathfinding` follows the walkable space, `euclidean` ignores it; `default` is pathfinding
    where the map has been processed and every waypoint is on it, else euclidean.
    """
    check_size(len(sources), len(targets))
    mode = checked_mode(costing, costing_options)
    method = checked_method(distance_method)
    routable = await info.context.routable(parent.id)
    given = [(f"sources[{index}]", each) for index, each in enumerate(sources)]
    given += [(f"targets[{index}]", each) for index, each in enumerate(targets)]
    waypoints = await find_waypoints(info.context, parent, routable, given)
    request = Request(parent, waypoints[: len(sources)], waypoints[len(sources) :], mode)
    if routable is None and method == PATHFINDING:
        raise InvalidInput(
            distanceMethod="must not be pathfinding: this map has not been processed for it"
        )
    if routable is not None and method != EUCLIDEAN:
        router = routable.router
        stops = [to_stop(router, parent, waypoint) for waypoint in waypoints]
        if method == PATHFINDING or router.are_attached(stops, mode):
            found = router.matrix(stops[: len(sources)], stops[len(sources) :], mode)
            return _answer(PATHFINDING, request, found)
    return _answer(EUCLIDEAN, request, _straight(request))


def checked_mode(costing: str | None, options: CostingOptions | None) -> Mode:
    """How people travel. Raises InvalidInput."""
    if costing not in (None, PEDESTRIAN):
        raise InvalidInput(costing=f"must be {PEDESTRIAN}, not {costing!r}")
    name = options.pedestrian.mode if options and options.pedestrian else None
    return parse_mode("costingOptions.pedestrian.mode", name)


def parse_mode(argument: str, name: str | None) -> Mode:
    """A mode by its name. Raises InvalidInput."""
    try:
        return Mode.FOOT if name is None else Mode(name)
    except ValueError as error:
        modes = " or ".join(mode.value for mode in Mode)
        raise InvalidInput(**{argument: f"must be {modes}, not {name!r}"}) from error


def check_size(sources: int, targets: int) -> None:
    """Whether a matrix may be this large. Raises InvalidInput."""
    for name, count in (("sources", sources), ("targets", targets)):
        if not count:
            raise InvalidInput(**{name: "must hold at least one waypoint"})
    if sources * targets > MOST_PAIRS:
        raise InvalidInput(
            sources=f"times targets must be at most {MOST_PAIRS} pairs, not {sources * targets}"
        )


def checked_method(method: str | None) -> str:
    """How to measure. Raises InvalidInput."""
    if method is None:
        return DEFAULT
    if method not in METHODS:
        raise InvalidInput(distanceMethod=f"must be among {', '.join(METHODS)}, not {method!r}")
    return method


def _straight(request: Request) -> Matrix:
    scale = request.map.feet_per_unit
    if scale is None:
        raise InvalidInput(
            distanceMethod="cannot be euclidean: nobody has said how many feet a unit of this "
            "map is (feet_per_unit)"
        )
    return measure_straight(
        [(way.x * scale, way.y * scale) for way in request.sources],
        [(way.x * scale, way.y * scale) for way in request.targets],
        Costing().feet_per_second(request.mode),
    )


def _answer(method: str, request: Request, found: Matrix) -> DistanceMatrix:
    targets = [target.shown for target in request.targets]
    all_feet, all_seconds = _cells(found)
    rows = zip(request.sources, all_feet, all_seconds, strict=True)
    return DistanceMatrix(
        method,
        [
            Source(
                *source.shown,
                index,
                [
                    Target(*target, number, distance, time)
                    for number, (target, distance, time) in enumerate(
                        zip(targets, feet, seconds, strict=True)
                    )
                ],
            )
            for index, (source, feet, seconds) in enumerate(rows)
        ],
    )


def _cells(found: Matrix) -> list[list[list[float | None]]]:
    """Rows of feet and rows of seconds, as `rounded` makes them; None for NaN."""
    numbers = np.array(found, dtype=float)
    cells = (np.ceil(numbers * 1000 - ROUNDING) / 1000 + 0.0).astype(object)  # 0, never -0
    cells[np.isnan(numbers)] = None
    rows: list[list[list[float | None]]] = cells.tolist()
    return rows


def rounded(number: float) -> float:
    """To a thousandth, upwards: no distance may fall below the straight line."""
    return math.ceil(number * 1000 - ROUNDING) / 1000
