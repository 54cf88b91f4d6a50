import pytest

from parsing.drawing import AreaGeometry, LinesGeometry, PointGeometry
from parsing.errors import InvalidPlanError
from parsing.geo.ground import project_to_feet

WEST, SOUTH = 10.0, 56.0
SQUARE = (
    (WEST, SOUTH),
    (WEST + 0.001, SOUTH),
    (WEST + 0.001, SOUTH + 0.001),
    (WEST, SOUTH + 0.001),
)


def test_the_origin_is_the_north_west_corner_and_y_grows_to_the_south() -> None:
    (area,) = project_to_feet([AreaGeometry((SQUARE,))], ["way/1"])
    assert isinstance(area, AreaGeometry)
    xs, ys = zip(*area.rings[0], strict=True)
    assert (min(xs), min(ys)) == (0, 0)
    assert max(xs) == pytest.approx(204.7, abs=0.5)  # 62.4 m of longitude at 56 degrees north
    assert max(ys) == pytest.approx(365.3, abs=0.5)  # 111.3 m of latitude


@pytest.mark.parametrize("ring", [SQUARE[::-1], SQUARE[2:] + SQUARE[:2]])
def test_direction_and_start_of_a_ring_do_not_matter(ring: tuple[tuple[float, float], ...]) -> None:
    canonical = project_to_feet([AreaGeometry((SQUARE,))], ["way/1"])
    assert project_to_feet([AreaGeometry((ring,))], ["way/1"]) == canonical


def test_a_closed_line_is_canonical_too_and_an_open_one_keeps_its_direction() -> None:
    closed = LinesGeometry(((*SQUARE, SQUARE[0]),))
    turned = LinesGeometry(((*SQUARE[2:], *SQUARE[:3]),))
    assert project_to_feet([closed], ["a"]) == project_to_feet([turned], ["a"])
    line = LinesGeometry((SQUARE[:2],))
    back = LinesGeometry((SQUARE[1::-1],))
    assert project_to_feet([line], ["a"]) != project_to_feet([back], ["a"])


def test_a_feature_miles_away_is_an_error_that_names_it() -> None:
    shapes = [*(PointGeometry(point) for point in SQUARE), PointGeometry((56.0, 10.0))]
    with pytest.raises(InvalidPlanError, match=r"^far is .* miles away from the rest"):
        project_to_feet(shapes, ["a", "b", "c", "d", "far"])
