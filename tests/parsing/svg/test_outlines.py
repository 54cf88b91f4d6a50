"""Shapes become lines of corners: straight ones exactly, round ones within a tolerance."""

import math
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapely import LineString, Point, Polygon

from parsing.drawing import Coordinate
from parsing.errors import DocumentRejectedError, InvalidMarkupError
from parsing.svg import outlines
from parsing.svg.outlines import (
    Outline,
    Subpath,
    count_arc_chords,
    even_odd_area,
    flatten_path,
    trace_shape,
)

TOLERANCE = 0.01


def approximately(points: Iterable[Coordinate]) -> Any:
    return [pytest.approx(point, abs=1e-9) for point in points]


@pytest.mark.parametrize(
    ("kind", "attributes", "points", "is_closed"),
    [
        ("Polygon", {"points": "0,0 10,0 10,5"}, [(0, 0), (10, 0), (10, 5)], True),
        ("Polygon", {"points": "0 0 10 0 10 5 0 0"}, [(0, 0), (10, 0), (10, 5)], True),
        ("Polygon", {"points": "0-1.5.5 1e1,2 , 7,"}, [(0, -1.5), (0.5, 10), (2, 7)], True),
        ("Polyline", {"points": "0,0 10,0 10,5"}, [(0, 0), (10, 0), (10, 5)], False),
        ("Line", {"x1": "1", "y1": "2", "x2": "1in"}, [(1, 2), (96, 0)], False),
        ("Rect", {"x": 1, "y": 2, "width": 3, "height": 4}, [(1, 2), (4, 2), (4, 6), (1, 6)], True),
        ("Path", {"d": "M0 0H10V5z"}, [(0, 0), (10, 0), (10, 5)], True),
        ("Path", {"d": "M0 0 L5 0 L5 5 L0 0"}, [(0, 0), (5, 0), (5, 5)], True),
        ("Path", {"d": "M0 0 0 0 5 0 5 0z"}, [(0, 0), (5, 0)], True),
    ],
)  # fmt: skip
def test_straight_shapes_are_their_corners(
    kind: str, attributes: dict[str, str | float], points: list[Coordinate], is_closed: bool
) -> None:
    (found,) = trace_shape(kind, attributes, TOLERANCE)
    assert (list(found.points), found.is_closed) == (approximately(points), is_closed)


def test_each_subpath_is_a_line_of_its_own() -> None:
    found = trace_shape("Path", {"d": "M0 0h9v9z m2 2h5v5z M1 1 L2 2"}, TOLERANCE)
    assert found[1].points == ((2.0, 2.0), (7.0, 2.0), (7.0, 7.0))
    assert [line.is_closed for line in found] == [True, True, False]


@pytest.mark.parametrize(
    ("kind", "attributes", "area"),
    [
        ("Circle", {"cx": "5", "cy": "5", "r": "10"}, math.pi * 100),
        ("Ellipse", {"rx": "10", "ry": "2"}, math.pi * 20),
        ("Rect", {"width": 10, "height": 10, "rx": "2"}, 100 - (4 - math.pi) * 4),
        ("Rect", {"width": 10, "height": 10, "rx": "99", "ry": "1"}, 100 - (4 - math.pi) * 5),
        ("Path", {"d": "M-10 0A10 10 0 0 1 10 0A10 10 0 0 1-10 0z"}, math.pi * 100),
        ("Path", {"d": "M-1 0A.5.5 0 0 1 1 0A1 1 0 0 1-1 0z"}, math.pi),  # radii grown to fit
        ("Path", {"d": "M0 0A0 9 0 0 1 10 0L10 10L0 10z"}, 100),  # a radius of 0 is a line
        ("Path", {"d": "M0 0Q10 0 10 10L0 10z"}, 100 - 50 / 3),
        ("Path", {"d": "M0 0C0 10 10 10 10 0z"}, 60),
    ],
)
def test_round_shapes_have_the_area_that_they_should(
    kind: str, attributes: dict[str, str | float], area: float
) -> None:
    (found,) = trace_shape(kind, attributes, TOLERANCE)
    outline = Polygon(found.points)
    assert outline.area == pytest.approx(area, abs=outline.length * TOLERANCE)


@given(st.floats(0.1, 500), st.floats(0.001, 1))
def test_chords_stay_within_the_tolerance_of_a_circle(radius: float, tolerance: float) -> None:
    (found,) = trace_shape("Circle", {"r": radius}, tolerance)
    ring = LineString([*found.points, found.points[0]])
    middles = [ring.interpolate(ring.length * (n + 0.5) / len(found.points)) for n in range(8)]
    assert all(radius - math.hypot(at.x, at.y) <= tolerance * 1.001 + 1e-9 for at in middles)


COORDINATES = st.tuples(st.integers(-100, 100), st.integers(-100, 100))


@given(st.lists(COORDINATES, min_size=4, max_size=4))
def test_chords_stay_within_the_tolerance_of_a_curve(points: list[Coordinate]) -> None:
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = points
    data = f"M{x0} {y0}C{x1} {y1} {x2} {y2} {x3} {y3}"
    fine = trace_shape("Path", {"d": data}, TOLERANCE / 100)
    coarse = trace_shape("Path", {"d": data}, TOLERANCE)
    if coarse and fine:
        chords = LineString(_closed(coarse[0]))
        off = max(chords.distance(Point(at)) for at in fine[0].points)
        assert off <= TOLERANCE * 1.02


