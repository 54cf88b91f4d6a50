"""The size of the canvas, and viewports in it, which cut what reaches over their edges."""

import pytest

from parsing.errors import InvalidMarkupError
from parsing.svg import viewports
from parsing.svg.outlines import signed_area
from parsing.svg.viewports import ClipBox, clip_line, clip_ring
from tests.parsing.parsed_maps import parse_drawing, parse_shapes


@pytest.mark.parametrize(
    ("root", "size"),
    [
        ('viewBox="0,0,640,480" width="10" height="10"', (640, 480)),
        ('viewBox=" 0\t0 , 640.4  479.5 "', (640, 480)),
        ('width="210mm" height="297mm"', (794, 1123)),
        ('width="72pt" height="6PC"', (96, 96)),
        ('width="10em" height="10ex"', (160, 80)),
        # What gives no size has the one CSS gives such images.
        ("", (300, 150)),
        ('width="50%" height="640"', (150, 640)),
        ('width="wide" height="-4"', (300, 150)),
        # A viewBox in error counts as none.
        ('viewBox="0 0 640" width="10" height="20"', (10, 20)),
        ('viewBox="0 0 0 480" width="10" height="20"', (10, 20)),
        ('viewBox="0 0 -1 480" width="10" height="20"', (10, 20)),
        ('viewBox="0 0 nan inf" width="10" height="20"', (10, 20)),
        ('viewBox="0 0 .1 .1"', (1, 1)),
    ],
)
def test_width_and_height_are_whole_user_units(root: str, size: tuple[int, int]) -> None:
    parsed = parse_drawing("", root)
    assert (parsed["width"], parsed["height"]) == size
    assert type(parsed["width"]) is int


def test_an_origin_elsewhere_is_moved_to_the_corner() -> None:
    parsed = parse_drawing('<path/><path transform="scale(2)"/>', 'viewBox="-10 20.5 30 40"')
    assert [shape["transform"] for shape in parsed["elements"]] == [
        "translate(10 -20.5)",
        "translate(10 -20.5) scale(2)",
    ]


@pytest.mark.parametrize(
    "root",
    ['viewBox="0 0 1e300 1"', 'width="1e999"', 'viewBox="-1e99 0 1 1"', 'height="9999999999"'],
)
def test_gigantic_sizes_are_errors(root: str) -> None:
    with pytest.raises(InvalidMarkupError, match="too large a number; at most 2,147,483,647"):
        parse_drawing("", root)


def test_nothing_is_drawn_in_an_inner_view_box_without_area() -> None:
    content = '<rect width="9" height="9"/>'
    frame = '<svg width="80" height="50" overflow="visible" viewBox="0 0 {} 40">{}</svg>'
    assert parse_shapes(frame.format("0", content)) == []
    assert len(parse_shapes(frame.format("-1", content))) == 1


@pytest.mark.parametrize(
    ("attributes", "transform"),
    [
        ('x="10%" y="10%"', "translate(20 10)"),
        ('width="20" height="10" viewBox="0 0 2 1"', "scale(10 10)"),
        (
            'width="40" height="10" viewBox="0 0 1 1" preserveAspectRatio="xMaxYMin"',
            "translate(30 0) scale(10 10)",
        ),
        (
            'width="40" height="10" viewBox="0 0 1 1" preserveAspectRatio="xMinYMax slice"',
            "translate(0 -30) scale(40 40)",
        ),
        ('width="40" height="10" viewBox="0 0 1 1" preserveAspectRatio="none"', "scale(40 10)"),
        ('viewBox="5 6 200 100"', "translate(-5 -6)"),
    ],
)
def test_an_inner_svg_places_its_content(attributes: str, transform: str) -> None:
    (shape,) = parse_shapes(f"<svg {attributes}><path/></svg>")
    assert shape["transform"] == transform


def test_percentages_in_an_inner_svg_become_user_units() -> None:
    circle, rect = parse_shapes(
        '<svg viewBox="0 0 30 40" overflow="visible">'
        '<circle cx="50%" cy="25%" r="100%"/><rect width="10%"/></svg>'
    )
    assert (circle["cx"], circle["cy"], circle["r"]) == ("15", "10", "35.3553390593")
    assert rect["width"] == 3


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
    assert ClipBox(5, 0, 5, 9).is_empty and ClipBox(0, 5, 9, 5).is_empty and not BOX.is_empty


def test_units_stay_whole_so_that_the_drawing_and_the_plan_agree() -> None:
    unit = '<g data-type="UnitLayer"><rect id="101" width="90" height="90"/></g>'
    (shape,) = clipped(unit)
    assert shape["shape"] == {"width": 90, "height": 90, "type": "Rect"}


def test_after_many_characters_shapes_stay_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewports, "MAX_TRACED", 70)
    first, second, third = clipped('<path d="M5 5h9v9z"/>' * 3)
    assert first["d"] == second["d"] != third["d"] == "M5 5h9v9z"


def test_cut_rings_and_lines_keep_what_is_inside() -> None:
    diamond = [(5, -5), (15, 5), (5, 15), (-5, 5)]
    assert abs(signed_area(clip_ring(diamond, BOX))) == 100
    assert list(clip_line([(-5, 5), (5, 5), (5, 15), (7, 15), (7, 5)], BOX)) == [
        [(0, 5), (5, 5), (5, 10)],
        [(7, 10), (7, 5)],
    ]
