import pytest

from parsing.svg.geometry.lengths import Viewport, parse_length
from parsing.svg.style.fonts import MAX_SIZE, FontSizes

ROOT = FontSizes(size=20, viewport=Viewport(400, 200)).as_root()


@pytest.mark.parametrize(
    ("controls", "size"),
    [
        ({"font-size": "32"}, 32),
        ({"font-size": "2em"}, 40),
        ({"font-size": "50%"}, 10),
        ({"font-size": "x-large"}, 24),
        ({"font-size": "larger"}, 24),
        ({"font": "italic bold 12pt/2 Arial, serif"}, 16),
        ({"font": "small serif"}, 13),
        ({"font-size": "-3px"}, 20),
        ({"font-size": "big"}, 20),
        ({"font-size": "1e9px"}, MAX_SIZE),
    ],
)
def test_font_sizes_are_computed(controls: dict[str, str], size: float) -> None:
    assert ROOT.enter(controls).size == pytest.approx(size)


@pytest.mark.parametrize(
    ("text", "px"),
    [
        ("2em", 20),
        ("2rem", 40),
        ("1ex", 5),
        ("1ch", 5),
        ("1ic", 10),
        ("10vw", 40),
        ("10vh", 20),
        ("10vmin", 20),
        ("10vmax", 40),
        ("1lh", 30),
        ("1rlh", 24),
        ("1cm", 96 / 2.54),
    ],
)
def test_relative_lengths_follow_the_font_and_the_viewport(text: str, px: float) -> None:
    font = ROOT.enter({"font": "10px/3 x"})
    assert parse_length(text, 0, font.px_per_unit) == pytest.approx(px)