@pytest.mark.parametrize(
    ("flags", "middle"), [("0 1", (0, -10)), ("0 0", (0, -6)), ("1 1", (0, -26)), ("1 0", (0, 10))]
)
def test_the_flags_of_an_arc_choose_one_of_four(flags: str, middle: Coordinate) -> None:
    """From (-6, -8) to (6, -8) there are two circles of radius 10: around y = 0 and y = -16."""
    (found,) = trace_shape("Path", {"d": f"M-6-8A10 10 0 {flags} 6-8"}, TOLERANCE)
    arc = LineString(found.points)
    at = arc.interpolate(0.5, normalized=True)
    assert (at.x, at.y) == pytest.approx(middle, abs=0.05)


def _closed(line: Outline) -> list[Coordinate]:
    return [*line.points, line.points[0]] if line.is_closed else list(line.points)


@pytest.mark.parametrize(
    ("kind", "attributes"),
    [
        ("Rect", {"width": 0, "height": 5}),
        ("Circle", {}),
        ("Polygon", {"points": ""}),
        ("Path", {"d": ""}),
        ("Path", {"d": "M1 1"}),
    ],
)
def test_shapes_that_svg_does_not_render_have_no_lines(
    kind: str, attributes: dict[str, str | float]
) -> None:
    assert trace_shape(kind, attributes, TOLERANCE) == []


@pytest.mark.parametrize(
    ("kind", "attributes", "message"),
    [
        ("Path", {"d": "M0 0 L 5"}, "d is no path at character"),
        ("Path", {"d": "M0 0A5 5 0 2 2 9 9"}, "d is no path at character"),
        ("Path", {"d": "M0 0A1e300 1e300 0 0 1 9 9"}, "a number of d is too large"),
        ("Polygon", {"points": "0,0 2OO,0 9,9"}, "points has 'OO,0 9,9'; expected a number"),
        ("Polyline", {"points": "0,0 9,, 9,9"}, "points has ', 9,9'"),
        ("Polyline", {"points": "0,0 9"}, "points has 3 numbers; expected an even count"),
        ("Polygon", {"points": "1" * 100_000 + "x"}, "points has 'x'"),
        ("Circle", {"r": "1e300"}, "r is too large"),
        ("Circle", {"r": "5", "cx": "50%"}, "cx is '50%'; expected a length"),
    ],
)
def test_broken_geometry_is_an_error(
    kind: str, attributes: dict[str, str | float], message: str
) -> None:
    with pytest.raises(InvalidMarkupError, match=message):
        trace_shape(kind, attributes, TOLERANCE)


@pytest.mark.parametrize(
    ("data", "points"),
    [
        ("M1 2L3 4", [1 + 2j, 3 + 4j]),
        ("m1 2 3 4", [1 + 2j, 4 + 6j]),  # more pairs after a move are lines
        ("M1 2H5V6h-1v-1", [1 + 2j, 5 + 2j, 5 + 6j, 4 + 6j, 4 + 5j]),
        ("M0,0A0 5 0 0 1 9 0", [0, 9 + 0j]),  # an arc without radius is a line
        ("M0 0a0 5 0 0110 0", [0, 10 + 0j]),  # flags need no separator
    ],
)
def test_commands_are_relative_in_lower_case(data: str, points: list[complex]) -> None:
    assert flatten_path(data, 0.1) == [Subpath(points, False)]


def test_closing_returns_to_the_start_and_begins_a_new_subpath() -> None:
    assert flatten_path("M0 0h4v4z l-1 0", 0.1) == [
        Subpath([0j, 4 + 0j, 4 + 4j], True),
        Subpath([0j, -1 + 0j], False),
    ]


def test_a_smaller_tolerance_needs_more_chords_up_to_a_limit() -> None:
    counts = [count_arc_chords(10, 3.14, tolerance) for tolerance in (20, 1, 0.01, 1e-30)]
    assert counts == sorted(counts)
    assert (counts[0], counts[-1]) == (1, outlines.MAX_CHORDS)


def test_a_path_over_the_limit_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlines, "MAX_PATH_CHARS", 5)
    with pytest.raises(DocumentRejectedError, match="d has 6 characters; at most 5 are read"):
        flatten_path("M0 0h1", 0.1)


def test_an_even_odd_area_leaves_out_what_lies_in_two_rings() -> None:
    assert even_odd_area([[(0, 0), (9, 0), (0, 9)]]) == pytest.approx(40.5)
    assert even_odd_area([[(0, 0), (4, 0), (4, 4), (0, 4)]] * 2) == 0
    assert even_odd_area([[(0, 0), (4, 4), (4, 0), (0, 4)]]) == pytest.approx(8)
    assert even_odd_area([]) == even_odd_area([[]]) == 0


def test_an_area_of_many_corners_is_nearly_exact() -> None:
    circle = [(math.cos(n / 500), math.sin(n / 500)) for n in range(3141)]
    assert even_odd_area([circle]) == pytest.approx(math.pi, rel=0.01)
