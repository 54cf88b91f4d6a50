"""Shortest paths by brute force agree with paths that can be worked out by hand."""

import math

import igraph  # type: ignore[import-untyped]
import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from shapely import MultiPolygon, Point, Polygon, box

from bench.geodesic import geodesic_feet, search

pytestmark = pytest.mark.slow

inside = st.floats(0.5, 9.5)
points = st.tuples(inside, inside)


@given(st.lists(points, min_size=2, max_size=5))
def test_where_nothing_is_in_the_way_paths_are_straight(places: list[tuple[float, float]]) -> None:
    feet = geodesic_feet(box(0, 0, 10, 10), places)
    expected = [[math.dist(one, other) for other in places] for one in places]
    assert feet == pytest.approx(np.array(expected), abs=1e-9)


@given(st.floats(0.5, 3.0), st.floats(0.5, 9.5), st.floats(7.0, 9.5), st.floats(0.5, 9.5))
def test_the_way_around_a_pillar_is_the_shorter_of_its_two_sides(
    x: float, y: float, other_x: float, other_y: float
) -> None:
    """The pillar is between the points: a path passes above or below it, if not beside it."""
    pillar = box(4, 3, 6, 7)
    one, other = (x, y), (other_x, other_y)
    if not shapely.LineString([one, other]).crosses(pillar):
        expected = math.dist(one, other)
    else:
        expected = min(_length_past(one, other, edge) for edge in (3.0, 7.0))
    area = box(0, 0, 10, 10).difference(pillar)
    assert geodesic_feet(area, [one, other])[0, 1] == pytest.approx(expected, abs=1e-5)


def _length_past(one: tuple[float, float], other: tuple[float, float], edge: float) -> float:
    """Length of the rope pulled tight from one point to another, past one side of the pillar."""
    is_above = edge == 7.0
    rope = shapely.MultiPoint([one, (4, edge), (6, edge), other]).convex_hull
    hull = {(x, y) for x, y in shapely.get_coordinates(rope).tolist()} - {one, other}
    between = sorted(
        corner
        for corner in hull
        if (corner[1] - _height(one, other, corner[0])) * (1 if is_above else -1) > 0
    )
    path = [one, *between, other]
    return sum(math.dist(path[at], path[at + 1]) for at in range(len(path) - 1))


def _height(one: tuple[float, float], other: tuple[float, float], x: float) -> float:
    return one[1] + (other[1] - one[1]) * (x - one[0]) / (other[0] - one[0])


@pytest.mark.parametrize(
    ("area", "one", "other", "feet"),
    [
        # around one corner: twice the hypotenuse of 3 and 4; around two; under a notch
        (Polygon([(0, 0), (9, 0), (9, 4), (4, 4), (4, 9), (0, 9)]), (1, 8), (8, 1), 10.0),
        (
            Polygon([(0, 0), (9, 0), (9, 9), (6, 9), (6, 3), (3, 3), (3, 9), (0, 9)]),
            (3, 9),
            (6, 9),
            15.0,
        ),
        (
            Polygon([(0, 0), (4, 0), (4, 1), (5, 1), (5, 0), (9, 0), (9, 2), (0, 2)]),
            (0, 1),
            (9, 1),
            9.0,
        ),
        # two rooms that do not touch
        (MultiPolygon([box(0, 0, 1, 1), box(2, 0, 3, 1)]), (0.5, 0.5), (2.5, 0.5), math.inf),
    ],
)
def test_corners_are_turned_tightly(
    area: Polygon, one: tuple[float, float], other: tuple[float, float], feet: float
) -> None:
    assert geodesic_feet(area, [one, other])[0, 1] == pytest.approx(feet, abs=1e-5)


@given(st.lists(points, min_size=3, max_size=3), st.floats(1, 3), st.floats(1, 3))
def test_distances_are_a_metric_and_an_obstacle_shortens_none(
    places: list[tuple[float, float]], width: float, height: float
) -> None:
    pillar = box(5 - width, 5 - height, 5 + width, 5 + height)
    places = [place for place in places if not pillar.contains(Point(place))]
    free = geodesic_feet(box(0, 0, 10, 10), places)
    feet = geodesic_feet(box(0, 0, 10, 10).difference(pillar), places)
    assert (np.diag(feet) == 0).all()
    assert feet == pytest.approx(feet.T)
    assert (feet >= free - 1e-9).all()
    for middle in range(len(places)):
        assert (feet <= feet[:, [middle]] + feet[[middle], :] + 1e-6).all()


def test_a_path_may_touch_corners_even_if_no_line_may_leave_the_area() -> None:
    area = Polygon([(0, 0), (9, 0), (9, 4), (4, 4), (4, 9), (0, 9)])
    assert geodesic_feet(area, [(1, 8), (8, 1)], graze_feet=0)[0, 1] == pytest.approx(10.0)


def test_lines_may_leave_the_area_by_a_tolerance() -> None:
    area = Polygon([(0, 0), (10, 0), (10, 2), (5, 1e-7), (0, 2)])  # a notch almost to the floor
    ends = [(0.0, 0.0), (10.0, 0.0)]
    dented = area.difference(box(4, -1, 6, 1e-9))
    assert geodesic_feet(dented, ends)[0, 1] == pytest.approx(10.0)
    assert geodesic_feet(area, [(1.0, -1e-8), (9.0, 0.0)])[0, 1] == pytest.approx(8.0)
    assert np.isinf(geodesic_feet(area, [(1.0, -1e-8), (9.0, 0.0)], graze_feet=0)[0, 1])


edges = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.floats(0, 100)), max_size=30)


@given(edges)
def test_the_search_agrees_with_another_implementation(
    lines: list[tuple[int, int, float]],
) -> None:
    neighbours: list[list[tuple[int, float]]] = [[] for _ in range(8)]
    for one, other, feet in lines:
        neighbours[one].append((other, feet))
        neighbours[other].append((one, feet))
    graph = igraph.Graph(8, [line[:2] for line in lines])
    expected = graph.distances(0, weights=[line[2] for line in lines])[0]
    assert search(neighbours, 0) == pytest.approx(expected)
