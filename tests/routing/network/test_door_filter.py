"""The door filter rejects only pairs that cannot see each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import shapely
from hypothesis import HealthCheck, given, settings
from shapely import Point, Polygon, box

from bench.data.office_plan import build_office
from routing.costing import TravelMode
from routing.network import door_filter
from routing.network.door_filter import DoorFilter, build_door_filter
from routing.network.network import LevelNetwork
from routing.network.regions import edges_from_stops, edges_within_regions
from routing.network.visibility import Edges
from routing.network.walk_graph import concatenate_edges
from routing.plan import Barrier, Door, Level, Plan, PlanLocation, Space, SpaceKind
from routing.processing import process_plan
from routing.space.walkable import build_walkable_levels
from tests.routing.hard_areas import WALLS, Walls, build_plan
from tests.routing.random_plans import plans

Xy = tuple[float, float]
WIDE_DOOR = box(45, 19, 55, 21)


def build_row(rooms: int, doors: Sequence[Point | Polygon]) -> DoorFilter:
    """Rooms of 20 by 20 ft side by side, and a corridor in the shape of an L around them.

    It runs below the rooms, at y from 20 to 30, and up again behind the last one.
    """
    end = 20.0 * rooms
    hall = shapely.union(box(0, 20, end, 30), box(end, 0, end + 10, 30))
    assert isinstance(hall, Polygon)
    spaces = [Space(f"{at}", "0", box(20 * at, 0, 20 * at + 20, 20)) for at in range(rooms)]
    plan = Plan(
        (Level("0", 0),),
        (Space("hall", "0", hall, SpaceKind.CORRIDOR), *spaces),
        doors=tuple(Door(f"{at}", "0", door) for at, door in enumerate(doors)),
    )
    (level,), _ = build_walkable_levels(plan)
    assert len(level.openings) == len(doors)
    return build_door_filter(level.floor.polygons, level.openings)


def may_see(doors: DoorFilter, start: Xy, end: Xy) -> bool:
    only = np.zeros(1, dtype=np.int64)
    return bool(doors.may_see(np.array([start]), np.array([end]), only, only)[0])


THREE_ROOMS = build_row(3, [Point(10, 20), Point(20, 5), Point(30, 20), WIDE_DOOR])


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ((2, 2), (18, 18), True),  # in one room
        ((10, 10), (10, 25), True),  # through the door of the first room
        ((12, 5), (28, 5), True),  # through the door between the first two
        ((5, 15), (35, 15), False),  # past it
        ((10, 18), (30, 18), False),  # from one door to the next
        ((5, 5), (55, 5), False),  # through a door of the first room, and no door of the third
        ((10, 25), (50, 5), False),  # the same, from the corridor
        ((10, 19.97), (10, 25), True),  # from within a door
        ((10, 19.97), (3, 3), True),
        ((46, 19), (45.3, 20.5), True),  # through a door; its centre lies behind the start
        ((54, 19), (54.7, 20.5), True),
    ],
)
def test_a_line_between_two_pieces_must_pass_a_door_of_each(
    start: Xy, end: Xy, expected: bool
) -> None:
    assert may_see(THREE_ROOMS, start, end) is expected
    assert may_see(THREE_ROOMS, end, start) is expected


@pytest.mark.parametrize(("doors", "expected"), [(4, False), (5, True)])
def test_a_piece_with_more_than_four_doors_is_open_on_all_sides(doors: int, expected: bool) -> None:
    """The line leaves the first room by a door, and enters the corridor through its wall."""
    to_corridor = [Point(20 * at + 10, 20) for at in range(doors)]
    row = build_row(6, [Point(20, 10), *to_corridor])
    assert may_see(row, (5, 10), (125, 10)) is expected


def test_a_door_behind_the_start_lets_no_line_through() -> None:
    row = build_row(6, [Point(20, 10), *(Point(20 * at + 10, 20) for at in range(5))])
    assert may_see(row, (5, 10), (125, 10))
    assert not may_see(row, (30, 10), (125, 10))


def test_a_corner_of_two_pieces_that_touch_sees_into_both() -> None:
    doors = build_door_filter([box(0, 0, 10, 10), box(10, 10, 20, 20)], [])
    assert may_see(doors, (10, 10), (2, 3)) and may_see(doors, (10, 10), (18, 17))
    assert not may_see(doors, (2, 3), (18, 17))


def test_a_walk_leads_around_two_walls_that_touch_at_their_tips() -> None:
    """They enclose a second piece, which touches the first at the corner that the walk bends at."""
    tip, foot = (20.0, 10.0), box(9, 30, 31, 31)
    sides = [Polygon([tip, (10, 30), (9, 30)]), Polygon([tip, (31, 30), (30, 30)])]
    plan = Plan(
        (Level("0", 0),),
        (Space("hall", "0", box(0, 0, 40, 60), SpaceKind.CORRIDOR),),
        tuple(Barrier("0", wall) for wall in (*sides, foot)),
        locations=(PlanLocation("west", "0", 13, 20), PlanLocation("east", "0", 27, 20)),
    )
    feet = process_plan(plan).router.matrix(["west"], ["east"]).feet
    assert feet[0, 0] == pytest.approx(2 * np.hypot(7, 10))


def test_pairs_are_tested_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    xy = random.uniform((0, 0), (60, 30), (40, 2))
    first, second = np.triu_indices(len(xy), k=1)
    whole = THREE_ROOMS.may_see(xy, xy, first, second)
    monkeypatch.setattr(door_filter, "MAX_BLOCK_PAIRS", 7)
    np.testing.assert_array_equal(THREE_ROOMS.may_see(xy, xy, first, second), whole)
    assert whole.any() and not whole.all()


def test_a_level_without_doors_or_pieces_has_a_filter() -> None:
    assert not may_see(build_row(1, [Point(10, 20)]), (5, 5), (19, 25))
    assert may_see(build_door_filter([], []), (0, 0), (1, 1))


def edges_without_filter(level: LevelNetwork) -> Edges:
    """The edges of a level's graph, every pair tested for visibility."""
    (region,) = (replace(region, door_filter=None) for region in level.regions)
    count = len(region.corners)
    corners, stops, ids = level.xy[:count], level.xy[count:], np.arange(count, len(level.xy))
    edges = edges_within_regions([region], corners)
    return concatenate_edges(edges + edges_from_stops([region], corners, stops, ids))


