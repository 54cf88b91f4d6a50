import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsing.drawing import Coordinate
from parsing.errors import InvalidMarkupError
from parsing.svg.geometry.matrices import AffineTransform, parse_transform

NUMBERS = st.floats(-100, 100)
MATRICES = st.builds(AffineTransform, *[NUMBERS] * 6)


@pytest.mark.parametrize(
    ("transform", "at"),
    [
        ("", (3, 4)),
        ("translate(10)", (13, 4)),
        ("translate(10,20)", (13, 24)),
        ("scale(2)", (6, 8)),
        ("scale(2 -1)", (6, -4)),
        ("rotate(90)", (-4, 3)),
        ("rotate(180, 3, 5)", (3, 6)),
        ("skewX(45)", (7, 4)),
        ("skewY(45)", (3, 7)),
        ("matrix(1 2 3 4 5 6)", (20, 28)),
        ("translate(10,20) scale(2)", (16, 28)),  # what stands last is done first
        ("scale(2), translate(10,20)", (26, 48)),
        ("rotate(1e1)rotate(-10)", (3, 4)),
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
