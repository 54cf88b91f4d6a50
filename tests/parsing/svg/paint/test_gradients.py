import pytest

from parsing.svg.paint.colors import Color
from parsing.svg.paint.gradients import Stop, average_gradient, parse_offset

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
