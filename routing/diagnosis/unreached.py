"""Name the causes for which locations are not reached, each with what it costs.

What people on foot do not reach comes first, then what wheelchairs alone do not reach.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from shapely import Point

from routing.arrays import BoolArray
from routing.diagnosis.doors import describe_cut_off, describe_floor, group_misfits, measure_cut_off
from routing.diagnosis.names import PlanNames
from routing.diagnosis.survey import (
    MAX_DETAILED_GROUPS,
    NONE,
    LevelSurvey,
    Survey,
    describe_stranded,
    list_connectors,
    state_missing_join,
)
from routing.issues import IssueKind, PlanIssue, point_in
from routing.network.components import ComponentLabels
from routing.network.network import Network
from routing.plan import Plan
from routing.space.doors import Opening

MAX_MEASURED_PARTS = 200
"""Parts of the floor, those with the most locations first, whose gap to the rest is measured, and
locations whose distance to the floor is."""
ENCLOSED = (IssueKind.ROOM_ENCLOSED, IssueKind.DOORS_LOCKED)


@dataclass
class Diagnosis:
    """Problems of one mode, and which of them keeps each component or location apart.

    `statements` replace those of the table of causes. What is wrong with `explained_connectors` is
    part of a problem.
    """

    issues: list[PlanIssue] = field(default_factory=list)
    of_components: dict[int, PlanIssue] = field(default_factory=dict)
    of_locations: dict[int, PlanIssue] = field(default_factory=dict)
    statements: dict[IssueKind, str] = field(default_factory=dict)
    explained_connectors: set[str] = field(default_factory=set)

    def add(self, issue: PlanIssue, component: int) -> None:
        """Add the problem that keeps a component apart."""
        self.issues.append(issue)
        self.of_components[component] = issue

    def explain(self, components: ComponentLabels) -> dict[int, PlanIssue]:
        """Return the problem of each location, by index, that it keeps apart."""
        labels = components.location_components.tolist()
        by_component = {
            index: self.of_components[component]
            for index, component in enumerate(labels)
            if component in self.of_components
        }
        return by_component | self.of_locations


def diagnose_unreached(
    plan: Plan, network: Network, survey: Survey, issues: Sequence[PlanIssue], names: PlanNames
) -> Diagnosis:
    """Return why locations are outside the main component on foot.

    `issues` are the problems found before; the result has them, with the locations they cost.
    """
    found = Diagnosis()
    enclosed = count_enclosed(survey, issues)
    off_floor = np.flatnonzero(~network.locations.are_attached).tolist()
    lost_on = Counter(plan.locations[index].level_id for index in off_floor)
    for issue in issues:
        if issue.kind in ENCLOSED:
            components = enclosed.get((issue.level_id, issue.part), [])
            cost = sum(survey.locations_of[each] for each in components)
            issue = replace(issue, locations=cost)
            found.of_components |= dict.fromkeys(components, issue)
        elif issue.kind is IssueKind.EMPTY_LEVEL:
            issue = describe_empty_level(plan, issue, lost_on[issue.part], names)
        elif issue.kind is IssueKind.OUTLINE_GUESSED:
            issue = replace(issue, message=f"{names.level(issue.part)} {issue.message}")
        found.issues.append(issue)
    for component in survey.apart:
        if component in survey.private_ways and component in survey.levels_of:
            found.add(describe_cut_off(survey, component, names), component)
    add_stranded(found, plan, network, survey, names)
    apart = [
        component
        for component in survey.apart
        if component in survey.levels_of and component not in found.of_components
    ]
    misfits = group_misfits(found.issues)
    meant: set[int] = set()
    for rank, component in enumerate(apart):
        issue = describe_cut_off(survey, component, names)
        if rank < MAX_MEASURED_PARTS:
            issue, doors = measure_cut_off(survey, component, issue, misfits, names)
            meant |= set(map(id, doors))
        found.add(issue, component)
    found.issues[:] = [issue for issue in found.issues if id(issue) not in meant]
    add_off_floor(found, plan, network, off_floor, names)
    return found


def describe_empty_level(
    plan: Plan, issue: PlanIssue, locations: int, names: PlanNames
) -> PlanIssue:
    """Return the problem of a level without floor, with what it keeps from being used."""
    connectors = sum(issue.part in connector.entrances for connector in plan.connectors)
    message = f"{names.level(issue.part)} has no room, corridor or area to walk on"
    if connectors:
        message += f" (stairs and lifts to it: {connectors})"
    return replace(issue, message=message, locations=locations)


def count_enclosed(
    survey: Survey, issues: Sequence[PlanIssue]
) -> Mapping[tuple[str | None, str], list[int]]:
    """Return the components, with locations, within each room that has no door."""
    rooms = {(issue.level_id, issue.part) for issue in issues if issue.kind in ENCLOSED}
    components: dict[tuple[str | None, str], list[int]] = {}
    for component in survey.apart:
        [index, *others] = survey.levels_of.get(component, [NONE])
        [room, *more] = survey.levels[index].rooms_of(component) if index != NONE else [None]
        if room is not None and not others and not more:
            key = survey.levels[index].id, room
            if key in rooms:
                components.setdefault(key, []).append(component)
    return components


def add_stranded(
    found: Diagnosis, plan: Plan, network: Network, survey: Survey, names: PlanNames
) -> None:
    """Add a problem for each group of levels that no connector joins with the main component."""
    if survey.main == NONE:
        return
    groups: list[set[str]] = []
    costs = {
        home: survey.count_on(indexes)
        for home, indexes in survey.stranded.items()
        if home not in survey.private_ways
    }
    for rank, home in enumerate(sorted(costs, key=lambda home: -costs[home])):
        indexes, is_detailed = survey.stranded[home], rank < MAX_DETAILED_GROUPS
        issue, loose = describe_stranded(
            plan, network, survey, home, costs[home], names, is_detailed=is_detailed
        )
        found.issues.append(issue)
        found.of_components.setdefault(home, issue)
        found.explained_connectors |= {connector.id for connector in loose}
        if issue.kind is IssueKind.LEVELS_NOT_JOINED:
            groups.append({plan.levels[index].id for index in indexes})
    if groups:
        statement = state_missing_join(plan, survey, groups, names)
        found.statements[IssueKind.LEVELS_NOT_JOINED] = statement


def add_off_floor(
    found: Diagnosis, plan: Plan, network: Network, indexes: Sequence[int], names: PlanNames
) -> None:
    """Add a problem for each location beside the floor; empty levels have theirs already."""
    empty = {issue.part: issue for issue in found.issues if issue.kind is IssueKind.EMPTY_LEVEL}
    for rank, index in enumerate(indexes):
        location = plan.locations[index]
        if location.level_id in empty:
            found.of_locations[index] = empty[location.level_id]
            continue
        feet = f"more than {network.costing.attach_feet:g} ft"
        if rank < MAX_MEASURED_PARTS:
            area = network.levels.walkable_area(network.level_index[location.level_id])
            feet = f"{area.distance(Point(location.x, location.y)):.1f} ft ({feet})"
        message = f"location {names.place(location.id)} lies {feet} from the nearest floor"
        issue = PlanIssue(
            IssueKind.LOCATION_OFF_FLOOR,
            location.id,
            message,
            location.level_id,
            (location.x, location.y),
            1,
        )
        found.of_locations[index] = issue
        found.issues.append(issue)


class BlockedDoor(NamedTuple):
    """An opening that wheelchairs cannot pass, between a component and another."""

    level: int
    opening: Opening
    other: int


def diagnose_wheelchairs(
    plan: Plan, network: Network, survey: Survey, on_foot: BoolArray, names: PlanNames
) -> Diagnosis:
    """Return why locations that are reached on foot are outside the main component of wheelchairs.

    `on_foot` says of each location whether it is reached on foot.
    """
    found = Diagnosis()
    lost = on_foot & (survey.location_components != survey.main)
    costs = Counter(survey.location_components[lost].tolist())
    blocked = list_blocked_doors(network, survey)
    stranded = {
        home: levels
        for home, levels in survey.stranded.items()
        if home in costs and not (home in blocked and is_joined(plan, network, levels))
    }
    found_on: dict[int, PlanIssue] = {}
    for rank, (home, levels) in enumerate(stranded.items()):
        on_levels = np.isin(survey.location_levels, levels)
        behind_doors = np.isin(survey.location_components, list(blocked.keys() - {home}))
        cost = int((lost & on_levels & ~behind_doors).sum())
        is_detailed = rank < MAX_DETAILED_GROUPS
        issue, _ = describe_stranded(
            plan, network, survey, home, cost, names, is_detailed=is_detailed
        )
        found.add(issue, home)
        found_on |= dict.fromkeys(levels, issue)
    for component, cost in costs.items():
        # Steps part a piece of floor, which is then counted as one of its parts.
        of_locations = survey.location_levels[survey.location_components == component].tolist()
        [level, *_] = survey.levels_of.get(component, of_locations)
        if component in stranded or component == NONE:
            continue
        if component in blocked:
            doors = blocked[component]
            found.add(
                describe_narrow_door(network, survey, component, doors, cost, names), component
            )
        elif level in found_on:
            found.of_components[component] = found_on[level]
        else:
            issue = describe_steps(survey.levels[level], component, cost, names)
            found.add(issue, component)
    if found_on and len(stranded) == sum(i.kind is IssueKind.NOT_STEP_FREE for i in found.issues):
        groups = [{plan.levels[index].id for index in levels} for levels in stranded.values()]
        statement = state_missing_join(plan, survey, groups, names)
        found.statements[IssueKind.NOT_STEP_FREE] = statement
    return found


def list_blocked_doors(network: Network, survey: Survey) -> Mapping[int, list[BlockedDoor]]:
    """Return by component the openings of its floor that wheelchairs cannot pass."""
    blocked: dict[int, list[BlockedDoor]] = defaultdict(list)
    for index, level in enumerate(survey.levels):
        passable = {id(o) for o in level.built.passable_openings(network.mode, network.costing)}
        for opening in level.built.openings:
            one, other = level.piece_components[list(opening.piece_indexes)].tolist()
            if one != other and id(opening) not in passable:
                blocked[one].append(BlockedDoor(index, opening, other))
                blocked[other].append(BlockedDoor(index, opening, one))
    return dict(blocked)


def is_joined(plan: Plan, network: Network, levels: Sequence[int]) -> bool:
    """Return whether a lift or ramp for wheelchairs leads out of a group of levels."""
    own = {plan.levels[index].id for index in levels}
    return any(
        network.costing.allows(network.mode, connector)
        for connector in list_connectors(plan, network.mode)
        if own & connector.entrances.keys() and connector.entrances.keys() - own
    )


def describe_narrow_door(
    network: Network,
    survey: Survey,
    component: int,
    doors: Sequence[BlockedDoor],
    cost: int,
    names: PlanNames,
) -> PlanIssue:
    """Return the problem of a part of the floor whose doors let no wheelchair through."""
    # A door to the main component comes first: widening it is enough.
    best = max(
        doors, key=lambda d: (d.other == survey.main, d.opening.wheelchair, d.opening.width_feet)
    )
    level, door = survey.levels[best.level], best.opening
    floor = describe_floor(level, component, names)
    if door.wheelchair:
        message = (
            f"the widest door of {floor} is {door.width_feet:.2f} ft; wheelchairs need"
            f" {network.costing.wheelchair_door_feet:.2f} ft"
        )
    else:
        message = f"the door of {floor} is not for wheelchairs (wheelchair=no)"
    at = point_in(door.shape)
    return PlanIssue(IssueKind.DOOR_TOO_NARROW, door.door_id, message, level.id, at, cost)


def describe_steps(level: LevelSurvey, component: int, cost: int, names: PlanNames) -> PlanIssue:
    """Return the problem of a part of the floor that only stairs lead to."""
    pieces = level.polygons_of(component)
    [largest, *_] = [*pieces, level.built.steps]
    part = f"a part of {names.level(level.id)}"
    message = f"only stairs lead to {describe_floor(level, component, names) if pieces else part}"
    return PlanIssue(IssueKind.NOT_STEP_FREE, level.id, message, level.id, point_in(largest), cost)
