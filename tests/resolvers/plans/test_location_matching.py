"""Existing locations of a map keep their ids and positions when it is made routable."""

from resolvers.plans.catalog_records import ExistingLocation
from resolvers.plans.location_matching import match_existing_locations
from resolvers.plans.translation import TranslatedPlan
from tests.resolvers.small_plans import rect, translate_svg

UNIT = '<g data-type="UnitLayer"><rect id="u1" x="0" y="0" width="20" height="20"/></g>'
LOUNGE = rect(20, 0, 60, 40, "indoor=area;amenity=lounge;name=Lounge")
BAR = rect(30, 10, 10, 10, "indoor=area;amenity=bar;name=Bar")


def plan() -> TranslatedPlan:
    return translate_svg(UNIT + LOUNGE + BAR, floors={"f1": 1})


def existing(
    id: str, x: float = 0, y: float = 0, unit_id: str | None = None, floor_id: str = "f1"
) -> ExistingLocation:
    return ExistingLocation(id, id, x, y, floor_id, unit_id)


def adopt(*locations: ExistingLocation) -> tuple[set[str], set[str]]:
    """Return the ids of the plan's locations, and the names of the candidates that are left."""
    adopted = match_existing_locations(plan(), locations)
    left = {candidate.unit_id or candidate.name for candidate in adopted.candidates}
    return {location.id for location in adopted.plan.locations}, left


def test_without_existing_locations_all_candidates_are_new() -> None:
    ids, left = adopt()
    assert len(ids) == 3
    assert left == {"u1", "Lounge", "Bar"}


def test_a_location_of_a_unit_replaces_the_candidate_of_the_unit_wherever_it_is() -> None:
    ids, left = adopt(existing("old", x=70, y=30, unit_id="u1"))
    assert "old" in ids and len(ids) == 3
    assert left == {"Lounge", "Bar"}


def test_a_location_in_two_areas_replaces_the_smaller_one() -> None:
    ids, left = adopt(existing("old", x=35, y=15))
    assert "old" in ids and len(ids) == 3
    assert left == {"u1", "Lounge"}


def test_a_second_location_there_replaces_the_next_larger_one() -> None:
    _, left = adopt(existing("one", x=35, y=15), existing("two", x=36, y=16))
    assert left == {"u1"}


def test_a_location_that_matches_nothing_is_added() -> None:
    ids, left = adopt(existing("old", x=90, y=90))
    assert "old" in ids and len(ids) == 4
    assert len(left) == 3


def test_a_location_of_another_plan_is_ignored() -> None:
    ids, left = adopt(existing("old", x=35, y=15, floor_id="elsewhere"))
    assert "old" not in ids
    assert len(left) == 3


def test_positions_are_in_feet_and_the_space_is_that_of_the_candidate() -> None:
    before = {location.id: location for location in plan().plan.locations}
    adopted = match_existing_locations(plan(), [existing("old", x=35, y=15)])
    (old,) = (location for location in adopted.plan.locations if location.id == "old")
    assert (old.x, old.y) == (17.5, 7.5)  # half a foot per unit
    assert old.space_id in {location.space_id for location in before.values()}
