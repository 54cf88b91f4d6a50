"""From a plan to a routable map: networks and tables for every mode, and the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from routing.components import Components, find_components
from routing.costing import Costing, Mode
from routing.network import Network, build_network
from routing.plan import Plan
from routing.report import (
    Report,
    check_network,
    count_levels,
    list_coarse,
    list_loose_connectors,
    list_unroutable,
)
from routing.router import Router
from routing.soundness import make_sound
from routing.table import MOST_LOCATIONS, Table, build_table
from routing.walkable import WalkableLevel, build_walkable

Progress = Callable[[float, str], None]
"""Told the share done, from 0 to 1, and what comes next."""


@dataclass(frozen=True)
class Processed:
    """`tables` is empty for a map with too many locations for one."""

    plan: Plan
    walkable: tuple[WalkableLevel, ...]
    networks: Mapping[Mode, Network]
    tables: Mapping[Mode, Table]
    components: Mapping[Mode, Components]
    report: Report

    @property
    def router(self) -> Router:
        return Router(self.networks, self.tables)


def ignore_progress(share: float, step: str) -> None:
    """Nobody is watching."""


def process_plan(
    plan: Plan,
    costing: Costing | None = None,
    *,
    most_table_locations: int = MOST_LOCATIONS,
    progress: Progress = ignore_progress,
) -> Processed:
    """Make a plan routable. Raises PlanError where it contradicts itself."""
    costing = costing or Costing()
    progress(0.0, "checking the plan")
    sound, faults = make_sound(plan)
    progress(0.05, "fitting doors")
    walkable, gaps = build_walkable(sound)
    progress(0.2, "seeing corners (foot)")
    foot = build_network(sound, walkable, Mode.FOOT, costing)
    progress(0.5, "seeing corners (wheelchair)")
    wheelchair = build_network(sound, walkable, Mode.WHEELCHAIR, costing, foot)
    networks = {Mode.FOOT: foot, Mode.WHEELCHAIR: wheelchair}
    progress(0.7, "measuring distances")
    tables: dict[Mode, Table] = {}
    if len(sound.locations) <= most_table_locations:
        tables = {mode: build_table(network) for mode, network in networks.items()}
    components = {mode: find_components(network) for mode, network in networks.items()}
    checks = [check_network(sound, walkable, networks[mode], components[mode]) for mode in Mode]
    loose = list_loose_connectors(sound, networks[Mode.FOOT])
    coarse = list_coarse(networks[Mode.FOOT])
    unroutable = list_unroutable(sound, checks)
    report = Report(
        tuple(count_levels(sound, walkable)),
        len(sound.connectors),
        len(sound.locations),
        tuple(checks),
        (*faults, *gaps, *loose, *coarse, *unroutable),
    )
    progress(1.0, "done")
    return Processed(sound, tuple(walkable), networks, tables, components, report)
