"""What processing made of a plan: counts, faults, and who reaches what on the map."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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


@dataclass(frozen=True)
class LevelCounts:
    level_id: str
    name: str
    ordinal: float
    rooms: int
    locations: int
    doors_drawn: int
    doors_locked: int
    doors_found: int
    doors_repaired: int
    doors_inferred: int
    walkable_square_feet: float


@dataclass(frozen=True)
class CutOffLocation:
    """A location outside the main part of the map, and why."""

    location_id: str
    level_id: str
    reason: str


@dataclass(frozen=True)
class SelfCheck:
    """One mode: `reached` locations, a `share` of all, lie in the main part of `components`."""

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
    levels: tuple[LevelCounts, ...]
    connectors: int
    locations: int
    self_checks: tuple[SelfCheck, ...]
    problems: tuple[PlanIssue, ...]

    @property
    def modes(self) -> tuple[TravelMode, ...]:
        """Those in which two locations reach each other, or the only one is on walkable floor."""
        least = min(2, self.locations) or 1
        return tuple(check.mode for check in self.self_checks if check.reached >= least)

    def count_issues(self, kind: IssueKind) -> int:
        return sum(problem.kind is kind for problem in self.problems)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON has it."""
        counts = {
            kind.value: self.count_issues(kind) for kind in IssueKind if self.count_issues(kind)
        }
        return {"modes": list(self.modes), **asdict(self), "problem_counts": counts}


def count_levels(plan: Plan, walkable: Sequence[WalkableLevel]) -> Iterator[LevelCounts]:
    for built in walkable:
        level, doors = built.level, [d for d in plan.doors if d.level_id == built.level.id]
        yield LevelCounts(
            level.id,
            level.name,
            level.ordinal,
            rooms=len(built.floor.rooms),
            locations=sum(place.level_id == level.id for place in plan.locations),
            doors_drawn=len(doors),
            doors_locked=sum(door.is_locked for door in doors),
            doors_found=built.count_openings(DoorOrigin.FOUND),
            doors_repaired=built.count_openings(DoorOrigin.REPAIRED),
            doors_inferred=built.count_openings(DoorOrigin.INFERRED),
            walkable_square_feet=round(sum(shape.area for shape in built.floor.polygons), 1),
        )


def check_network(
    plan: Plan,
    walkable: Sequence[WalkableLevel],
    network: Network,
    components: ComponentLabels,
) -> SelfCheck:
    in_main = components.locations_in_main
    reached = int(in_main.sum())
    cut_off = tuple(
        CutOffLocation(
            place.id, place.level_id, explain_cut_off(place, walkable, network, int(index))
        )
        for index, place in enumerate(plan.locations)
        if not in_main[index]
    )
    return SelfCheck(
        network.mode,
        vertices=sum(level.graph.vertex_count for level in network.levels),
        edges=sum(level.graph.edge_count for level in network.levels),
        links=len(network.links),
        components=components.count,
        reached=reached,
        share=round(reached / max(1, len(in_main)), 4),
        cut_off=cut_off,
    )


def explain_cut_off(
    place: PlanLocation, walkable: Sequence[WalkableLevel], network: Network, index: int
) -> str:
    """Why a location is outside the main part."""
    anchor = network.locations[index]
    built = walkable[anchor.level]
    if anchor.vertex < 0:
        return f"lies {describe_distance(place, network, anchor.level)} the nearest walkable floor"
    x, y = network.levels[anchor.level].xy[anchor.vertex]
    [own, *_] = built.floor.pieces_within(shapely.Point(x, y), 0.2) or [-1]
    room = built.floor.pieces[own].room_id
    doors = [opening for opening in built.openings if own in opening.piece_indexes]
    if room is None:
        return "stands on floor that no door and no connector joins to the main part"
    if not doors:
        return f"room {room!r} has no door"
    if not set(doors) & set(built.passable_openings(network.mode, network.costing)):
        widest = max(opening.width_feet for opening in doors)
        return f"no door of room {room!r} lets a wheelchair through (the widest is {widest:.1f} ft)"
    return f"no way leads on from the doors of room {room!r} to the main part"


def describe_distance(place: PlanLocation, network: Network, level: int) -> str:
    free = network.levels[level].walkable_area
    if free.is_empty:
        return "on a level without"
    feet = free.distance(shapely.Point(place.x, place.y))
    return f"{feet:.1f} ft (more than {network.costing.attach_feet:g}) from"


def list_unroutable(plan: Plan, checks: Sequence[SelfCheck]) -> Iterator[PlanIssue]:
    """One problem for each location that somebody cannot reach, foot before wheelchair."""
    reasons: dict[str, str] = {}
    for check in checks:
        for found in check.cut_off:
            reasons.setdefault(found.location_id, f"{check.mode.value}: {found.reason}")
    for place in plan.locations:
        if place.id in reasons:
            yield PlanIssue(
                IssueKind.UNROUTABLE_LOCATION, place.id, reasons[place.id], place.level_id
            )


def list_loose_connectors(plan: Plan, network: Network) -> Iterator[PlanIssue]:
    """Connectors that join no two levels."""
    attached = {(gate.connector, network.levels[gate.level].id) for gate in network.portals}
    for index, connector in enumerate(plan.connectors):
        levels = [level_id for level_id in connector.entrances if (index, level_id) in attached]
        label = f"{connector.kind.value} {connector.id!r}"
        for level_id in connector.entrances:
            if level_id not in levels:
                message = f"{label} is not near any walkable floor on level {level_id!r}"
                yield PlanIssue(IssueKind.CONNECTOR_OUT_OF_REACH, connector.id, message, level_id)
        if len(levels) < 2:
            served = f"only level {levels[0]!r}" if levels else "no level"
            message = f"{label} serves {served}; it should join two or more"
            yield PlanIssue(IssueKind.CONNECTOR_ONE_END, connector.id, message)
        if not connector.is_in_service:
            message = f"{label} is out of service and left out"
            yield PlanIssue(IssueKind.CONNECTOR_OUT_OF_SERVICE, connector.id, message)


def list_coarse_levels(network: Network) -> Iterator[PlanIssue]:
    for level in network.levels:
        if len(level.regions) > 1:
            corners = sum(len(region.corners) for region in level.regions)
            message = f"has {corners} corners; distances through doors are good to about 0.1 %"
            yield PlanIssue(IssueKind.COARSE_GRAPH, level.id, message, level.id)
