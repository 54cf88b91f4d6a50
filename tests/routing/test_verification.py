"""What is checked before a map is published: faults that once were, or could be, are found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from routing import verification
from routing.costing import TravelMode
from routing.errors import VerificationError
from routing.network import levels, mesh, walk_graph
from routing.network.walk_graph import Edges, Labels, WalkGraph, WorkBudget, build_labels
from routing.processing import process_plan
from routing.search.router import Router
from routing.verification import verify_router
from tests.routing.ascii_plans import process_drawing
from tests.routing.buildings import process_demo
from tests.routing.hard_areas import WALLS, Walls, arc, build_plan, teeth

TOWER = process_drawing("A,,e#C,", "B.s,e#m,", "Ds,##m,")


@pytest.mark.parametrize("walls", WALLS)
def test_exact_distances_pass(walls: Walls) -> None:
    found = process_plan(build_plan(walls, 4e-6, 17.3, 1234.5)).verification
    assert found.corner_pairs and found.walks and found.routes


def test_all_modes_and_levels_are_checked() -> None:
    found = verify_router(TOWER.router)
    assert found.routes == 2 * verification.SAMPLED_PAIRS
    assert found.walks


def test_an_edge_that_was_dropped_for_one_that_does_not_follow_it_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def drop_what_leads_past(xy: np.ndarray, edges: Edges) -> Edges:
        """Drop each edge in whose direction a nearer vertex is, whatever follows there."""
        directions = np.round(np.arctan2(*(xy[edges.second] - xy[edges.first]).T), 6)
        order = np.lexsort((edges.feet, directions, edges.first))
        columns = edges.first[order], directions[order]
        repeated = np.logical_and(*(column[1:] == column[:-1] for column in columns))
        return edges.take(order[~np.concatenate(([False], repeated))])

    monkeypatch.setattr(walk_graph, "drop_compound_edges", drop_what_leads_past)
    with pytest.raises(VerificationError, match=r"see each other at .* Nothing was published"):
        process_plan(build_plan(teeth, 4e-6, 17.3, 0))


def test_a_corner_that_was_missed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mesh, "MIN_TURN_SINE", 0.06)
    with pytest.raises(VerificationError, match="which is no vertex of the graph"):
        process_plan(build_plan(arc, 4e-6, 17.3, 0))


@pytest.mark.parametrize(
    ("clusters", "message"),
    [(verification.CLUSTERS, "see each other at"), (0, "ft, but one of .* ft exists")],
)
def test_labels_that_miss_a_hub_are_found(
    clusters: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verification, "CLUSTERS", clusters)

    def forget_a_hub(graph: WalkGraph, budget: WorkBudget) -> Labels:
        labels = build_labels(graph, budget)
        most_used = np.bincount(labels.hubs).argmax()
        feet = np.where(labels.hubs == most_used, labels.feet + 0.01, labels.feet)
        return replace(labels, feet=feet)

    monkeypatch.setattr(levels, "build_labels", forget_a_hub)
    with pytest.raises(VerificationError, match=message):
        process_plan(build_plan(teeth, 4e-6, 17.3, 0))


def test_a_table_that_differs_from_its_routes_is_found() -> None:
    foot = TOWER.tables[TravelMode.FOOT]
    steps = np.where(foot.steps == foot.steps.max(), foot.steps, foot.steps + 1_000_000)
    tables = {**TOWER.tables, TravelMode.FOOT: replace(foot, steps=steps)}
    with pytest.raises(VerificationError, match=r"the route from .* the matrix"):
        verify_router(Router(TOWER.networks, tables))


def test_a_ride_that_is_shorter_than_the_straight_line_is_found() -> None:
    network = process_drawing("s,A", "s,B").networks[TravelMode.FOOT]
    one, other = network.portals
    moved = replace(network, portals=(one, other._replace(x=other.x + 21)))
    with pytest.raises(VerificationError, match=r"the ride .* has 20\.0+ ft, .* line 21\.0"):
        verify_router(Router({TravelMode.FOOT: moved}))


def test_floor_that_is_joined_but_not_walked_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    networks = process_demo().networks
    foot = networks[TravelMode.FOOT]
    no_hubs = replace(foot.levels.labels, feet=np.full_like(foot.levels.labels.feet, np.inf))
    broken = replace(foot, levels=replace(foot.levels, labels=no_hubs))
    monkeypatch.setattr(verification, "CLUSTERS", 0)
    monkeypatch.setattr(verification, "check_routes", lambda *_: None)
    with pytest.raises(VerificationError, match="although the floor joins them"):
        verify_router(Router({**networks, TravelMode.FOOT: broken}))


def test_the_time_of_a_check_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "MAX_TESTED_LINES", 2)
    found = verify_router(process_demo().router)
    assert found.lines <= 1 + verification.LINES_PER_TEST
    assert found.walks < verification.SAMPLED_PAIRS
