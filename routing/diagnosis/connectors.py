"""Find connectors that cannot be used: each is one problem, whatever is wrong with it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from routing.diagnosis.joins import label
from routing.diagnosis.names import PlanNames
from routing.issues import IssueKind, PlanIssue, point_in
from routing.network.network import Network
from routing.plan import Connector, Plan

SURE_CONFIDENCE = 0.9
"""Connectors of less are reported."""


def find_loose_connectors(
    plan: Plan,
    network: Network,
    empty_levels: Collection[str],
    explained: Collection[str],
    names: PlanNames,
) -> Iterator[PlanIssue]:
    """Yield the problem of each connector that is out of service, or has ends that are not used.

    Ends on levels without any floor are a consequence of that, and left out, as are connectors
    that are `explained` by another problem.
    """
    attached = {(portal.connector, network.level_ids[portal.level]) for portal in network.portals}
    for index, connector in enumerate(plan.connectors):
        if connector.id in explained:
            continue
        levels = list(connector.entrances)
        loose = [
            level_id
            for level_id in levels
            if (index, level_id) not in attached and level_id not in empty_levels
        ]
        what = label(connector, names)
        if not connector.is_in_service:
            message = f"{what} is out of service and left out"
            yield _issue(IssueKind.CONNECTOR_OUT_OF_SERVICE, connector, message, levels[:1])
        elif loose:
            feet = network.costing.attach_feet
            message = f"{what} has no floor within {feet:g} ft on {names.level_list(loose)}"
            yield _issue(IssueKind.CONNECTOR_OUT_OF_REACH, connector, message, loose)
        elif len(levels) < 2:
            message = f"{what} is drawn on {names.level_list(levels)} only"
            if connector.has_steps and not connector.wheelchair:
                message += ", and stops wheelchairs there"
            yield _issue(IssueKind.CONNECTOR_ONE_END, connector, message, levels)


def list_uncertain_connectors(plan: Plan, names: PlanNames) -> Iterator[PlanIssue]:
    """Yield the problem of each connector that was joined by little evidence."""
    for connector in plan.connectors:
        if connector.confidence < SURE_CONFIDENCE:
            message = (
                f"{label(connector, names)}: taken to join {names.level_list(connector.entrances)} "
                f"with confidence {connector.confidence:g}; list its levels, or give its drawings "
                "one ref"
            )
            yield _issue(IssueKind.CONNECTOR_JOINED, connector, message, [*connector.entrances])


def _issue(kind: IssueKind, connector: Connector, message: str, levels: list[str]) -> PlanIssue:
    level_id = next(iter(levels), None)
    at = point_in(connector.entrances[level_id]) if level_id is not None else None
    return PlanIssue(kind, connector.id, message, level_id, at)
