"""From a plan to a routable map: networks and tables for every mode, and the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from routing.costing import Costing, TravelMode
from routing.network.components import ComponentLabels, find_components
from routing.network.network import Network, build_network
from routing.plan import Plan
from routing.report import (
    ProcessingReport,
    check_network,
    count_levels,
    list_coarse_levels,
    list_loose_connectors,
    list_unroutable,
)
from routing.search.distance_table import MAX_TABLE_LOCATIONS, DistanceTable, build_distance_table
from routing.search.router import Router
from routing.space.plan_repair import repair_plan
from routing.space.walkable import WalkableLevel, build_walkable_levels

ProcessingProgress = Callable[[float, str], None]
"""Told the share done, from 0 to 1, and what comes next."""


@dataclass(frozen=True)
class ProcessedPlan:
    """`tables` is empty for a map with too many locations for one."""

    plan: Plan
    walkable_levels: tuple[WalkableLevel, ...]
    networks: Mapping[TravelMode, Network]
    tables: Mapping[TravelMode, DistanceTable]
    components: Mapping[TravelMode, ComponentLabels]
    report: ProcessingReport

    @property
    def router(self) -> Router:
        return Router(self.networks, self.tables)


def ignore_progress(share: float, step: str) -> None:
    """Nobody is watching."""


def process_plan(
    plan: Plan,
    costing: Costing | None = None,
    *,
    max_table_locations: int = MAX_TABLE_LOCATIONS,
    progress: ProcessingProgress = ignore_progress,
) -> ProcessedPlan:
    """Make a plan routable. Raises PlanError where it contradicts itself."""
    costing = costing or Costing()
    progress(0.0, "checking the plan")
    sound, faults = repair_plan(plan)
    progress(0.05, "fitting doors")
    walkable, gaps = build_walkable_levels(sound)
    progress(0.2, "seeing corners (foot)")
    foot = build_network(sound, walkable, TravelMode.FOOT, costing)
    progress(0.5, "seeing corners (wheelchair)")
    wheelchair = build_network(sound, walkable, TravelMode.WHEELCHAIR, costing, foot)
    networks = {TravelMode.FOOT: foot, TravelMode.WHEELCHAIR: wheelchair}
    progress(0.7, "measuring distances")
    tables: dict[TravelMode, DistanceTable] = {}
    if len(sound.locations) <= max_table_locations:
        tables = {mode: build_distance_table(network) for mode, network in networks.items()}
    components = {mode: find_components(network) for mode, network in networks.items()}
    checks = [
        check_network(sound, walkable, networks[mode], components[mode]) for mode in TravelMode
    ]
    loose = list_loose_connectors(sound, networks[TravelMode.FOOT])
    coarse = list_coarse_levels(networks[TravelMode.FOOT])
    unroutable = list_unroutable(sound, checks)
    report = ProcessingReport(
        tuple(count_levels(sound, walkable)),
        len(sound.connectors),
        len(sound.locations),
        tuple(checks),
        (*faults, *gaps, *loose, *coarse, *unroutable),
    )
    progress(1.0, "done")
    return ProcessedPlan(sound, tuple(walkable), networks, tables, components, report)
