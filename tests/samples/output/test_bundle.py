"""The bundle is complete: owners exist, ids are unique, and it says what the drawings show."""

from __future__ import annotations

import re
from typing import Any

import pytest
from shapely import Point

from tests.samples.drawing import BUNDLE, DEMO, DRAWINGS

STAMPS = {"created_at", "updated_at"}
FIELDS = {
    "assets": {"id", "market", "name"} | STAMPS,
    "floors": {"id", "asset_id", "name", "label", "short_label", "sort"} | STAMPS,
    "units": {"id", "asset_id", "floor_id", "name"} | STAMPS,
    "maps": {
        *("id", "asset_id", "background_id", "name", "style", "style_type", "tags"),
        *("routing_tier", "geojson_url", "feet_per_unit", "source"),
    }
    | STAMPS,
    "backgrounds": {"id", "unit_map_id", "name"} | STAMPS,
    "level_tags": {"map_id", "name", "key", "values"} | STAMPS,
    "asset_references": {"id", "asset_id", "key", "value"} | STAMPS,
    "unit_references": {"group_id", "asset_id", "unit_id", "key", "value"} | STAMPS,
    "attribute_groups": {"group_id", "group_name", "one_attribute_per_unit", "attributes"},
    "attribute_assignments": {"group_id", "attribute_id", "asset_id", "unit_id"},
    "locations": {"id", "asset_id", "unit_map_id", "name", "x", "y", "floors", "tags"} | STAMPS,
}
IDENTITY = {
    "unit_references": ("unit_id", "key"),
    "attribute_groups": ("group_id",),
    "attribute_assignments": ("group_id", "unit_id", "attribute_id"),
    "level_tags": ("map_id", "key"),
}
OWNERS = {
    "asset_id": "assets",
    "floor_id": "floors",
    "unit_id": "units",
    "unit_map_id": "maps",
    "map_id": "maps",
    "background_id": "backgrounds",
}

each_kind = pytest.mark.parametrize("kind", FIELDS)


def ids(kind: str) -> set[str]:
    return {member["id"] for member in BUNDLE[kind]}


def tags_of(location: dict[str, Any]) -> dict[str, str]:
    return {tag["key"]: tag["value"] for tag in location["tags"]}


def test_the_bundle_has_every_kind_in_order() -> None:
    assert list(BUNDLE) == list(FIELDS)


@each_kind
def test_members_have_exactly_the_fields_of_their_kind(kind: str) -> None:
    assert all(set(member) == FIELDS[kind] for member in BUNDLE[kind])


@each_kind
def test_no_two_members_share_an_identity(kind: str) -> None:
    keys = IDENTITY.get(kind, ("id",))
    identities = [tuple(member[key] for key in keys) for member in BUNDLE[kind]]
    assert len(set(identities)) == len(identities)


@each_kind
def test_owners_exist(kind: str) -> None:
    owned = [(OWNERS[name], m[name]) for m in BUNDLE[kind] for name in OWNERS if name in m]
    assert [(owner, value) for owner, value in owned if value not in ids(owner)] == []


def test_a_unit_is_on_a_floor_of_its_own_asset() -> None:
    owners = {floor["id"]: floor["asset_id"] for floor in BUNDLE["floors"]}
    assert all(owners[unit["floor_id"]] == unit["asset_id"] for unit in BUNDLE["units"])


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


def test_maps_are_not_yet_processed_for_pathfinding() -> None:
    assert {tuple(unit_map["tags"]) for unit_map in BUNDLE["maps"]} == {("ils", "mls")}


def test_reference_keys_follow_the_pattern() -> None:
    keys = {ref["key"] for ref in [*BUNDLE["asset_references"], *BUNDLE["unit_references"]]}
    assert all(re.fullmatch(r"[a-z]{1}[a-z0-9-]{1,254}", key) for key in keys)


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


def test_assigned_attributes_belong_to_their_group() -> None:
    known = {
        (group["group_id"], attribute["attribute_id"])
        for group in BUNDLE["attribute_groups"]
        for attribute in group["attributes"]
    }
    rows = {(row["group_id"], row["attribute_id"]) for row in BUNDLE["attribute_assignments"]}
    assert rows == known


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


def test_the_bundle_has_one_member_a_line() -> None:
    lines = (DEMO / "bundle.json").read_text().splitlines()
    members = sum(len(members) for members in BUNDLE.values())
    assert len(lines) == members + 2 * len(BUNDLE) + 2
