"""The report on a processed plan: counts per level, issues, and which locations are reachable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import shapely

from routing.costing import TravelMode
from routing.issues import IssueKind, PlanIssue
from routing.network.components import ComponentLabels
from routing.network.network import Network
from routing.plan import Plan, PlanLocation
from routing.space.doors import DoorOrigin
from routing.space.walkable import WalkableLevel

NEAR_PIECE_FEET = 0.2
"""A vertex this near to a floor piece counts as on it: it may lie on the edge, or in a door."""


@dataclass(frozen=True)
class LevelCounts:
    """Numbers of rooms, locations and doors on one level, and its walkable area."""

    level_id: str
    name: str
    ordinal: float
    rooms: int
    locations: int
    doors_drawn: int
    doors_locked: int
    doors_as_drawn: int
    doors_repaired: int
    doors_inferred: int
    walkable_square_feet: float


@dataclass(frozen=True)
class CutOffLocation:
    """A location outside the main component of the map, and the reason."""

    location_id: str
    level_id: str
    reason: str


@dataclass(frozen=True)
class Reachability:
    """Reachability in one travel mode.

    `components` is the number of connected components that contain locations. `reached` locations,
    a `share` of all, lie in the main one; `cut_off` lists the others.
    """

    mode: TravelMode
    vertices: int
    edges: int
    links: int
    components: int
    reached: int
    share: float
    cut_off: tuple[CutOffLocation, ...]


@dataclass(frozen=True)
class ProcessingReport:
    """Everything a user learns about a processed plan. Field names are those of its JSON."""

    levels: tuple[LevelCounts, ...]
    connectors: int
    locations: int
    reachability: tuple[Reachability, ...]
    problems: tuple[PlanIssue, ...]

    @property
    def modes(self) -> tuple[TravelMode, ...]:
        """Modes in which two locations reach each other, or the only one is on walkable floor.

        See docs/decisions/routing/modes-and-tiers.md.
        """
        # `or 1`: without locations nothing is reached, and the map has no mode.
        min_reached = min(2, self.locations) or 1
        return tuple(check.mode for check in self.reachability if check.reached >= min_reached)

    def count_issues(self, kind: IssueKind) -> int:
        """Return the number of issues of one kind."""
        return sum(issue.kind is kind for issue in self.problems)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        counts = {
            kind.value: self.count_issues(kind) for kind in IssueKind if self.count_issues(kind)
        }
        return {"modes": list(self.modes), **asdict(self), "problem_counts": counts}


def build_report(
    plan: Plan,
    walkable: Sequence[WalkableLevel],
    networks: Mapping[TravelMode, Network],
    components: Mapping[TravelMode, ComponentLabels],
    issues: Sequence[PlanIssue],
) -> ProcessingReport:
    """Return the report on a repaired plan; `issues` are those found before its networks."""
    checks = [check_network(plan, walkable, networks[mode], components[mode]) for mode in networks]
    foot = networks[TravelMode.FOOT]
    network_issues = (
        *list_loose_connectors(plan, foot),
        *list_unroutable(plan, checks),
    )
    return ProcessingReport(
        tuple(count_levels(plan, walkable)),
        len(plan.connectors),
        len(plan.locations),
        tuple(checks),
        (*issues, *network_issues),
    )


def count_levels(plan: Plan, walkable: Sequence[WalkableLevel]) -> Iterator[LevelCounts]:
    """Yield the counts of each level."""
    for built in walkable:
        level, doors = built.level, [d for d in plan.doors if d.level_id == built.level.id]
        yield LevelCounts(
            level.id,
            level.name,
            level.ordinal,
            rooms=len(built.floor.rooms),
            locations=sum(location.level_id == level.id for location in plan.locations),
            doors_drawn=len(doors),
            doors_locked=sum(door.is_locked for door in doors),
            doors_as_drawn=built.count_openings(DoorOrigin.AS_DRAWN),
            doors_repaired=built.count_openings(DoorOrigin.REPAIRED),
            doors_inferred=built.count_openings(DoorOrigin.INFERRED),
            walkable_square_feet=round(sum(shape.area for shape in built.floor.polygons), 1),
        )


def check_network(
    plan: Plan,
    walkable: Sequence[WalkableLevel],
    network: Network,
    components: ComponentLabels,
) -> Reachability:
    """Return which locations the network connects in its mode, and why others are cut off."""
    in_main = components.locations_in_main
    reached = int(in_main.sum())
    cut_off = tuple(
        CutOffLocation(
            location.id, location.level_id, explain_cut_off(location, walkable, network, index)
        )
        for index, location in enumerate(plan.locations)
        if not in_main[index]
    )
    return Reachability(
        network.mode,
        vertices=sum(len(network.levels.vertices(number)) for number in network.level_numbers),
        edges=sum(len(network.levels.edges_of(number)) for number in network.level_numbers),
        links=len(network.links),
        components=components.count,
        reached=reached,
        share=round(reached / max(1, len(in_main)), 4),
        cut_off=cut_off,
    )


def explain_cut_off(
    location: PlanLocation, walkable: Sequence[WalkableLevel], network: Network, index: int
) -> str:
    """Return the reason why a location is outside the main component."""
    stops = network.locations
    level = int(stops.levels[index])
    built = walkable[network.level_numbers.tolist().index(level)]
    if not stops.are_attached[index]:
        return f"lies {describe_distance(location, network, level)}"
    point = shapely.Point(stops.near[index])
    piece = next(iter(built.floor.pieces_within(point, NEAR_PIECE_FEET)), None)
    room = None if piece is None else built.floor.pieces[piece].room_id
    if room is None:
        return "stands on floor that no door and no connector joins to the main part"
    doors = [opening for opening in built.openings if piece in opening.piece_indexes]
    if not doors:
        return f"room {room!r} has no door"
    # On foot every opening is passable.
    if not set(doors) & set(built.passable_openings(network.mode, network.costing)):
        widest = max(opening.width_feet for opening in doors)
        return f"no door of room {room!r} lets a wheelchair through (the widest is {widest:.1f} ft)"
    return f"the doors of room {room!r} do not connect to the main part"


def describe_distance(location: PlanLocation, network: Network, level: int) -> str:
    """Return how far a location is from the walkable area, to follow "lies"."""
    area = network.levels.walkable_area(level)
    if area.is_empty:
        return "on a level without walkable floor"
    feet = area.distance(shapely.Point(location.x, location.y))
    limit_feet = network.costing.attach_feet
    return f"{feet:.1f} ft (more than {limit_feet:g}) from the nearest walkable floor"


def list_unroutable(plan: Plan, checks: Sequence[Reachability]) -> Iterator[PlanIssue]:
    """Yield one issue per location that is cut off in any mode, with the first mode's reason."""
    reasons: dict[str, str] = {}
    for check in checks:
        for cut_off in check.cut_off:
            reasons.setdefault(cut_off.location_id, f"{check.mode.value}: {cut_off.reason}")
    for location in plan.locations:
        if location.id in reasons:
            yield PlanIssue(
                IssueKind.UNROUTABLE_LOCATION,
                location.id,
                reasons[location.id],
                location.level_id,
            )


def list_loose_connectors(plan: Plan, network: Network) -> Iterator[PlanIssue]:
    """Yield an issue for each connector, or end of one, that cannot be used."""
    attached = {
        (portal.connector, network.levels.ids[network.level_numbers[portal.level]])
        for portal in network.portals
    }
    for index, connector in enumerate(plan.connectors):
        levels = [level_id for level_id in connector.entrances if (index, level_id) in attached]
        label = f"{connector.kind.value} {connector.id!r}"
        for level_id in connector.entrances:
            if level_id not in levels:
                message = f"{label} is not near any walkable floor on level {level_id!r}"
                yield PlanIssue(IssueKind.CONNECTOR_OUT_OF_REACH, connector.id, message, level_id)
        if len(levels) < 2:
            served = f"only level {levels[0]!r}" if levels else "no level"
            message = f"{label} serves {served}; it should serve two or more"
            yield PlanIssue(IssueKind.CONNECTOR_ONE_END, connector.id, message)
        if not connector.is_in_service:
            message = f"{label} is out of service and left out"
            yield PlanIssue(IssueKind.CONNECTOR_OUT_OF_SERVICE, connector.id, message)
