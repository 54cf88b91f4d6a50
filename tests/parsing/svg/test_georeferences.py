import pytest

from parsing.errors import InvalidMarkupError
from parsing.svg.elements import Georeference
from parsing.svg.georeferences import parse_georeference


def test_zoom_bearing_and_pitch_are_zero_by_default() -> None:
    attributes = {"data-latitude": " 56.5 ", "data-longitude": "1e1"}
    assert parse_georeference(attributes, 1_000) == Georeference(56.5, 10, 0, 0, 0)


@pytest.mark.parametrize(
    ("longitude", "reason"),
    [
        (None, "a Georeference needs data-longitude, a number"),
        ("10px", "data-longitude is '10px'; expected a number"),
        ("1001", "data-longitude is too large a number; at most 1,000 is read"),
    ],
)
def test_an_invalid_number_is_an_error_with_its_attribute(
    longitude: str | None, reason: str
) -> None:
    attributes = {"data-latitude": "1"} | ({"data-longitude": longitude} if longitude else {})
    with pytest.raises(InvalidMarkupError, match=reason):
        parse_georeference(attributes, 1_000)
