import pytest

from parsing.errors import DocumentRejectedError
from parsing.svg.style import transforms
from parsing.svg.style.transforms import concatenate_transforms, css_transform_to_attribute


@pytest.mark.parametrize(
    ("css", "attribute"),
    [
        ("none", ""),
        ("translate(1px, 2in)", "translate(1, 192)"),
        ("translateY(3px)", "translate(0,3)"),
        ("scaleX(2)", "scale(2,1)"),
        ("rotate(.25turn) skewX(100grad)", "rotate(90) skewX(90)"),
    ],
)
def test_units_and_single_axes_are_converted(css: str, attribute: str) -> None:
    assert css_transform_to_attribute(css) == attribute


def test_transform_lists_are_joined_outer_first() -> None:
    assert concatenate_transforms("scale(2)", "rotate(1)") == "scale(2) rotate(1)"
    assert concatenate_transforms("", "rotate(1)") == "rotate(1)"


def test_overlong_lists_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transforms, "MAX_TRANSFORM_CHARS", 10)
    with pytest.raises(DocumentRejectedError, match="nested transforms are longer than 10"):
        concatenate_transforms("scale(2)", "rotate(1)")
