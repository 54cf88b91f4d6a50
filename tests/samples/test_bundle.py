"""The bundle of the demo says what its drawings show."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from shapely import Point

from resolvers.administration.catalog import import_catalog
from storage.mongo import driver
from tests.samples.drawing import BUNDLE, DEMO, DRAWINGS


def ids(kind: str) -> set[str]:
    return {member["id"] for member in BUNDLE[kind]}


def tags_of(location: dict[str, Any]) -> dict[str, str]:
    return {tag["key"]: tag["value"] for tag in location["tags"]}


@pytest.mark.parametrize("asset_id", DRAWINGS)
def test_units_stand_on_the_level_of_their_floor_and_nowhere_else(asset_id: str) -> None:
    drawn = [(unit.id, level.tags["floor"]) for level in DRAWINGS[asset_id] for unit in level.units]
    listed = [(u["id"], u["floor_id"]) for u in BUNDLE["units"] if u["asset_id"] == asset_id]
    assert sorted(drawn) == sorted(listed)


@pytest.mark.parametrize("asset_id", DRAWINGS)
def test_levels_carry_values_of_the_level_tags(asset_id: str) -> None:
    (unit_map,) = [each for each in BUNDLE["maps"] if each["asset_id"] == asset_id]
    values = {
        tag["key"]: {value["value"] for value in tag["values"]}
        for tag in BUNDLE["level_tags"]
        if tag["map_id"] == unit_map["id"]
    }
    floors = {floor["id"] for floor in BUNDLE["floors"] if floor["asset_id"] == asset_id}
    assert values["floor"] == floors == {level.tags["floor"] for level in DRAWINGS[asset_id]}
    assert values["building"] == {level.tags["building"] for level in DRAWINGS[asset_id]}


def test_one_provider_has_two_keys_and_its_composite_contains_the_unit_id() -> None:
    values = {(ref["unit_id"], ref["key"]): ref["value"] for ref in BUNDLE["unit_references"]}
    for unit_id in ids("units"):
        assert re.fullmatch(r"\d+_\d+", values[unit_id, "rentwell"])
        assert values[unit_id, "rentwell"].startswith(values[unit_id, "rentwell-unit-ids"] + "_")


def test_a_unit_holds_at_most_one_attribute_of_an_exclusive_group() -> None:
    exclusive = {g["group_id"] for g in BUNDLE["attribute_groups"] if g["one_attribute_per_unit"]}
    held = [
        (row["group_id"], row["unit_id"])
        for row in BUNDLE["attribute_assignments"]
        if row["group_id"] in exclusive
    ]
    assert held and len(held) == len(set(held))


def test_every_apartment_of_alder_court_has_one_location_inside_its_shape() -> None:
    drawn = {
        unit.id: (unit.polygon, level.tags["floor"])
        for level in DRAWINGS["alder-court"]
        for unit in level.units
    }
    located = [
        (tags_of(location)["svc:id"], location)
        for location in BUNDLE["locations"]
        if tags_of(location).get("svc:type") == "unit"
    ]
    assert sorted(unit_id for unit_id, _ in located) == sorted(drawn)
    for unit_id, location in located:
        polygon, floor_id = drawn[unit_id]
        assert polygon.contains(Point(location["x"] / 10, location["y"] / 10))
        assert location["floors"] == [{"id": floor_id}]


def test_every_amenity_location_is_inside_the_shape_that_has_its_tags() -> None:
    levels = {level.tags["floor"]: level for level in DRAWINGS["alder-court"]}
    amenities = [each for each in BUNDLE["locations"] if "svc:amenity" in tags_of(each)]
    assert len(amenities) > 20
    for location in amenities:
        (floor,) = location["floors"]
        place = Point(location["x"] / 10, location["y"] / 10)
        own = {k: v for k, v in tags_of(location).items() if k != "svc:amenity"}
        around = [s for s in levels[floor["id"]].tagged if s.polygon.contains(place)]
        assert [shape.tags for shape in around] == [{**own, "name": location["name"]}]


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["demo/bundle.json", "drawings/elm-place.json"])
async def test_a_bundle_is_imported_as_it_is(name: str, mongo_url: str, database_name: str) -> None:
    """So its ids are unique, all that it refers to is there, and its drawings can be read."""
    file = DEMO.parent / name
    client = driver.connect(mongo_url, timeout_seconds=30)
    try:
        summary = await import_catalog(client[database_name], [file])
    finally:
        await driver.close(client)
    assert summary.total.inserted == sum(map(len, json.loads(file.read_bytes()).values()))
    assert all("text is left out" in note for note in summary.notes)
