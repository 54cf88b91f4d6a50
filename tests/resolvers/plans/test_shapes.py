"""Drawn geometry as shapes in feet."""

import pytest
import shapely

from parsing.drawing import AreaGeometry, Coordinates
from resolvers.plans import shapes
from resolvers.plans.shapes import ShapeIndex, TooManyRingsError, label_point, to_shape


def square(size: float, *, clockwise: bool = False) -> Coordinates:
    corners = ((0.0, 0.0), (size, 0.0), (size, size), (0.0, size))
    return corners[::-1] if clockwise else corners


def test_shapes_are_scaled_to_feet() -> None:
    assert to_shape(AreaGeometry((square(2),)), feet_per_unit=3).area == 36


def test_rings_are_filled_by_their_rule() -> None:
    inner = tuple((x + 1, y + 1) for x, y in square(1))
    assert to_shape(AreaGeometry((square(3), inner), nonzero=True), 1).area == 9
    assert to_shape(AreaGeometry((square(3), inner), nonzero=False), 1).area == 8
    opposite = inner[::-1]
    assert to_shape(AreaGeometry((square(3), opposite), nonzero=True), 1).area == 8


def test_rings_that_would_take_too_long_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    star = tuple(((0.0, 0.0), (9.0, float(n)), (9.0, n + 0.5)) for n in range(101))
    with pytest.raises(TooManyRingsError, match="101 corners meet in one point"):
        to_shape(AreaGeometry(star), 1)
    assert to_shape(AreaGeometry(star[:100]), 1).area == pytest.approx(225)
    monkeypatch.setattr(shapes, "MAX_FACE_CORNERS", 5)
    with pytest.raises(TooManyRingsError, match="2 rings enclose 2 faces"):
        to_shape(AreaGeometry(star[:2]), 1)


def test_a_label_stands_inside_even_where_the_centroid_does_not() -> None:
    bent = shapely.Polygon([(0, 0), (9, 0), (9, 1), (1, 1), (1, 9), (0, 9)])
    assert not bent.contains(bent.centroid)
    assert bent.contains(label_point(bent))


def test_an_index_measures_to_the_nearest_shape_and_subtracts_overlaps() -> None:
    index = ShapeIndex([shapely.box(0, 0, 1, 1), shapely.box(10, 0, 11, 1)])
    assert index.distance_to(shapely.Point(8, 0)) == 2
    assert index.subtract_from(shapely.box(0, 0, 2, 1)).area == 1
    assert ShapeIndex([]).distance_to(shapely.Point(0, 0)) == float("inf")
