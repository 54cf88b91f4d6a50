"""Pictures are the same on average if the same pixels are painted and their mean agrees."""

from PIL import Image

from tests.fidelity.measuring import is_same_on_average

SIZE = (100, 100)


def stripes(left: str, right: str) -> Image.Image:
    """A white page with two stripes side by side."""
    picture = Image.new("RGB", SIZE, "white")
    picture.paste(left, (20, 20, 50, 80))
    picture.paste(right, (50, 20, 80, 80))
    return picture


def test_a_gradient_in_its_average_color_is_the_same() -> None:
    assert is_same_on_average(stripes("#000", "#808080"), stripes("#404040", "#404040"))


def test_another_color_is_not() -> None:
    assert not is_same_on_average(stripes("#000", "#808080"), stripes("#606060", "#606060"))


def test_another_outline_is_not() -> None:
    assert not is_same_on_average(stripes("#808080", "#fff"), stripes("#bfbfbf", "#bfbfbf"))
