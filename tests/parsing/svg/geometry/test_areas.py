import math

import pytest

from parsing.svg.geometry.areas import even_odd_area


def test_an_even_odd_area_leaves_out_what_lies_in_two_rings() -> None:
    assert even_odd_area([[(0, 0), (9, 0), (0, 9)]]) == pytest.approx(40.5)
    assert even_odd_area([[(0, 0), (4, 0), (4, 4), (0, 4)]] * 2) == 0
    assert even_odd_area([[(0, 0), (4, 4), (4, 0), (0, 4)]]) == pytest.approx(8)
    assert even_odd_area([]) == even_odd_area([[]]) == 0


def test_an_area_of_many_corners_is_nearly_exact() -> None:
    circle = [(math.cos(n / 500), math.sin(n / 500)) for n in range(3141)]
    assert even_odd_area([circle]) == pytest.approx(math.pi, rel=0.01)
