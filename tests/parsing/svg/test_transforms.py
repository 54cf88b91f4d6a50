"""Transforms of CSS and of SVG: lists, origins, boxes, matrices."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsing.drawing import Coordinate
from parsing.errors import DocumentRejectedError, InvalidMarkupError
from parsing.svg import resolving, transforms
from parsing.svg.transforms import (
    AffineTransform,
    concatenate_transforms,
    css_transform_to_attribute,
    is_css_transform,
    parse_transform,
)
from tests.parsing.parsed_maps import parse_shapes


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
        ("rotateZ(9deg) rotate3d(0, 0, -1, 9deg)", "rotate(9) rotate(-9)"),
        ("translate3d(1px, 2px, 3px) scale3d(2, 3, 4)", "translate(1,2) scale(2,3)"),
        ("matrix3d(1,2,0,0,3,4,0,0,0,0,1,0,5,6,0,1)", "matrix(1,2,3,4,5,6)"),
    ],
)
def test_flat_transforms_become_those_of_the_attribute(css: str, attribute: str) -> None:
    assert css_transform_to_attribute(css) == attribute


def test_transforms_in_three_dimensions_and_in_error_have_no_attribute() -> None:
    in_space = ["rotateX(9deg)", "rotate3d(1, 0, 0, 9deg)", "perspective(9px)"]
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
        ("rotate:z 30deg", "rotate(30)"),
        ("rotate:0 0 1 30deg", "rotate(30)"),
        ("scale:2 3 4", "scale(2,3)"),
        ("translate:3px 4px 5px", "translate(3,4)"),
        ("translate:1em", "translate(16,0)"),
    ],
)
def test_single_transforms_may_name_the_third_axis(declared: str, transform: str) -> None:
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
