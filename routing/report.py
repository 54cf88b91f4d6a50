"""The report on a processed plan: counts per level, what is reached, and what to put right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from routing.costing import TravelMode
from routing.diagnosis.doors import explain_doors, state_locked_doors
from routing.diagnosis.names import PlanNames, name_parts
from routing.diagnosis.survey import (
    find_loose_connectors,
    list_uncertain_connectors,
    survey_network,
)
from routing.diagnosis.unreached import diagnose_unreached, diagnose_wheelchairs
from routing.issues import (
    CAUSES,
    FROM_FILES,
    IssueKind,
    PlanIssue,
    ProblemGroup,
    ToSource,
    cut,
    group_problems,
    point_in,
)
from routing.network.components import ComponentLabels, find_largest
from routing.network.network import Network
from routing.plan import Plan
from routing.space.doors import DoorOrigin
from routing.space.plan_repair import iter_parts
from routing.space.walkable import WalkableLevel

MAX_LISTED_LOCATIONS = 1_000
"""Locations that are cut off, in one mode, that are listed with their reason."""
UNKNOWN = PlanIssue(IssueKind.FLOOR_CUT_OFF, "", CAUSES[IssueKind.FLOOR_CUT_OFF].one)


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
    """A location outside the main component of the map, and the problem that is the reason."""

    location_id: str
    level_id: str
    cause: IssueKind
    reason: str


@dataclass(frozen=True)
class Reachability:
    """Reachability in one travel mode.

    `components` is the number of connected components that contain locations. `reached` locations,
    a `share` of all, lie in the main one; `cut_off` lists the first of the others.
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
    groups: tuple[ProblemGroup, ...]

    @property
    def modes(self) -> tuple[TravelMode, ...]:
        """Modes in which two locations reach each other, or the only one is on walkable floor.

        See docs/decisions/routing/publishing.md.
        """
        # `or 1`: without locations nothing is reached, and the map has no mode.
        min_reached = min(2, self.locations) or 1
        return tuple(check.mode for check in self.reachability if check.reached >= min_reached)

    @property
    def problems(self) -> tuple[PlanIssue, ...]:
        """The problems of all groups."""
        return tuple(problem for group in self.groups for problem in group.problems)

    def to_dict(
        self, to_source: ToSource | None = None, feet_per_unit: float = 1.0
    ) -> dict[str, Any]:
        """Return the report as JSON values.

        Positions are in feet, in units of the map of so many feet, and as the source has them.
        """
        return {
            "modes": list(self.modes),
            "levels": [asdict(level) for level in self.levels],
            "connectors": self.connectors,
            "locations": self.locations,
            "reachability": [asdict(check) for check in self.reachability],
            "groups": [group.to_dict(to_source, feet_per_unit) for group in self.groups],
            "problem_counts": {group.cause.value: group.count for group in self.groups},
        }


def build_report(
    plan: Plan,
    walkable: Sequence[WalkableLevel],
    networks: Mapping[TravelMode, Network],
    components: Mapping[TravelMode, ComponentLabels],
    issues: Sequence[PlanIssue],
) -> ProcessingReport:
    """Return the report on a repaired plan; `issues` are those found before its networks."""
    names = name_parts(plan)
    foot, wheelchair = networks[TravelMode.FOOT], networks[TravelMode.WHEELCHAIR]
    by_foot, by_wheelchair = components[TravelMode.FOOT], components[TravelMode.WHEELCHAIR]
    issues = [names.complete(issue) for issue in issues]
    issues = explain_doors(plan, walkable, issues, names)
    survey = survey_network(walkable, foot, by_foot, by_foot.main)
    on_foot = diagnose_unreached(plan, foot, survey, issues, names)
    reached = by_foot.locations_in_main
    # What wheelchairs cannot reach is asked within what is reached on foot.
    home = find_largest(by_wheelchair.location_components[reached])
    survey = survey_network(walkable, wheelchair, by_wheelchair, home)
    on_wheels = diagnose_wheelchairs(plan, wheelchair, survey, reached, names)
    empty = {issue.part for issue in issues if issue.kind is IssueKind.EMPTY_LEVEL}
    found = [
        *on_foot.issues,
        *on_wheels.issues,
        *list_uncertain_connectors(plan, names),
        *find_loose_connectors(plan, foot, empty, on_foot.explained_connectors, names),
        *list_simplified_levels(foot, names),
    ]
    statements = {IssueKind.DOORS_LOCKED: state_locked_doors(plan)}
    groups = group_problems(
        complete_issues(plan, walkable, found, names),
        len(plan.locations),
        statements | on_foot.statements | on_wheels.statements,
    )
    reasons = on_foot.explain(by_foot)
    checks = (
        check_network(plan, foot, by_foot, reasons),
        check_network(plan, wheelchair, by_wheelchair, on_wheels.explain(by_wheelchair) | reasons),
    )
    return ProcessingReport(
        tuple(count_levels(plan, walkable)),
        len(plan.connectors),
        len(plan.locations),
        checks,
        groups,
    )


