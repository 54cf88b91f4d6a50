"""Shapes in nested viewports."""

import pytest

from parsing.svg.geometry import clipping
from parsing.svg.geometry.areas import signed_area
from parsing.svg.geometry.clipping import ClipBox, clip_line, clip_ring
from tests.cpu_cost import measure_cost
from tests.parsing.tree import parse_shapes

BOX = ClipBox(0, 0, 10, 10)


def clipped(shape: str, attributes: str = "") -> list[dict[str, object]]:
    return parse_shapes(f'<svg width="10" height="10" {attributes}>{shape}</svg>')


def test_a_shape_inside_keeps_its_text() -> None:
    assert clipped('<path d="m 1,1 h 9 v 9"/>') == [{"d": "m 1,1 h 9 v 9", "type": "Path"}]


def test_a_shape_outside_is_left_out() -> None:
    assert clipped('<rect x="10" width="5" height="5"/>') == []


def test_a_shape_that_reaches_over_the_edge_is_cut() -> None:
    assert clipped('<rect x="5" y="2" width="9" height="3" fill="red"/>') == [
        {"d": "M5 2L10 2L10 5L5 5Z", "fill": "red", "type": "Path"}
    ]


def test_the_stroke_is_cut_by_itself() -> None:
    shape = '<rect x="5" y="2" width="9" height="3" stroke="blue" stroke-width="1"/>'
    fill, stroke = clipped(shape)
    assert "stroke" not in fill
    assert stroke == {
        "d": "M5 2L10 2M10 5L5 5L5 2",
        "stroke": "blue",
        "stroke-width": "1",
        "fill": "none",
        "stroke-linecap": "butt",
        "type": "Path",
    }


def test_a_stroke_that_reaches_over_the_edge_counts() -> None:
    assert len(clipped('<rect width="10" height="10" stroke="red"/>')) == 2
    assert len(clipped('<rect width="10" height="10"/>')) == 1


def test_overflow_visible_cuts_nothing() -> None:
    for attributes in ('overflow="visible"', 'style="overflow:auto"'):
        (shape,) = clipped('<rect x="5" width="9" height="3"/>', attributes)
        assert shape["type"] == "Rect"


def test_transforms_between_the_viewport_and_the_shape_count() -> None:
    (shape,) = clipped('<g transform="translate(5 0)"><rect width="9" height="9"/></g>')
    assert shape == {"d": "M0 0L5 0L5 9L0 9Z", "transform": "translate(5 0)", "type": "Path"}


def test_symbols_and_viewports_in_viewports_cut_too() -> None:
    symbol = '<symbol id="s"><rect width="90" height="90"/></symbol>'
    (shape,) = parse_shapes(
        f'<svg width="20" height="5">{symbol}<use href="#s" width="10" height="10"/></svg>'
    )
    assert shape["d"] == "M0 5L0 0L10 0L10 5Z"


def test_a_viewport_without_size_shows_nothing() -> None:
    assert parse_shapes('<svg width="0" height="10"><rect width="5" height="5"/></svg>') == []


def test_units_stay_whole_so_that_the_drawing_and_the_plan_agree() -> None:
    unit = '<g data-type="UnitLayer"><rect id="101" width="90" height="90"/></g>'
    (shape,) = clipped(unit)
    assert shape["shape"] == {"width": 90, "height": 90, "type": "Rect"}


def test_after_many_characters_shapes_stay_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clipping, "MAX_TRACED", 70)
    first, second, third = clipped('<path d="M5 5h9v9z"/>' * 3)
    assert first["d"] == second["d"] != third["d"] == "M5 5h9v9z"


def test_the_cost_of_many_curves_is_bounded() -> None:
    curves = "C1e9 0 0 1e9 5 5" * 100_000
    paths = f'<path d="M5 5{curves}"/>' + f'<path d="M5 5{curves[:4000]}"/>' * 1_000
    assert measure_cost(lambda: clipped(paths)) < 500


def test_cut_rings_and_lines_keep_what_is_inside() -> None:
    diamond = [(5, -5), (15, 5), (5, 15), (-5, 5)]
    assert abs(signed_area(clip_ring(diamond, BOX))) == 100
    assert list(clip_line([(-5, 5), (5, 5), (5, 15), (7, 15), (7, 5)], BOX)) == [
        [(0, 5), (5, 5), (5, 10)],
        [(7, 10), (7, 5)],
    ]
