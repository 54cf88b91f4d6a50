"""Lengths, transforms, viewports and outlines: where the parts of a drawing are on its map."""

import math
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapely import LineString, Point, Polygon

from parsing.drawing import Coordinate
from parsing.errors import DocumentRejectedError, InvalidMarkupError
from parsing.svg import lengths, outlines, resolving, transforms, viewports
from parsing.svg.lengths import (
    LengthCache,
    Viewport,
    format_number,
    int_if_whole,
    parse_length,
    parse_opacity,
    parse_user_units,
    shift_dashes,
    split_dashes,
)
from parsing.svg.outlines import (
    Outline,
    Subpath,
    count_arc_chords,
    flatten_path,
    signed_area,
    trace_shape,
)
from parsing.svg.transforms import (
    AffineTransform,
    concatenate_transforms,
    css_transform_to_attribute,
    is_css_transform,
    parse_transform,
)
from parsing.svg.viewports import ClipBox, clip_line, clip_ring
from tests.parsing.parsed_maps import parse_drawing, parse_shapes


@pytest.mark.parametrize(
    ("text", "px"),
    [
        ("12", 12), (" 1.5px ", 1.5), ("1in", 96), ("72pt", 96), ("25.4MM", 96),
        ("50%", 100), ("2em", None), ("", None), ("auto", None), ("1 2", None), ("3furlongs", None),
    ],
)  # fmt: skip
def test_lengths_are_in_px(text: str, px: float | None) -> None:
    assert parse_length(text, hundred_percent=200) == (None if px is None else pytest.approx(px))


@pytest.mark.parametrize(("name", "value"), [("width", 30), ("cy", 40), ("r", 35.355339)])
def test_percentages_refer_to_width_height_or_diagonal(name: str, value: float) -> None:
    assert Viewport(30, 40).hundred_percent(name) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "opacity"), [(".5", 0.5), ("50%", 0.5), ("7", 1), ("-1", 0), ("x", 1)]
)
def test_opacity_is_clamped(text: str, opacity: float) -> None:
    assert parse_opacity(text) == opacity


def test_whole_numbers_become_integers() -> None:
    assert repr([int_if_whole(10.0), int_if_whole(0.5)]) == "[10, 0.5]"
    assert parse_user_units("50%", 30, "x", 100) == 15
    assert format_number(1 / 3) == "0.333333333333"


def test_a_length_over_the_limit_is_an_error_that_names_it() -> None:
    with pytest.raises(InvalidMarkupError, match="x is too large a number; at most 100 is read"):
        parse_user_units("101", 0, "x", 100)
    with pytest.raises(DocumentRejectedError):
        parse_length("1" * 101, 0)


def test_the_cache_leaves_percentages_open_and_stays_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lengths, "MAX_CACHED_LENGTHS", 2)
    cache = LengthCache(1_000)
    assert [cache["1in"], cache["10%"], cache["x"]] == [96, None, None]
    assert len(cache) == 1


@pytest.mark.parametrize(
    ("dashes", "offset", "shifted"),
    [
        ([10, 20], 0, "10 20 0 0"),
        ([10, 20], 4, "6 20 4 0"),
        ([10, 20], 14, "0 16 10 4"),
        ([10, 20], 34, "6 20 4 0"),
        ([10, 20], -10, "0 10 10 10"),
        ([5], 2, "3 5 2 0"),
        ([0, 5], 2, "0 3 0 2"),
        ([0, 0], 2, "none"),
        ([-1, 5], 2, "none"),
    ],
)
def test_dashes_begin_within_the_pattern(dashes: list[float], offset: float, shifted: str) -> None:
    assert shift_dashes(dashes, offset) == shifted


def test_lists_of_dashes_have_commas_or_spaces() -> None:
    assert split_dashes(" 1, 2 3px") == ["1", "2", "3px"]
    assert split_dashes("none") == []
    assert [len(split_dashes("1 " * number)) for number in (1_000, 1_001)] == [1_000, 0]


