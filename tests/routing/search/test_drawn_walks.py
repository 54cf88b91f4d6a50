"""Lines of walks to draw are clear of walls, and never where the walk may not be."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray
from shapely import LineString, Point, Polygon, box

from routing.costing import TravelMode
from routing.network.mesh import PUBLIC, grow
from routing.network.network import Network
from routing.plan import Door, Level, Plan, PlanLocation, Space, SpaceKind
from routing.processing import ProcessedPlan, process_plan
from routing.search.drawn_walks import CLEARANCE_FEET, draw_route
from routing.search.router import WalkLeg, find_route
from tests.routing.ascii_plans import cell_square, process_drawing
from tests.routing.hard_areas import process_caserne, process_demo
from tests.routing.random_plans import draw_fewer, plans

Lines = list[tuple[WalkLeg, NDArray[np.float64]]]


def draw(network: Network, source: str, target: str) -> Lines:
    route = find_route(network, source, target)
    assert route
    lines = zip(route.legs, draw_route(network, route), strict=True)
    return [(leg, line) for leg, line in lines if isinstance(leg, WalkLeg)]


def assert_walkable(network: Network, lines: Lines) -> None:
    levels = network.levels
    for leg, line in lines:
        assert (tuple(line[0]), tuple(line[-1])) == (leg.points[0], leg.points[-1])
        if len(line) < 2:
            continue
        level, walk, drawn = (
            levels.ids.index(leg.level_id),
            LineString(leg.points),
            LineString(line),
        )
        area = grow(levels.walkable_area(level))
        assert drawn.difference(area).length <= walk.difference(area).length + 1e-6
        assert drawn.hausdorff_distance(walk) < CLEARANCE_FEET + 1e-6
        through, allowed = (
            set(levels.find_regions(level, np.array([*pairwise(points)])).flat)
            for points in (line, leg.points)
        )
        assert through <= {*allowed, PUBLIC}


@pytest.mark.parametrize("process", [process_demo, process_caserne])
def test_lines_on_real_floors_stay_where_people_may_walk(
    process: Callable[[], ProcessedPlan],
) -> None:
    network = process().networks[TravelMode.FOOT]
    ids = sorted(network.attached_ids)
    for source, target in pairwise(ids[::7] + ids[::-11]):
        if find_route(network, source, target):
            assert_walkable(network, draw(network, source, target))


@given(plans())
@draw_fewer(4)
def test_lines_on_any_floor_stay_where_people_may_walk(plan: Plan) -> None:
    network = process_plan(plan).networks[TravelMode.FOOT]
    for source, target in pairwise(sorted(network.attached_ids)):
        if find_route(network, source, target):
            assert_walkable(network, draw(network, source, target))


def test_a_line_leads_around_a_corner_as_people_walk() -> None:
    network = process_drawing(
        """
        ########
        #A,,,,,#
        #,,,,,,#
        #####,,#
        #####,,#
        #####,B#
        ########
        """
    ).networks[TravelMode.FOOT]
    [(leg, line)] = draw(network, "A", "B")
    corner = Point(leg.points[1])
    assert LineString(leg.points).distance(corner) == 0
    assert LineString(line).distance(corner) > CLEARANCE_FEET / 2
    turns = np.diff(np.unwrap(np.arctan2(*np.diff(line, axis=0).T)))
    assert np.abs(turns).max() < np.pi / 8


def test_a_line_leads_through_the_middle_of_a_narrow_door() -> None:
    network = process_drawing(
        """
        #########
        #A..#..B#
        #...n...#
        #...#...#
        #########
        """
    ).networks[TravelMode.FOOT]
    [(_, line)] = draw(network, "A", "B")
    middle = cell_square(4, 2).centroid
    assert LineString(line).distance(middle) < 0.3


def test_a_line_enters_no_private_room_that_the_walk_passes() -> None:
    # A thin wall leaves a foot of the hall free before one of the home's two doors.
    hall = Polygon([(0, 0), (9.5, 0), (9.5, 9), (10.5, 9), (10.5, 0), (20, 0), (20, 10), (0, 10)])
    plan = Plan(
        (Level("0", 0),),
        (
            Space("hall", "0", hall, SpaceKind.CORRIDOR, "Hall"),
            Space("home", "0", box(0, 10.5, 20, 20), SpaceKind.ROOM, "Home", is_private=True),
        ),
        (),
        (Door("one", "0", box(1, 10, 4, 10.5), 3), Door("two", "0", box(5, 10, 15, 10.5), 10)),
        (),
        (PlanLocation("A", "0", 4, 2, "A"), PlanLocation("B", "0", 16, 2, "B")),
    )
    network = process_plan(plan).networks[TravelMode.FOOT]
    assert_walkable(network, draw(network, "A", "B"))
