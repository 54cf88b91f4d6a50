"""Describe levels that no connector joins with the rest of the map, and what is drawn there."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import shapely

from routing.costing import TravelMode
from routing.diagnosis.names import CONNECTOR_NAMES, PlanNames, join_names
from routing.diagnosis.survey import Survey
from routing.issues import IssueKind, PlanIssue, point_in
from routing.network.network import Network
from routing.plan import Connector, ConnectorKind, Level, Plan

STEP_FREE = (ConnectorKind.ELEVATOR, ConnectorKind.RAMP)
MEANS = {TravelMode.FOOT: "stairs, lift or ramp", TravelMode.WHEELCHAIR: "lift or ramp"}
KINDS = {
    TravelMode.FOOT: IssueKind.LEVELS_NOT_JOINED,
    TravelMode.WHEELCHAIR: IssueKind.NOT_STEP_FREE,
}
MAX_DETAILED_GROUPS = 200
"""Groups of levels, those with the most locations first, that are described in detail."""
MAX_EXPLAINED_CONNECTORS = 3
MIN_STREET_FEET = 20.0
"""Levels that are this far from the rest, seen from above, are another building."""


def describe_stranded(
    plan: Plan,
    network: Network,
    survey: Survey,
    home: int,
    locations: int,
    names: PlanNames,
    *,
    is_detailed: bool,
) -> tuple[PlanIssue, list[Connector]]:
    """Return the problem of the levels that a component is the home of.

    With it come the connectors there that should join them, and do not. `is_detailed` says whether
    to look for these.
    """
    own = [plan.levels[index] for index in survey.stranded[home]]
    own_ids = {level.id for level in own}
    if not is_detailed:
        message = f"No {MEANS[survey.mode]} joins {names.level(own[0].id)} with the rest"
        issue = PlanIssue(KINDS[survey.mode], own[0].id, message, own[0].id, None, locations)
        return issue, []
    drawn = [
        connector
        for connector in list_connectors(plan, survey.mode)
        if own_ids & connector.entrances.keys()
    ]
    crossing = [each for each in drawn if each.entrances.keys() - own_ids]
    single = [each for each in drawn if len(each.entrances) == 1]
    message = state_missing_join(plan, survey, [own_ids], names)
    kind = KINDS[survey.mode]
    feet = measure_distance(survey, survey.stranded[home])
    if survey.mode is TravelMode.FOOT and feet > MIN_STREET_FEET:
        kind = IssueKind.BUILDINGS_NOT_JOINED
        message = f"Nothing joins {names.level_list(own_ids)} with the rest, {feet:,.0f} ft away"
    loose = crossing or single
    near, rest = find_nearest_levels(plan, survey, own_ids)
    if crossing:
        # Those that should join the levels of the message are the first to ask about.
        crossing.sort(key=lambda each: not {near.id, rest.id} <= each.entrances.keys())
        message += ": " + explain_connectors(plan, network, crossing, own_ids, names)
    elif single:
        verb = "serve" if len(single) > 1 else "serves"
        message += f": {join_names([label(each, names) for each in single])} {verb} no other"
    for connector in loose:
        level_id = next(level_id for level_id in connector.entrances if level_id in own_ids)
        at = point_in(connector.entrances[level_id])
        break
    else:
        level_id = near.id
        floor = survey.levels[plan.levels.index(near)].polygons_of(home)
        at = point_in(floor[0]) if floor else None
    return PlanIssue(kind, level_id, message, level_id, at, locations), loose


def measure_distance(survey: Survey, indexes: Collection[int]) -> float:
    """Return how far the floor of levels is from that of the others, seen from above."""
    hulls = [
        shapely.GeometryCollection(
            [level.hull for i, level in enumerate(survey.levels) if (i in indexes) is is_own]
        )
        for is_own in (True, False)
    ]
    return float(shapely.distance(*hulls))


def list_connectors(plan: Plan, mode: TravelMode) -> list[Connector]:
    """Return the connectors of a kind that serves `mode`."""
    return [c for c in plan.connectors if mode is TravelMode.FOOT or c.kind in STEP_FREE]


def state_missing_join(
    plan: Plan, survey: Survey, groups: Sequence[Collection[str]], names: PlanNames
) -> str:
    """Return the sentence that nothing joins groups of levels with the rest."""
    own_ids = set[str]().union(*groups)
    others = {level.id for level in plan.levels} - own_ids
    is_drawn = any(
        others & connector.entrances.keys() and own_ids & connector.entrances.keys()
        for connector in list_connectors(plan, survey.mode)
    )
    rest = "the rest"
    if len(groups) == 1 and others:
        rest = names.level(find_nearest_levels(plan, survey, own_ids)[1].id)
    usable = "that can be used " if is_drawn else ""
    return f"No {MEANS[survey.mode]} {usable}joins {names.level_list(own_ids)} with {rest}"


def find_nearest_levels(
    plan: Plan, survey: Survey, own_ids: Collection[str]
) -> tuple[Level, Level]:
    """Return the level of a group, and one with floor outside it, that are nearest in height."""
    own = [level for level in plan.levels if level.id in own_ids]
    with_floor = [
        level
        for level, here in zip(plan.levels, survey.levels, strict=True)
        if here.built.floor.pieces and level.id not in own_ids
    ]
    others = with_floor or own
    pairs = [(one, other) for one in own for other in others]
    rises = {pair: abs(pair[0].ordinal - pair[1].ordinal) for pair in pairs}
    # Levels of one height are in buildings beside each other.
    return min(pairs, key=lambda pair: rises[pair] or math.inf)


def explain_connectors(
    plan: Plan,
    network: Network,
    connectors: Sequence[Connector],
    own_ids: Collection[str],
    names: PlanNames,
) -> str:
    """Return why connectors that lead out of a group of levels do not help."""
    reached = {(portal.connector, network.level_ids[portal.level]) for portal in network.portals}
    numbers = {connector.id: index for index, connector in enumerate(plan.connectors)}
    reasons: list[str] = []
    for connector in connectors[:MAX_EXPLAINED_CONNECTORS]:
        number = numbers[connector.id]
        own = connector.entrances.keys() & own_ids
        ends = (own, connector.entrances.keys() - own)
        without_floor = [
            level_id
            for levels in ends
            if not any((number, level_id) in reached for level_id in levels)
            for level_id in levels
        ]
        if not connector.is_in_service:
            reason = "is out of service"
        elif not network.costing.allows(network.mode, connector):
            reason = f"is not for a {network.mode.value}"
        elif without_floor:
            reason = f"has no floor near it on {names.level_list(without_floor)}"
        else:
            reason = "ends on floor that is cut off from the rest of its level"
        reasons.append(f"{label(connector, names)} {reason}")
    more = len(connectors) - len(reasons)
    return "; ".join([*reasons, f"and {more} more"] if more else reasons)


def label(connector: Connector, names: PlanNames) -> str:
    return f"{CONNECTOR_NAMES[connector.kind]} {names.place(connector.id)}"