def test_an_offset_is_part_of_the_dashes() -> None:
    dashed = '<path stroke-dasharray="1em 20" stroke-dashoffset="4" font-size="10"/>'
    (shape,) = parse_shapes(dashed)
    assert shape == {"stroke-dasharray": "6 20 4 0", "type": "Path"}


@pytest.mark.parametrize(
    ("css", "attribute"),
    [
        ("none", ""),
        ("translate(1px, 2in)", "translate(1,192)"),
        ("scaleX(2)", "scale(2,1)"),
        ("rotate(.25turn) skewX(100grad)", "rotate(90) skewX(90)"),
        ("TRANSLATE(1PX)scale(50%)", "translate(1,0) scale(0.5)"),
        ("translate(10%, 1em)", "translate(30,16)"),  # of a canvas of 300 x 150
        ("skew(45deg)", "skewX(45)"),
        ("skew(0deg, 45deg)", "matrix(1,1,0,1,0,0)"),
    ],
)
def test_flat_transforms_become_those_of_the_attribute(css: str, attribute: str) -> None:
    assert css_transform_to_attribute(css) == attribute


def test_transforms_in_three_dimensions_and_in_error_have_no_attribute() -> None:
    in_space = ["rotateX(9deg)", "rotate3d(1, 0, 0, 9deg)", "perspective(9px)", "scaleZ(2)"]
    in_space += ["matrix3d(1,0,0,0,0,1,0,0,0,0,1,.1,0,0,0,1)"]
    in_error = ["", "rotate(30)", "rotate(9deg, 1, 1)", "translate(30, 10)", "translate(1px,)"]
    in_error += ["scale(2), scale(3)", "matrix(1 0 0 1 2 3)"]
    assert [*filter(is_css_transform, in_space + in_error)] == in_space
    assert {*map(css_transform_to_attribute, in_space + in_error)} == {None}


def test_transform_lists_are_joined_outer_first() -> None:
    assert concatenate_transforms("scale(2)", "rotate(1)") == "scale(2) rotate(1)"
    assert concatenate_transforms("", "rotate(1)") == "rotate(1)"


def test_overlong_lists_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transforms, "MAX_TRANSFORM_CHARS", 10)
    with pytest.raises(DocumentRejectedError, match="nested transforms are longer than 10"):
        concatenate_transforms("scale(2)", "rotate(1)")


@pytest.mark.parametrize(
    ("origin", "x", "y"),
    [
        ("center", 100, 50),
        ("left top", 0, 0),
        ("top right", 200, 0),
        ("25% 10px", 50, 10),
        ("1in", 96, 50),
    ],
)
def test_a_transform_turns_around_its_origin(origin: str, x: int, y: int) -> None:
    (shape,) = parse_shapes(f'<path transform="rotate(9)" transform-origin="{origin}"/>')
    around = f"translate({x} {y}) rotate(9) translate({-x} {-y})" if x or y else "rotate(9)"
    assert shape["transform"] == around


def test_the_origin_may_lie_in_the_shapes_own_box() -> None:
    (shape,) = parse_shapes(
        '<rect x="10" y="20" width="40" height="60" transform="scale(2)"'
        ' style="transform-box:fill-box;transform-origin:center"/>'
    )
    assert shape["transform"] == "translate(30 50) scale(2) translate(-30 -50)"


def test_single_transforms_come_before_the_list() -> None:
    style = "scale:50%;rotate:.25turn;translate:3px 4px;transform:skewX(1deg)"
    (shape,) = parse_shapes(f'<path style="{style}"/>')
    assert shape["transform"] == "translate(3,4) rotate(90) scale(0.5) skewX(1)"


