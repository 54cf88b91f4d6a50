import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsing.drawing import FEET_PER_METRE, Coordinate
from parsing.geo.projection import bounding_box_centre, local_projection, local_unprojection

# Two places and the metres between them along the ellipsoid, from GeographicLib 2.1
# (Karney 2013, Algorithms for geodesics).
GEODESICS = [
    ((5.7214952, 45.1829216), (5.7257116, 45.1848273), 393.2825),  # a shopping centre
    ((10.0, 56.15), (10.001, 56.1495), 83.4397),
    ((-122.6859, 45.5272), (-122.60, 45.5), 7361.5199),
    ((103.85, 1.29), (103.86, 1.35), 6727.1861),  # near the equator
    ((15.6, 78.22), (15.7, 78.25), 4050.1519),  # near the pole
    ((179.9995, -16.8), (-179.9995, -16.801), 153.6565),  # across the 180th meridian
]


@pytest.mark.parametrize(("one", "other", "metres"), GEODESICS)
def test_distances_are_those_on_the_ellipsoid_within_a_millionth(
    one: Coordinate, other: Coordinate, metres: float
) -> None:
    project = local_projection(bounding_box_centre([one, other]))
    assert math.dist(project(one), project(other)) == pytest.approx(
        metres * FEET_PER_METRE, rel=1e-6
    )


@pytest.mark.parametrize(("one", "other", "metres"), GEODESICS)
def test_unprojecting_is_the_inverse(one: Coordinate, other: Coordinate, metres: float) -> None:
    centre = bounding_box_centre([one, other])
    project, unproject = local_projection(centre), local_unprojection(centre)
    for point in (one, other):
        assert unproject(project(point)) == pytest.approx(point, abs=1e-9)


def test_x_grows_to_the_east_and_y_to_the_south() -> None:
    project = local_projection((10.0, 56.0))
    east, south = project((10.001, 56.0)), project((10.0, 55.999))
    assert east[0] > 200 and abs(east[1]) < 0.01
    assert south[1] > 300 and abs(south[0]) < 0.01


@given(st.floats(-180, 180), st.floats(-89, 89))
def test_the_origin_is_at_zero(longitude: float, latitude: float) -> None:
    origin = (longitude, latitude)
    assert local_projection(origin)(origin) == pytest.approx((0, 0), abs=1e-6)
