"""E18: how far it is from some waypoints of a map to others."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import strawberry

from resolvers.arguments import checked_id
from resolvers.context import Context, Info
from resolvers.errors import InvalidInput
from routing.costing import Costing, Mode
from routing.matrix import Matrix
from routing.router import Router
from routing.stops import Position
from routing.stops import Waypoint as Stop
from routing.straight import measure_straight
from storage.floors import FLOORS
from storage.locations import LOCATIONS, Location
from storage.maps import Map

MOST_PAIRS = 50
MOST_NAME_CHARACTERS = 2048
FARTHEST = 1e9
"""The largest coordinate, as for locations; NaN is not smaller, nor is what has no end."""
PEDESTRIAN: Final = "pedestrian"
DEFAULT: Final = "default"
PATHFINDING: Final = "pathfinding"
EUCLIDEAN: Final = "euclidean"
METHODS = (DEFAULT, PATHFINDING, EUCLIDEAN)


@strawberry.input(description="A location of the map, or a place on one of its floors, or both.")
class WaypointInput:
    id: strawberry.ID | None = None
    name: str | None = None
    x: float | None = None
    y: float | None = None
    floor_id: strawberry.ID | None = None


@strawberry.input
class PedestrianOptions:
    mode: str | None = Mode.FOOT.value


@strawberry.input
class CostingOptions:
    pedestrian: PedestrianOptions | None = None


@dataclass(frozen=True, slots=True)
class Waypoint:
    """A waypoint as it was given, completed from its location."""

    id: str | None
    name: str | None
    x: float
    y: float
    floor_id: str
    is_placed: bool
    """Whether its coordinates were given, and win over those of the location."""

    @property
    def shown(self) -> tuple[str | None, str | None, float, float, str]:
        """What a response repeats of it."""
        return self.id, self.name, self.x, self.y, self.floor_id


@dataclass(frozen=True, slots=True)
class Target:
    """Where it leads, how far (feet) and how long (seconds); None where no path does."""

    id: str | None
    name: str | None
    x: float
    y: float
    floor_id: str
    index: int
    distance: float | None
    time: float | None


@dataclass(frozen=True, slots=True)
class Source:
    """From where."""

    id: str | None
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

    @property
    def waypoints(self) -> list[Waypoint]:
        """All of them."""
        return [*self.sources, *self.targets]


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
    context = info.context
    given = [(f"sources[{index}]", each) for index, each in enumerate(sources)]
    given += [(f"targets[{index}]", each) for index, each in enumerate(targets)]
    waypoints = await find_waypoints(context, parent, given)
    request = Request(parent, waypoints[: len(sources)], waypoints[len(sources) :], mode)
    router = None if method == EUCLIDEAN else await context.router(parent.id)
    if router is None and method == PATHFINDING:
        raise InvalidInput(
            distance_method="must not be pathfinding: this map has not been processed for it"
        )
    if router is not None:
        stops = [to_stop(router, parent, waypoint) for waypoint in request.waypoints]
        if method == PATHFINDING or all(router.is_attached(stop, mode) for stop in stops):
            found = router.matrix(stops[: len(sources)], stops[len(sources) :], mode)
            return _answer(PATHFINDING, request, found)
    return _answer(EUCLIDEAN, request, _straight(request))


async def find_waypoints(
    context: Context, parent: Map, named: Sequence[tuple[str, WaypointInput]]
) -> list[Waypoint]:
    """The waypoints, in their order, each given with its name. Raises InvalidInput."""
    for place, waypoint in named:
        check_waypoint(place, waypoint)
    locations = await context.many(LOCATIONS, {way.id for _, way in named if way.id is not None})
    floors = await context.many(
        FLOORS, {way.floor_id for _, way in named if way.floor_id is not None}
    )
    faults: dict[str, str] = {}
    found = []
    for place, waypoint in named:
        location = locations.get(waypoint.id or "")
        if location is not None and location.unit_map_id != parent.id:
            location = None
        floor = floors.get(waypoint.floor_id or "")
        if waypoint.floor_id is not None and (floor is None or floor.asset_id != parent.asset_id):
            faults[f"{place}.floor_id"] = f"is no floor of this map: {waypoint.floor_id!r}"
        elif not _is_placed(waypoint) and location is None:
            faults[f"{place}.id"] = f"is no location of this map: {waypoint.id!r}"
        elif _is_elsewhere(waypoint, location):
            faults[f"{place}.floor_id"] = f"is no floor of the location {waypoint.id!r}"
        else:
            found.append(_completed(waypoint, location))
    if faults:
        raise InvalidInput(**faults)
    return found


def checked_mode(costing: str | None, options: CostingOptions | None) -> Mode:
    """How people travel. Raises InvalidInput."""
    if costing not in (None, PEDESTRIAN):
        raise InvalidInput(costing=f"must be {PEDESTRIAN}, not {costing!r}")
    name = options.pedestrian.mode if options and options.pedestrian else None
    return parse_mode("costing_options.pedestrian.mode", name)


def parse_mode(argument: str, name: str | None) -> Mode:
    """A mode by its name. Raises InvalidInput."""
    try:
        return Mode.FOOT if name is None else Mode(name)
    except ValueError as error:
        modes = " or ".join(mode.value for mode in Mode)
        raise InvalidInput(**{argument: f"must be {modes}, not {name!r}"}) from error


def to_stop(router: Router, parent: Map, waypoint: Waypoint) -> Stop:
    """A waypoint as routing knows it: a location by id, else a position in feet."""
    if not waypoint.is_placed and waypoint.id is not None and router.has_location(waypoint.id):
        return waypoint.id
    scale = parent.feet_per_unit or 1.0
    return Position(waypoint.floor_id, waypoint.x * scale, waypoint.y * scale)


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
        raise InvalidInput(distance_method=f"must be among {', '.join(METHODS)}, not {method!r}")
    return method


def check_waypoint(place: str, waypoint: WaypointInput) -> None:
    """Whether a waypoint has the form of one. Raises InvalidInput."""
    for name in ("id", "floor_id"):
        if (value := getattr(waypoint, name)) is not None:
            checked_id(f"{place}.{name}", value)
    for name in ("x", "y"):
        number = getattr(waypoint, name)
        if number is not None and not abs(number) <= FARTHEST:
            raise InvalidInput(
                **{f"{place}.{name}": f"must be from -{FARTHEST:.0f} to {FARTHEST:.0f}"}
            )
    if len(waypoint.name or "") > MOST_NAME_CHARACTERS:
        raise InvalidInput(
            **{f"{place}.name": f"must have at most {MOST_NAME_CHARACTERS} characters"}
        )
    if (waypoint.x is None) != (waypoint.y is None):
        raise InvalidInput(**{place: "must have both x and y, or neither"})
    if waypoint.id is None and not _is_placed(waypoint):
        raise InvalidInput(**{place: "must have the id of a location, or x, y and floor_id"})


def _is_placed(waypoint: WaypointInput) -> bool:
    return None not in (waypoint.x, waypoint.y, waypoint.floor_id)


def _is_elsewhere(given: WaypointInput, location: Location | None) -> bool:
    """Whether the location is on other floors than the one that goes with it."""
    if location is None or given.floor_id is None or _is_placed(given):
        return False
    return given.floor_id not in {floor.id for floor in location.floors}


def _completed(given: WaypointInput, location: Location | None) -> Waypoint:
    own_floor = location.floors[0].id if location and location.floors else ""
    x = location.x if given.x is None and location else given.x
    y = location.y if given.y is None and location else given.y
    assert x is not None
    assert y is not None
    return Waypoint(
        given.id,
        location.name if given.name is None and location else given.name,
        x,
        y,
        given.floor_id or own_floor,
        # On another of its floors a location is a place like any other.
        given.x is not None or given.floor_id not in (None, own_floor),
    )


def _straight(request: Request) -> Matrix:
    scale = request.map.feet_per_unit
    if scale is None:
        raise InvalidInput(
            distance_method="cannot be euclidean: nobody has said how many feet a unit of this "
            "map is (feet_per_unit)"
        )
    return measure_straight(
        [(way.x * scale, way.y * scale) for way in request.sources],
        [(way.x * scale, way.y * scale) for way in request.targets],
        Costing().feet_per_second(request.mode),
    )


def _answer(method: str, request: Request, found: Matrix) -> DistanceMatrix:
    rows = zip(found.feet.tolist(), found.seconds.tolist(), strict=True)
    return DistanceMatrix(
        method,
        [
            Source(*source.shown, index, list(_targets(request.targets, *row)))
            for index, (source, row) in enumerate(zip(request.sources, rows, strict=True))
        ],
    )


def _targets(
    targets: Sequence[Waypoint], feet: Sequence[float], seconds: Sequence[float]
) -> Iterator[Target]:
    for index, (target, distance, time) in enumerate(zip(targets, feet, seconds, strict=True)):
        if math.isnan(time):
            yield Target(*target.shown, index, None, None)
        else:
            yield Target(*target.shown, index, rounded(distance), rounded(time))


def rounded(number: float) -> float:
    """To a thousandth, upwards: no distance may fall below the straight line."""
    return math.ceil(number * 1000 - 1e-6) / 1000