@pytest.mark.parametrize(
    ("declared", "transform"),
    [
        ("rotate:30deg", "rotate(30)"),
        ("scale:2 3", "scale(2,3)"),
        ("translate:1em", "translate(16,0)"),
    ],
)
def test_single_transforms_become_those_of_the_attribute(declared: str, transform: str) -> None:
    (shape,) = parse_shapes(f'<path style="{declared}"/>')
    assert shape["transform"] == transform


@pytest.mark.parametrize(
    "declared",
    [
        "rotate:50%",
        "rotate:var(--no,)",
        "rotate:x 30deg",
        "translate:5",
        "scale:1 2 3 4",
        "rotate:none",
    ],
)
def test_single_transforms_in_error_or_space_do_nothing(declared: str) -> None:
    assert parse_shapes(f'<path style="{declared}"/>') == [{"type": "Path"}]


def test_copies_are_traced_once_and_a_document_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    traced: list[object] = []

    def trace(*shape: object) -> list[object]:
        traced.append(shape)
        return []

    monkeypatch.setattr(resolving, "trace_shape", trace)
    style = "transform-box:fill-box;transform-origin:center;rotate:5deg"
    path = f'<path id="a" d="M0 0{"a1 1 0 0 0 1 1" * 9}" style="{style}"/>'
    parse_shapes(path + '<use href="#a"/>' * 20)
    assert len(traced) == 1
    monkeypatch.setattr(resolving, "MAX_TRACED", 200)
    parse_shapes("".join(path.replace("M0", f"M{number}") for number in range(20)))
    assert len(traced) == 2


NUMBERS = st.floats(-100, 100)
MATRICES = st.builds(AffineTransform, *[NUMBERS] * 6)


@pytest.mark.parametrize(
    ("transform", "at"),
    [
        ("", (3, 4)),
        ("translate(10)", (13, 4)),
        ("scale(2)", (6, 8)),
        ("scale(2 -1)", (6, -4)),
        ("rotate(90)", (-4, 3)),
        ("rotate(180, 3, 5)", (3, 6)),
        ("skewX(45)", (7, 4)),
        ("skewY(45)", (3, 7)),
        ("matrix(1 2 3 4 5 6)", (20, 28)),
        ("translate(10,20) scale(2)", (16, 28)),  # what stands last is done first
        ("scale(2), translate(10,20)", (26, 48)),
        ("translate(.5-1)", (3.5, 3)),
    ],
)
def test_a_transform_takes_a_point_where_svg_says(transform: str, at: Coordinate) -> None:
    assert parse_transform(transform).apply((3, 4)) == pytest.approx(at)


@pytest.mark.parametrize(
    "transform", ["translate", "translate()", "rotate(1 2)", "spin(3)", "scale(1) junk", "scale(a)"]
)
def test_an_invalid_transform_is_an_error_that_lists_the_functions(transform: str) -> None:
    with pytest.raises(InvalidMarkupError, match=r"expected a list of matrix, translate"):
        parse_transform(transform)


@pytest.mark.parametrize("transform", ["scale(1e8) scale(1e8)", "rotate(1e999)", "scale(-1e12)"])
def test_a_gigantic_transform_is_an_error(transform: str) -> None:
    with pytest.raises(InvalidMarkupError, match="too large a number"):
        parse_transform(transform)


@given(MATRICES, MATRICES, st.tuples(NUMBERS, NUMBERS))
def test_a_product_does_the_inner_one_first(
    outer: AffineTransform, inner: AffineTransform, point: Coordinate
) -> None:
    both = outer.multiply(inner).apply(point)
    assert both == pytest.approx(outer.apply(inner.apply(point)), rel=1e-6, abs=1e-3)


@given(MATRICES, st.floats(0, 2 * math.pi))
def test_no_length_grows_by_more_than_the_stretch(matrix: AffineTransform, angle: float) -> None:
    origin = matrix.apply((0, 0))
    moved = matrix.apply((math.cos(angle), math.sin(angle)))
    assert math.dist(origin, moved) <= matrix.max_scale * (1 + 1e-6) + 1e-9


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