def check_plan(plan: Plan) -> None:
    networks = process_plan(plan).networks
    for level in (level for mode in TravelMode for level in networks[mode].levels):
        edges, complete = level.graph.edges, edges_without_filter(level)
        np.testing.assert_array_equal(edges.first, complete.first)
        np.testing.assert_array_equal(edges.second, complete.second)


@pytest.mark.slow
@given(plans())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_graphs_of_random_plans_have_the_edges_that_they_have_without_filter(plan: Plan) -> None:
    check_plan(plan)


@pytest.mark.slow
@pytest.mark.parametrize("jitter_feet", [0.0, 4e-6])
@pytest.mark.parametrize("walls", WALLS)
def test_graphs_of_hard_plans_have_the_edges_that_they_have_without_filter(
    walls: Walls, jitter_feet: float
) -> None:
    check_plan(build_plan(walls, jitter_feet, 17.3, 1234.567891234567))


def test_nearly_all_pairs_of_places_in_different_rooms_are_rejected() -> None:
    (level,) = process_plan(build_office(1, 40)).networks[TravelMode.FOOT].levels
    (region,) = level.regions
    assert region.door_filter is not None
    places = level.xy[len(region.corners) :]
    pairs = np.triu_indices(len(places), k=1)
    assert region.door_filter.may_see(places, places, *pairs).mean() < 0.01
