"""A plan adds records to the catalog, and existing locations keep theirs."""

from typing import Any

import msgspec
import pytest

from parsing import plans
from resolvers.plans.records import (
    build_directory,
    build_location_records,
    match_existing_locations,
)
from resolvers.plans.translation import TranslatedPlan, translate_plan
from resolvers.processing.build_task import ExistingLocation
from samples.venue import make_venue
from storage.catalog import Asset, Floor, Location, Map, Unit
from storage.records.kinds import Record
from tests.parsing.geography import OsmPlanBuilder, box, read_caserne
from tests.resolvers.small_plans import rect, translate_svg


def translate_levels(*levels: str) -> TranslatedPlan:
    builder = OsmPlanBuilder()
    for number, level in enumerate(levels):
        builder.add_way(box(0, 0, 9, 9), indoor="room", level=level, name=f"Room {number}")
    return translate_plan(plans.read_plan({"plan.osm": builder.to_osm()}), "mall")


def test_each_level_becomes_a_floor_and_each_room_a_unit() -> None:
    directory = build_directory(translate_levels("-1", "0"), "centre")
    assert [(floor["id"], floor["name"], floor["sort"]) for floor in directory["floors"]] == [
        ("mall-level--1", "Level -1", -1),
        ("mall-level-0", "Level 0", 0),
    ]
    assert directory["units"][1] == {
        "id": "mall-way-2",
        "asset_id": "centre",
        "floor_id": "mall-level-0",
        "name": "Room 1",
        "map_ids": ["mall"],
    }
    assert directory["assets"] == [{"id": "centre", "name": "mall"}]


def test_half_levels_are_sorted_by_their_order() -> None:
    floors = build_directory(translate_levels("0", "0.5", "1"), "a")["floors"]
    assert [floor["sort"] for floor in floors] == [0, 1, 2]


def test_a_location_names_its_unit_its_floors_and_its_feature() -> None:
    (location,) = build_location_records(translate_levels("0;1"), "a")
    assert location["floors"] == [{"id": "mall-level-0"}, {"id": "mall-level-1"}]
    assert {tag["key"]: tag["value"] for tag in location["tags"]} == {
        "svc:id": "mall-way-1", "svc:type": "unit", "indoor": "room", "osm:id": "way/1",
    }  # fmt: skip


RECORDS: dict[str, type[Record]] = {
    "assets": Asset,
    "floors": Floor,
    "maps": Map,
    "units": Unit,
    "locations": Location,
}


def files_of(source: str) -> dict[str, bytes]:
    return make_venue() if source == "imdf" else {"caserne.osm": read_caserne("osm")}


@pytest.mark.parametrize("source", ["imdf", "osm"])
def test_every_member_is_one_that_a_bundle_may_have(source: str) -> None:
    translated = translate_plan(plans.read_plan(files_of(source)), "map")
    members: dict[str, list[dict[str, Any]]] = {
        **build_directory(translated, "asset"),
        "locations": build_location_records(translated, "asset"),
    }
    assert members.keys() == RECORDS.keys()
    for kind, made in members.items():
        assert made
        records = [msgspec.convert(member, RECORDS[kind]) for member in made]
        assert len({record.id for record in records}) == len(records)  # type: ignore[attr-defined]
    floors = {floor["id"] for floor in members["floors"]}
    units = {unit["id"] for unit in members["units"]}
    assert {unit["floor_id"] for unit in members["units"]} <= floors
    named = {
        tag["value"]
        for location in members["locations"]
        for tag in location["tags"]
        if tag["key"] == "svc:id"
    }
    assert named == units


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