def list_simplified_levels(network: Network, names: PlanNames) -> Iterator[PlanIssue]:
    """Yield a problem for each level with too many corners to be measured exactly."""
    for level_id, number in zip(network.level_ids, network.level_numbers.tolist(), strict=True):
        feet = network.levels.tolerances_feet[number]
        if feet:
            message = (
                f"{names.level(level_id)} has too many corners, so its walls were moved by up to "
                f"{feet:g} ft, and obstacles smaller than that were left out"
            )
            yield PlanIssue(IssueKind.LEVEL_SIMPLIFIED, level_id, message, level_id)


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
    network: Network,
    components: ComponentLabels,
    reasons: Mapping[int, PlanIssue],
) -> Reachability:
    """Return which locations the network connects; `reasons` are the problems of the others."""
    in_main = components.locations_in_main
    # If wheelchairs get farthest where nobody gets on foot, what keeps the two apart is the reason.
    apart = next((reasons[i] for i in np.flatnonzero(in_main).tolist() if i in reasons), UNKNOWN)
    reached = int(in_main.sum())
    cut_off = [
        CutOffLocation(location.id, location.level_id, reason.kind, cut(reason.message))
        for index in np.flatnonzero(~in_main)[:MAX_LISTED_LOCATIONS].tolist()
        for location, reason in [(plan.locations[index], reasons.get(index, apart))]
    ]
    return Reachability(
        network.mode,
        vertices=sum(len(network.levels.vertices(number)) for number in network.level_numbers),
        edges=sum(len(network.levels.edges_of(number)) for number in network.level_numbers),
        links=len(network.links),
        components=components.count,
        reached=reached,
        share=round(reached / max(1, len(in_main)), 4),
        cut_off=tuple(cut_off),
    )


def complete_issues(
    plan: Plan, walkable: Sequence[WalkableLevel], issues: Sequence[PlanIssue], names: PlanNames
) -> Iterator[PlanIssue]:
    """Yield problems with the names of their parts, what these are made from, and with the places
    of those that have none.

    That of a whole level is somewhere on it. What the file has and the plan has not keeps the place
    that the reader of the file gave it, if any.
    """
    shapes = {
        (level_id, part): shape
        for kind, part, level_id, shape in iter_parts(plan)
        if kind in ("space", "door", "connector")
    }
    places = {built.level.id: find_place(plan, built) for built in walkable}
    anywhere = next(filter(None, places.values()), None)
    for issue in issues:
        name = names.features.get(issue.part, issue.name)
        if issue.part == issue.level_id and issue.part in names.levels:
            name = names.level(issue.part)
        shape = shapes.get((issue.level_id or "", issue.part))
        at = issue.at or (None if shape is None else point_in(shape))
        if issue.kind not in FROM_FILES:
            at = at or places.get(issue.level_id or "") or anywhere
        source = names.sources.get(issue.part)
        file, line = (source.file, source.line) if source else (issue.file, issue.line)
        yield replace(issue, name=name, at=at, file=file, line=line)


def find_place(plan: Plan, built: WalkableLevel) -> tuple[float, float] | None:
    """Return a point of a level's floor, else of anything that is on the level."""
    level_id = built.level.id
    largest = max(built.floor.polygons, key=lambda polygon: polygon.area, default=None)
    connectors = [c.entrances[level_id] for c in plan.connectors if level_id in c.entrances]
    shapes = [largest, built.level.outline, *connectors]
    points = (point_in(shape) for shape in shapes if shape is not None)
    locations = ((each.x, each.y) for each in plan.locations if each.level_id == level_id)
    return next(chain(points, locations), None)
