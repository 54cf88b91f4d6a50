"""A footway drawn as a line stands for the hall around it: what lies beside it is reached."""

import pytest

from routing.costing import TravelMode
from routing.processing import process_plan
from tests.parsing.geography import OsmPlanBuilder, box
from tests.resolvers.small_plans import notes_of, translate_osm

NOTE = "joined by a straight line to the footway beside it"


def concourse() -> OsmPlanBuilder:
    """A footway of 60 m, drawn as a line."""
    builder = OsmPlanBuilder()
    builder.add_way([(0, 0), (60, 0)], highway="footway", indoor="yes", level="0")
    return builder


def share_reached(builder: OsmPlanBuilder) -> float:
    report = process_plan(translate_osm(builder).plan).report
    return next(check.share for check in report.reachability if check.mode is TravelMode.FOOT)


def test_a_point_of_interest_beside_a_footway_is_reached_in_a_straight_line() -> None:
    builder = concourse()
    for x in (10, 50):
        builder.add_node((x, 8), amenity="vending_machine", level="0")
    translated = translate_osm(builder)
    assert any(note.startswith(f"{NOTE}: 2") for note in notes_of(translated))
    router = process_plan(translated.plan).router
    one, other = (location.id for location in translated.plan.locations)
    route_feet = router.matrix([one], [other]).feet[0, 0]
    assert route_feet == pytest.approx((8 + 40 + 8) / 0.3048, abs=10)


@pytest.mark.parametrize("metres", [0.1, 20.0])
def test_what_stands_on_the_footway_or_far_from_it_has_no_branch(metres: float) -> None:
    builder = concourse()
    builder.add_node((10, metres), amenity="bench", level="0")
    assert NOTE not in " ".join(notes_of(translate_osm(builder)))


def test_a_branch_crosses_no_wall_and_no_room() -> None:
    builder = concourse()
    builder.add_node((10, 8), amenity="bench", level="0")
    builder.add_way([(5, 4), (15, 4)], indoor="wall", level="0")
    builder.add_node((40, 8), amenity="bench", level="0")
    builder.add_way(box(35, 3, 45, 6), indoor="room", level="0")
    translated = translate_osm(builder)
    assert NOTE not in " ".join(notes_of(translated))


def test_a_door_that_faces_the_hall_leads_to_the_footway() -> None:
    builder = concourse()
    for x in (10, 40):
        builder.add_way(box(x, 6, x + 8, 12), indoor="room", shop="kiosk", level="0")
        builder.add_node((x + 4, 6), door="yes", level="0")
    assert share_reached(builder) == 1.0
    branches = [space for space in translate_osm(builder).plan.spaces if "branch" in space.id]
    assert len(branches) == 2
