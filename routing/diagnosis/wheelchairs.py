"""Name the causes for which wheelchairs do not reach what is reached on foot."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from routing.arrays import BoolArray
from routing.diagnosis.cut_off import describe_floor
from routing.diagnosis.joins import (
    MAX_DETAILED_GROUPS,
    describe_stranded,
    list_connectors,
    state_missing_join,
)
from routing.diagnosis.names import PlanNames
from routing.diagnosis.survey import NONE, LevelSurvey, Survey
from routing.diagnosis.unreached import Diagnosis
from routing.issues import IssueKind, PlanIssue, point_in
from routing.network.network import Network
from routing.plan import Plan
from routing.space.doors import Opening


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
