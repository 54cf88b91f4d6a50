"""Units and points of interest become locations, where a label would stand."""

from tests.parsing.geography import OsmPlanBuilder, box
from tests.resolvers.small_plans import (
    candidate_named,
    notes_of,
    translate_osm,
    translate_svg,
)


def unit(id: str, x: float) -> str:
    return f'<g data-type="UnitLayer"><rect id="{id}" x="{x}" y="0" width="20" height="20"/></g>'


def test_a_unit_that_is_drawn_twice_has_one_location_and_a_note() -> None:
    translated = translate_svg(unit("u1", 0), unit("u1", 0))
    assert [location.unit_id for location in translated.candidates] == ["u1"]
    assert notes_of(translated) == ["unit drawn more than once, located at its first shape: 1 (u1)"]


def test_a_location_on_several_levels_stands_on_the_one_nearest_to_the_ground() -> None:
    builder = OsmPlanBuilder()
    builder.add_way(box(0, 0, 9, 9), indoor="room", level="-2;1;2", amenity="cinema", name="Cinema")
    builder.add_way(box(9, 0, 20, 9), indoor="corridor", level="-2;0;1;2")
    assert candidate_named(translate_osm(builder), "Cinema").level.endswith("-level-1")


def test_a_point_of_interest_far_from_the_plan_is_noted_and_left_out() -> None:
    builder = OsmPlanBuilder()
    builder.add_way(box(0, 0, 9, 9), indoor="room", level="0", name="Shop")
    builder.add_node((5, 12), amenity="bench", level="0", name="Near")
    builder.add_node((5, 90), amenity="bench", level="0", name="Far")
    translated = translate_osm(builder)
    assert {location.name for location in translated.candidates} == {"Shop", "Near"}
    assert any("point of interest outside the plan: 1" in note for note in notes_of(translated))


def test_a_network_of_paths_leads_to_its_named_doors_and_points() -> None:
    builder = OsmPlanBuilder()
    builder.add_way([(0, 0), (20, 0)], level="0")
    builder.add_node((20, 0), indoor="door", level="0", name="4116")
    builder.add_node((0, 0), level="0", name="Entrance")
    builder.add_node((10, 0), indoor="door", level="0")
    translated = translate_osm(builder)
    assert {location.name for location in translated.candidates} == {"4116", "Entrance"}
    assert [space.kind.value for space in translated.plan.spaces] == ["area"]


def test_a_plan_with_rooms_leads_to_no_named_doors() -> None:
    builder = OsmPlanBuilder()
    builder.add_way(box(0, 0, 9, 9), indoor="room", level="0", name="Shop")
    builder.add_node((9, 5), door="yes", level="0", name="Door A")
    assert [location.name for location in translate_osm(builder).candidates] == ["Shop"]


def test_the_platforms_of_a_station_are_locations() -> None:
    builder = OsmPlanBuilder()
    builder.add_way(box(0, 0, 90, 9), railway="platform", level="-1", ref="7")
    (platform,) = translate_osm(builder).candidates
    assert (platform.name, platform.level) == ("7", "m-level--1")
