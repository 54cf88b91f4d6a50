import math

import pytest

from parsing.errors import InvalidPlanError
from parsing.geo.coordinates import check_coordinate


@pytest.mark.parametrize(("longitude", "latitude"), [(10.2, 56.1), (-180, -90), (180, 90)])
def test_degrees_in_range_are_returned(longitude: float, latitude: float) -> None:
    assert check_coordinate(longitude, latitude, "node/1") == (longitude, latitude)


@pytest.mark.parametrize(
    ("longitude", "latitude", "advice"),
    [
        (56.1, 110.2, "the two seem to have changed places"),
        (912_345.6, 6_456_789.0, "expected degrees of WGS 84"),  # metres of some national grid
        (math.nan, 0, "expected degrees of WGS 84"),
    ],
)
def test_other_numbers_are_an_error_that_names_the_feature(
    longitude: float, latitude: float, advice: str
) -> None:
    with pytest.raises(InvalidPlanError, match=f"^node/1 is at longitude .*{advice}"):
        check_coordinate(longitude, latitude, "node/1")
