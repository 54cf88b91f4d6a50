"""Name the causes for which locations are not reached on foot, each with what it costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from shapely import Point

from routing.diagnosis.cut_off import describe_cut_off, group_misfits, measure_cut_off
from routing.diagnosis.joins import (
    MAX_DETAILED_GROUPS,
    describe_stranded,
    state_missing_join,
)
from routing.diagnosis.names import PlanNames
from routing.diagnosis.survey import NONE, Survey
from routing.issues import IssueKind, PlanIssue
from routing.network.components import ComponentLabels
from routing.network.network import Network
from routing.plan import Plan

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
