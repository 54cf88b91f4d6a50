"""Turn a plan into a routable map: a network and a distance table per travel mode, and a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from routing.costing import Costing, TravelMode
from routing.issues import PlanIssue
from routing.network.components import ComponentLabels, find_components, guard_private_space
from routing.network.network import Network, build_network
from routing.plan import Plan
from routing.report import ProcessingReport, build_report
from routing.search.matrix import MAX_TABLE_LOCATIONS, DistanceTable, build_distance_table
from routing.search.router import Router
from routing.space.plan_repair import repair_plan
from routing.space.walkable import WalkableLevel, build_walkable_levels
from routing.values import ProcessingProgress, ignore_progress
from routing.verification import Verification, verify_router


@dataclass(frozen=True)
class ProcessedPlan:
    """A routable map. `tables` is empty if the map has too many locations for distance tables."""

    plan: Plan
    walkable_levels: tuple[WalkableLevel, ...]
    networks: Mapping[TravelMode, Network]
    tables: Mapping[TravelMode, DistanceTable]
    components: Mapping[TravelMode, ComponentLabels]
    report: ProcessingReport
    verification: Verification

    @property
    def router(self) -> Router:
        """A router over the networks and tables."""
        return Router(self.networks, self.tables)


def process_plan(
    plan: Plan,
    costing: Costing | None = None,
    *,
    reading_issues: Sequence[PlanIssue] = (),
    max_table_locations: int = MAX_TABLE_LOCATIONS,
    progress: ProcessingProgress = ignore_progress,
) -> ProcessedPlan:
    """Make a plan routable.

    Raises PlanError if the plan contradicts itself, VerificationError if a distance is not right.

    `reading_issues` are problems that were found when the plan was read, for the report.

    >>> from shapely import box
    >>> from routing.plan import Level, PlanLocation, Space, SpaceKind
    >>> hall = Space("hall", "0", box(0, 0, 40, 10), SpaceKind.CORRIDOR)
    >>> ends = PlanLocation("west", "0", 5, 5), PlanLocation("east", "0", 35, 5)
    >>> processed = process_plan(Plan((Level("0", 0),), (hall,), locations=ends))
    >>> processed.router.matrix(["west"], ["east"]).feet.tolist()
    [[30.0]]
    """
    costing = costing or Costing()
    progress(0.0, "checking the plan")
    repaired, repair_issues = repair_plan(plan)
    progress(0.05, "fitting doors")
    walkable, floor_issues = build_walkable_levels(repaired)
    walkable = guard_private_space(repaired, walkable, costing)
    progress(0.2, "building the visibility graph (foot)")
    foot = build_network(repaired, walkable, TravelMode.FOOT, costing)
    progress(0.5, "building the visibility graph (wheelchair)")
    # Levels where wheelchairs pass every door share the graph on foot.
    wheelchair = build_network(repaired, walkable, TravelMode.WHEELCHAIR, costing, foot)
    foot = replace(foot, levels=wheelchair.levels)
    networks = {TravelMode.FOOT: foot, TravelMode.WHEELCHAIR: wheelchair}
    progress(0.7, "measuring distances")
    tables: dict[TravelMode, DistanceTable] = {}
    if len(repaired.locations) <= max_table_locations:
        tables = {mode: build_distance_table(network) for mode, network in networks.items()}
    components = {mode: find_components(network) for mode, network in networks.items()}
    issues = [*reading_issues, *repair_issues, *floor_issues]
    report = build_report(repaired, walkable, networks, components, issues)
    progress(0.9, "checking a sample of the distances")
    verification = verify_router(Router(networks, tables))
    progress(1.0, "done")
    return ProcessedPlan(
        repaired, tuple(walkable), networks, tables, components, report, verification
    )
