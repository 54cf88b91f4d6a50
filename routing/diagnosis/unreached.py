"""Name the causes for which locations are not reached on foot, each with what it costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import shapely
from shapely import Point

from routing.diagnosis.joins import describe_stranded, state_missing_join
from routing.diagnosis.names import PlanNames, join_names
from routing.diagnosis.survey import NONE, LevelSurvey, Survey
from routing.issues import IssueKind, PlanIssue
from routing.network.components import ComponentLabels
from routing.network.network import Network
from routing.plan import Plan

MAX_MEASURED_PARTS = 200
"""Parts of the floor, those with the most locations, whose gap to the rest is measured."""
ENCLOSED = (IssueKind.ROOM_ENCLOSED, IssueKind.DOORS_LOCKED)
MIN_GAP_FEET = 0.15
"""A narrower gap is the wall that processing puts around each room."""


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
    add_stranded(found, plan, network, survey, names)
    apart = [
        component
        for component in survey.apart
        if component in survey.levels_of and component not in found.of_components
    ]
    for rank, component in enumerate(apart):
        issue = describe_cut_off(survey, component, rank < MAX_MEASURED_PARTS, names)
        found.add(issue, component)
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
    for home, indexes in survey.stranded.items():
        cost = survey.count_on(indexes)
        issue, loose = describe_stranded(plan, network, survey, home, cost, names)
        found.issues.append(issue)
        found.of_components.setdefault(home, issue)
        found.explained_connectors |= {connector.id for connector in loose}
        if issue.kind is IssueKind.LEVELS_NOT_JOINED:
            groups.append({plan.levels[index].id for index in indexes})
    if groups:
        statement = state_missing_join(plan, survey, groups, names)
        found.statements[IssueKind.LEVELS_NOT_JOINED] = statement


def describe_cut_off(
    survey: Survey, component: int, is_measured: bool, names: PlanNames
) -> PlanIssue:
    """Return the problem of a part of the floor that nothing joins with its level's home."""
    indexes = survey.levels_of[component]
    away = [index for index in indexes if survey.levels[index].home != component] or indexes
    level = max(away, key=lambda index: survey.levels[index].home == survey.main)
    here = survey.levels[level]
    largest = max(here.pieces_of[component], key=lambda i: here.built.floor.pieces[i].polygon.area)
    part = here.built.floor.pieces[largest].room_id or here.id
    count = survey.locations_of[component]
    message = f"no door joins {describe_floor(here, component, names)} with the rest"
    at = here.built.floor.pieces[largest].polygon.representative_point()
    if is_measured:
        middle, feet = find_gap(here, component)
        gap = f"{feet:.1f} ft away" if feet > MIN_GAP_FEET else "right behind the wall"
        at, message = middle, f"{message}; here, the rest is {gap}"
    return PlanIssue(IssueKind.FLOOR_CUT_OFF, part, message, here.id, (at.x, at.y), count)


def describe_floor(level: LevelSurvey, component: int, names: PlanNames) -> str:
    """Return what a component consists of on a level: a room, or several and open floor."""
    rooms = level.rooms_of(component)
    labels = sorted(names.feature(room) for room in rooms if room is not None)
    if len(rooms) == len(labels) == 1:
        return f"room {labels[0]}"
    area = sum(polygon.area for polygon in level.polygons_of(component))
    part = f"a part of {names.level(level.id)} of {area:,.0f} ft²"
    if labels:
        part += f" with {'rooms' if len(labels) > 1 else 'room'} {join_names(labels)}"
    return part


def find_gap(level: LevelSurvey, component: int) -> tuple[Point, float]:
    """Return the middle and the length of the shortest line from a component to the home."""
    own = np.array(level.polygons_of(component), dtype=object)
    pairs, feet = level.home_tree.query_nearest(own, return_distance=True, all_matches=False)
    shortest = int(np.argmin(feet))
    nearest = level.home_tree.geometries[pairs[1, shortest]]
    line = shapely.shortest_line(own[pairs[0, shortest]], nearest)
    return line.interpolate(0.5, normalized=True), float(feet[shortest])


def add_off_floor(
    found: Diagnosis, plan: Plan, network: Network, indexes: Sequence[int], names: PlanNames
) -> None:
    """Add a problem for each location beside the floor; empty levels have theirs already."""
    empty = {issue.part: issue for issue in found.issues if issue.kind is IssueKind.EMPTY_LEVEL}
    for index in indexes:
        location = plan.locations[index]
        if location.level_id in empty:
            found.of_locations[index] = empty[location.level_id]
            continue
        area = network.levels[network.level_index[location.level_id]].walkable_area
        feet = area.distance(Point(location.x, location.y))
        message = (
            f"location {names.feature(location.id)} lies {feet:.1f} ft from the nearest floor;"
            f" at most {network.costing.attach_feet:g} ft are bridged"
        )
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
