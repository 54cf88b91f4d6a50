import pytest

from parsing.errors import DocumentRejectedError
from parsing.svg.style import transforms
from parsing.svg.style.transforms import (
    concatenate_transforms,
    css_transform_to_attribute,
    is_css_transform,
)


@pytest.mark.parametrize(
    ("css", "attribute"),
    [
        ("none", ""),
        ("translate(1px, 2in)", "translate(1,192)"),
        ("translateY(3px)", "translate(0,3)"),
        ("scaleX(2)", "scale(2,1)"),
        ("rotate(.25turn) skewX(100grad)", "rotate(90) skewX(90)"),
        ("TRANSLATE(1PX)scale(50%)", "translate(1,0) scale(0.5)"),
        ("translate(10%, 1em)", "translate(30,16)"),  # of a canvas of 300 x 150
        ("rotate(0) translate(0, 0)", "rotate(0) translate(0,0)"),
        ("skew(45deg)", "skewX(45)"),
        ("skew(0deg, 45deg)", "matrix(1,1,0,1,0,0)"),
        ("rotateZ(9deg) rotate3d(0, 0, -1, 9deg)", "rotate(9) rotate(-9)"),
        ("translate3d(1px, 2px, 3px) scale3d(2, 3, 4)", "translate(1,2) scale(2,3)"),
        ("matrix3d(1,2,0,0,3,4,0,0,0,0,1,0,5,6,0,1)", "matrix(1,2,3,4,5,6)"),
    ],
)
def test_flat_transforms_become_those_of_the_attribute(css: str, attribute: str) -> None:
    assert css_transform_to_attribute(css) == attribute


@pytest.mark.parametrize(
    "css",
    [
        "rotateX(9deg)",
        "rotate3d(1, 0, 0, 9deg)",
        "perspective(9px)",
        "matrix3d(1,0,0,0,0,1,0,0,0,0,1,.1,0,0,0,1)",
    ],
)
def test_a_transform_in_three_dimensions_has_no_attribute(css: str) -> None:
    assert is_css_transform(css)
    assert css_transform_to_attribute(css) is None


@pytest.mark.parametrize(
    "css",
    [
        "",
        "rotate(30)",
        "rotate(9deg, 1, 1)",
        "translate(30, 10)",
        "translate(30px 10px)",
        "translate(1px,)",
        "scale(2)x",
        "scale(2), scale(3)",
        "matrix(1 0 0 1 2 3)",
        "turn(2)",
    ],
)
def test_a_transform_in_error_is_none(css: str) -> None:
    assert not is_css_transform(css)
    assert css_transform_to_attribute(css) is None


def test_transform_lists_are_joined_outer_first() -> None:
    assert concatenate_transforms("scale(2)", "rotate(1)") == "scale(2) rotate(1)"
    assert concatenate_transforms("", "rotate(1)") == "rotate(1)"


def test_overlong_lists_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transforms, "MAX_TRANSFORM_CHARS", 10)
    with pytest.raises(DocumentRejectedError, match="nested transforms are longer than 10"):
        concatenate_transforms("scale(2)", "rotate(1)")
