"""A survey says of each level which floor belongs together, and what it should be joined to."""

from routing.costing import TravelMode
from routing.diagnosis.survey import NONE, Survey, survey_network
from tests.routing.ascii_plans import process_drawing


def survey(*storeys: str) -> Survey:
    processed = process_drawing(*storeys)
    components = processed.components[TravelMode.FOOT]
    network = processed.networks[TravelMode.FOOT]
    return survey_network(processed.walkable_levels, network, components, components.main)


def test_the_home_of_a_level_is_the_main_component_or_the_one_with_the_most_locations() -> None:
    found = survey("A,B,C,s", "D,####s", "E,#F,G,")
    homes = [level.home for level in found.levels]
    assert homes[0] == homes[1] == found.main  # the shaft of the stairs, though D is elsewhere
    assert found.locations_of[homes[2]] == 2
    assert [found.locations_of[each] for each in found.apart] == [2, 1, 1]


def test_components_that_no_connector_leads_out_of_are_stranded() -> None:
    found = survey("A,B,C,", "D,,,,s", "E,,,,s")
    [(component, levels)] = found.stranded.items()
    assert (found.locations_of[component], levels) == (2, [1, 2])
    assert found.levels_of[component] == [1, 2]
    assert found.count_on(levels) == 2


def test_a_level_without_floor_has_no_home() -> None:
    assert [level.home for level in survey("A,,", "###").levels] == [0, NONE]


def test_the_rooms_of_a_component_are_known() -> None:
    found = survey("A,,+B.#.C")
    assert found.levels[0].rooms_of(found.main) == {None, "room B"}
