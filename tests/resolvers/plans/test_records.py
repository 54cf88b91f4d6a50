from typing import Any

import msgspec
import pytest

from parsing import plans
from resolvers.plans.records import build_directory, build_location_records
from resolvers.plans.translation import TranslatedPlan, translate_plan
from samples.venue import make_venue
from storage.catalog import Asset, Floor, Location, Map, Unit
from storage.records.kinds import Record
from tests.parsing.geography import OsmPlanBuilder, box, read_caserne


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
