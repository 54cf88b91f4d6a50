"""Connected components: which locations reach each other, and which floor is cut off."""

from routing.costing import TravelMode
from routing.network.components import find_components, find_cut_off_areas
from tests.routing.ascii_plans import process_drawing


def test_locations_without_a_path_are_in_different_components() -> None:
    network = process_drawing("A,,B,,C#D,").networks[TravelMode.FOOT]
    components = find_components(network)
    one, *same, other = components.location_components.tolist()
    assert same == [one, one] and other != one
    assert (components.count, components.main) == (2, one)
    assert components.locations_in_main.tolist() == [True, True, True, False]


def test_connectors_join_levels() -> None:
    assert find_components(process_drawing("A,e", "B,e").networks[TravelMode.FOOT]).count == 1
    stairs = process_drawing("A,s", "B,s")
    assert find_components(stairs.networks[TravelMode.FOOT]).count == 1


def test_floor_that_the_main_component_does_not_reach_is_cut_off() -> None:
    network = process_drawing("A,,B#..").networks[TravelMode.FOOT]
    (area,) = find_cut_off_areas(network, find_components(network), 0)
    assert area.bounds[0] > 16 and area.bounds[2] < 28  # the two cells after the wall
