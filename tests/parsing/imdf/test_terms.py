import pytest

from parsing.imdf.terms import OPENING_TAGS, UNIT_TAGS, find_tags


@pytest.mark.parametrize(
    ("category", "amenity"),
    [("restroom", "toilets"), ("restroom.female.wheelchair", "toilets"), ("office", None)],
)
def test_a_suffix_means_the_same_as_its_parent_category(category: str, amenity: str | None) -> None:
    tags = find_tags(UNIT_TAGS, category)
    assert tags is not None
    assert tags.get("amenity") == amenity


def test_a_row_of_its_own_wins_over_the_parent_category() -> None:
    assert find_tags(OPENING_TAGS, "pedestrian.principal") == {"entrance": "main"}
    assert find_tags(OPENING_TAGS, "pedestrian.transit") == {}


@pytest.mark.parametrize("category", ["", "ballroom", "ballroom.large"])
def test_an_unknown_category_has_no_tags(category: str) -> None:
    assert find_tags(UNIT_TAGS, category) is None


@pytest.mark.parametrize("category", ["bedroom", "residence", "livingroom", "residential.studio"])
def test_homes_are_private(category: str) -> None:
    assert find_tags(UNIT_TAGS, category) == {"indoor": "room", "access": "private"}
