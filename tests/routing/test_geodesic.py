"""Shortest paths by brute force, the judge of routing, agree with paths worked out by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapely import MultiPolygon, Polygon, box

from tests.routing.geodesic import geodesic_feet

inside = st.floats(0.5, 9.5)
points = st.tuples(inside, inside)
CORNER = Polygon([(0, 0), (9, 0), (9, 4), (4, 4), (4, 9), (0, 9)])


@given(st.lists(points, min_size=2, max_size=5))
def test_where_nothing_is_in_the_way_paths_are_straight(places: list[tuple[float, float]]) -> None:
    feet = geodesic_feet(box(0, 0, 10, 10), places)
    expected = [[math.dist(one, other) for other in places] for one in places]
    assert feet == pytest.approx(np.array(expected), abs=1e-9)


@pytest.mark.parametrize(
    ("area", "one", "other", "feet"),
    [
        # around one corner: twice the hypotenuse of 3 and 4; around two; past a pillar
        (CORNER, (1, 8), (8, 1), 10.0),
        (
            Polygon([(0, 0), (9, 0), (9, 9), (6, 9), (6, 3), (3, 3), (3, 9), (0, 9)]),
            (3, 9),
            (6, 9),
            15.0,
        ),
        (box(0, 0, 10, 10).difference(box(4, 3, 6, 7)), (1, 5), (9, 5), 2 * math.hypot(3, 2) + 2),
        # two rooms that do not touch
        (MultiPolygon([box(0, 0, 1, 1), box(2, 0, 3, 1)]), (0.5, 0.5), (2.5, 0.5), math.inf),
    ],
)
def test_corners_are_turned_tightly(
    area: Polygon, one: tuple[float, float], other: tuple[float, float], feet: float
) -> None:
    assert geodesic_feet(area, [one, other])[0, 1] == pytest.approx(feet)


def test_lines_may_touch_corners_and_leave_the_area_by_a_tolerance() -> None:
    assert geodesic_feet(CORNER, [(1, 8), (8, 1)], graze_feet=0)[0, 1] == pytest.approx(10.0)
    notched = Polygon([(0, 0), (10, 0), (10, 2), (5, 1e-7), (0, 2)])  # almost to the floor
    ends = [(1.0, -1e-8), (9.0, 0.0)]
    assert geodesic_feet(notched, ends)[0, 1] == pytest.approx(8.0)
    assert np.isinf(geodesic_feet(notched, ends, graze_feet=0)[0, 1])
