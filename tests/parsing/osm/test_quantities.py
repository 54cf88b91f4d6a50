import pytest

from parsing.osm.quantities import parse_feet


@pytest.mark.parametrize(
    ("text", "feet"),
    [
        ("0.9144", 3.0),
        ("0.9144 m", 3.0),
        ("91.44cm", 3.0),
        ("914.4 mm", 3.0),
        ("3 ft", 3.0),
        ("3'", 3.0),
        ("2'6\"", 2.5),
        ("2 ft 6 in", 2.5),
        ('36"', 3.0),
    ],
)
def test_a_width_is_in_metres_or_in_its_unit(text: str, feet: float) -> None:
    assert parse_feet(text) == pytest.approx(feet)


@pytest.mark.parametrize("text", ["", "wide", "-1", "1,5", "1e3", "0.9 miles"])
def test_invalid_lengths_are_none(text: str) -> None:
    assert parse_feet(text) is None
