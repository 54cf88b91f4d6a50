"""What features are, by their tags."""

import pytest

from parsing.drawing import AreaGeometry, Feature, Geometry, LinesGeometry, PointGeometry
from resolvers.plans import tag_classification
from resolvers.plans.tag_classification import TagMatcher
from routing.plan import ConnectorKind, SpaceKind

AREA = AreaGeometry((((0, 0), (9, 0), (9, 9)),))
LINE = LinesGeometry((((0, 0), (9, 0)),))
POINT = PointGeometry((0, 0))


def feature(geometry: Geometry, levels: tuple[str, ...] = ("0",), **tags: str) -> Feature:
    return Feature("way/1", levels, geometry, tags)


@pytest.mark.parametrize(
    ("value", "expected"), [("yes", True), ("books", True), ("no", False), ("vacant", False)]
)
def test_a_matcher_without_values_takes_all_but_no_and_vacancy(value: str, expected: bool) -> None:
    assert TagMatcher("shop").matches({"shop": value}) == expected


def test_only_areas_are_spaces() -> None:
    assert tag_classification.get_space_kind(feature(AREA, indoor="room")) is SpaceKind.ROOM
    assert tag_classification.get_space_kind(feature(AREA, highway="footway")) is SpaceKind.AREA
    assert tag_classification.get_space_kind(feature(LINE, indoor="room")) is None


def test_a_footway_on_several_levels_is_a_ramp() -> None:
    assert tag_classification.get_connector_kind(feature(LINE, ("0", "1"), highway="footway")) is (
        ConnectorKind.RAMP
    )
    assert tag_classification.get_connector_kind(feature(LINE, highway="footway")) is None


def test_points_and_passable_barriers_block_nothing() -> None:
    assert tag_classification.is_barrier(feature(LINE, indoor="wall"))
    assert not tag_classification.is_barrier(feature(POINT, barrier="bollard"))
    assert not tag_classification.is_barrier(feature(LINE, barrier="gate"))


def test_a_feature_is_named_after_what_it_is_but_not_after_its_vacancy() -> None:
    assert tag_classification.get_display_name(feature(AREA, name="Books", shop="books")) == "Books"
    assert tag_classification.get_display_name(feature(AREA, shop="books")) == "books"
    assert tag_classification.get_display_name(feature(AREA, shop="vacant")) == "way/1"
