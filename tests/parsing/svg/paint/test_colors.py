"""Colours of CSS, and gradients as their average colour."""

import pytest

from parsing.svg.paint.colors import Color, is_unknown_paint, mix_colors, parse_color
from parsing.svg.paint.gradients import Stop, average_gradient, parse_offset


@pytest.mark.parametrize(
    ("text", "formatted"),
    [
        ("red", "#ff0000"),
        ("  RebeccaPurple ", "#663399"),
        ("#abcd", "#aabbccdd"),
        ("rgb(255, 128, 0)", "#ff8000"),
        ("rgba(0,0,0,.5)", "#00000080"),
        ("rgb(100% 0% 0% / 50%)", "#ff000080"),
        ("rgb(300, -5, 0)", "#ff0000"),
        ("hsl(120deg, 100%, 25%)", "#008000"),
        ("hsl(120, 100%, 25%)", "#008000"),
        ("hsl(.5turn 100% 50%)", "#00ffff"),
        ("hwb(0 60% 60%)", "#808080"),
        ("transparent", "none"),
        ("lab(54.29 80.8 69.9)", "#ff0000"),
        ("lch(50% 20% 90deg / .5)", "#84764380"),
        ("oklab(50% 20% -30%)", "#754aa5"),
        ("oklch(.9 .4 140)", "#00ff00"),
        ("color(srgb 1 50% none)", "#ff8000"),
        ("color(srgb-linear .5 0 0)", "#bc0000"),
        ("color(display-p3 .5 .2 0)", "#8a2c00"),
        ("oklab(1e999 -1e999 0)", "#00ffff"),
    ],
)
def test_colors_of_css_are_read(text: str, formatted: str) -> None:
    color = parse_color(text)
    assert color is not None and color.format() == formatted


@pytest.mark.parametrize(
    "text",
    ["", "#12", "#12345", "none", "rgb(1,2)", "rgb(a,b,c)", "wood", "color(lab 1 2 3)", "color()"],
)
def test_other_text_is_no_color(text: str) -> None:
    assert parse_color(text) is None


def test_paints_in_error_are_those_that_no_viewer_knows() -> None:
    in_error = ["bogus", "#12345", "-moz-x", "icc-color(x)", "url(#a) bogus", "url('#a') #12345"]
    known = ["canvasText", "rgb(1,2,3)", "color-mix(in lab, red, blue)", "context-fill"]
    references = ["url( '#a' ) none", "url(#a) rgba(1, 2, 3, .4)"]
    assert [*filter(is_unknown_paint, [*in_error, *known, *references])] == in_error


def test_a_translucent_color_counts_less_in_a_mixture() -> None:
    mixed = mix_colors([(Color(1, 0, 0), 1), (Color(0, 0, 1, 0.5), 2)])
    assert mixed[:3] == (0.5, 0, 0.5)
    assert mixed.alpha == pytest.approx(2 / 3)


def test_a_color_over_another_hides_it_by_its_opacity() -> None:
    assert Color(1, 1, 1, 0.5).lay_over(Color(0, 0, 0)) == (0.5, 0.5, 0.5, 1)
    assert Color(1, 1, 1, 0.5).lay_over(Color(0, 0, 0, 0)) == (1, 1, 1, 0.5)


BLACK, WHITE = Color(0, 0, 0), Color(1, 1, 1)


def linear(*stops: tuple[float, Color], **ends: str) -> str:
    color = average_gradient(False, ends, [Stop(*stop) for stop in stops])
    assert color is not None
    return color.format()


def test_a_gradient_becomes_the_mean_of_its_colors() -> None:
    assert linear((0, BLACK), (1, WHITE)) == "#808080"


def test_colors_count_by_the_way_between_their_stops() -> None:
    assert linear((0, BLACK), (0.5, BLACK), (0.5, WHITE), (1, WHITE)) == "#808080"
    assert linear((0, BLACK), (0.8, BLACK), (0.8, WHITE)) == "#333333"  # a fifth is white


def test_stops_out_of_order_move_to_the_one_before() -> None:
    assert linear((0.5, BLACK), (0.2, WHITE)) == linear((0.5, BLACK), (0.5, WHITE))


def test_the_outside_of_a_radial_gradient_counts_more() -> None:
    color = average_gradient(True, {}, [Stop(0, WHITE), Stop(1, BLACK)])
    assert color is not None and color.red == pytest.approx(1 / 3)  # a cone has a third


def test_a_gradient_of_one_color_is_that_color() -> None:
    assert linear((0.3, Color(0, 0, 1, 0.5))) == "#0000ff80"


def test_colors_between_stops_are_not_weighed_by_their_opacity_before_they_are_mixed() -> None:
    # SVG interpolates colour and opacity by themselves: half way it is purple, half opaque.
    assert linear((0, Color(1, 0, 0)), (1, Color(0, 0, 1, 0))) == "#aa005580"


def test_a_gradient_without_length_paints_its_last_stop() -> None:
    assert linear((0, BLACK), (1, WHITE), x1="5", x2="5", y1="1", y2="1") == "#ffffff"
    assert average_gradient(True, {"r": "0"}, [Stop(0, BLACK), Stop(1, WHITE)]) == WHITE


def test_a_gradient_without_stops_paints_nothing() -> None:
    assert average_gradient(False, {}, []) is None


def test_offsets_are_numbers_and_percentages_from_0_to_1() -> None:
    assert [parse_offset(text) for text in ("25%", ".5", "-1", "7", "x")] == [0.25, 0.5, 0, 1, 0]
