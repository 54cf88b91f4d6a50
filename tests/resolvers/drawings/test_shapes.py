"""Any shape as one SVG path, and its box in the coordinates of the map."""

from typing import Any

import pytest

from parsing.svg.outlines import trace_shape
from resolvers.drawings.shapes import (
    PlacedShape,
    build_path,
    build_shape,
    measure_box,
    measure_cost,
)

SHAPES: list[tuple[dict[str, Any], str]] = [
    ({"type": "Polygon", "points": "0,0 10,0 10,5"}, "M0,0 10,0 10,5z"),
    ({"type": "Polyline", "points": " 0 0 10 5 "}, "M0 0 10 5"),
    ({"type": "Line", "x1": "1", "y1": "2", "x2": "3mm"}, "M1 2L11.3385826772 0"),
    ({"type": "Path", "d": "M0 0 h10 v5z"}, "M0 0 h10 v5z"),
    ({"type": "Circle", "cx": "5", "r": "2"}, "M3 0a2 2 0 1 0 4 0a2 2 0 1 0 -4 0z"),
    ({"type": "Ellipse", "rx": "4", "ry": "2"}, "M-4 0a4 2 0 1 0 8 0a4 2 0 1 0 -8 0z"),
    ({"type": "Circle", "r": "0.5"}, "M-0.5 0a0.5 0.5 0 1 0 1 0a0.5 0.5 0 1 0 -1 0z"),
    ({"type": "Rect", "x": 1, "width": 10, "height": 5}, "M1 0h10v5h-10z"),
    (
        {"type": "Rect", "width": 10, "height": 6, "rx": "2"},
        "M2 0h6a2 2 0 0 1 2 2v2a2 2 0 0 1 -2 2h-6a2 2 0 0 1 -2 -2v-2a2 2 0 0 1 2 -2z",
    ),
    (
        {"type": "Rect", "width": 10, "height": 6, "rx": "99", "ry": "1"},
        "M5 0h0a5 1 0 0 1 5 1v4a5 1 0 0 1 -5 1h0a5 1 0 0 1 -5 -1v-4a5 1 0 0 1 5 -1z",
    ),
]


@pytest.mark.parametrize(("attributes", "path"), SHAPES)
def test_each_kind_of_shape_is_a_path(attributes: dict[str, Any], path: str) -> None:
    assert build_path(attributes["type"], attributes) == path


@pytest.mark.parametrize("attributes", [each for each, _ in SHAPES])
def test_the_path_goes_where_the_shape_goes(attributes: dict[str, Any]) -> None:
    kind = attributes["type"]
    path: dict[str, Any] = {"d": build_path(kind, attributes)}
    drawn, expected = measure_box("Path", path), measure_box(kind, attributes)
    assert drawn is not None
    assert drawn == pytest.approx(expected, abs=0.1)
    assert len(trace_shape("Path", path, 0.1)) == len(trace_shape(kind, attributes, 0.1))


@pytest.mark.parametrize(
    "attributes",
    [
        {"type": "Rect", "width": 0, "height": 5},
        {"type": "Circle", "r": "-1"},
        {"type": "Ellipse", "rx": "1"},
        {"type": "Polygon"},
        {"type": "Path", "d": " "},
        {},
    ],
)
def test_a_shape_without_extent_has_neither_path_nor_box(attributes: dict[str, Any]) -> None:
    shape = build_shape(PlacedShape("unit", "101", "2", attributes))
    assert (shape.d, shape.box) == (None, None)


def test_a_type_that_another_version_has_stored_is_null() -> None:
    shape = build_shape(PlacedShape("unit", "101", "2", {"type": "Star", "fill": "red"}))
    assert (shape.type, shape.d, shape.box, shape.fill) == (None, None, None, "red")


def test_the_box_has_the_transform_applied_and_the_path_has_not() -> None:
    attributes = {
        "type": "Rect",
        "width": 4,
        "height": 2,
        "transform": "translate(10 20) rotate(90)",
        "fill": "#eee",
        "stroke-width": 2,
    }
    shape = build_shape(PlacedShape("background", None, None, attributes))
    assert shape.d == "M0 0h4v2h-4z"
    assert shape.transform == "translate(10 20) rotate(90)"
    assert shape.box == pytest.approx((8, 20, 2, 4, 9, 22))
    assert (shape.fill, shape.stroke, shape.stroke_width) == ("#eee", None, "2")


def test_a_path_that_cannot_be_read_has_no_box() -> None:
    """Browsers draw it up to its error."""
    shape = build_shape(
        PlacedShape("background", None, None, {"type": "Path", "d": "M0 0 h10 nonsense"})
    )
    assert (shape.d, shape.box) == ("M0 0 h10 nonsense", None)


def test_long_geometry_costs_more() -> None:
    assert measure_cost({"points": "0,0 1,1"}) == 10
    assert measure_cost({"d": "h1" * 5_000}) == 1_010
