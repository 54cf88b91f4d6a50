"""The demo property: its committed drawings, its bundle, and the routes between its units."""

import json
import re
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from lxml import etree
from shapely import Point, Polygon, union_all

from parsing import plans
from resolvers.administration.catalog import import_catalog
from resolvers.plans.translation import translate_plan
from routing.costing import TravelMode
from routing.processing import ProcessedPlan, process_plan
from samples import draw, venue
from samples.output.files import CHECKOUT
from storage.mongo import driver


@pytest.mark.parametrize("generator", [draw, venue])
def test_the_committed_files_are_what_the_generator_writes(generator: ModuleType) -> None:
    stale = [
        str(path)
        for path, content in generator.make_files().items()
        if (CHECKOUT / path).read_bytes() != content
    ]
    assert stale == [], f"run python -m {generator.__name__}"


DEMO = Path(__file__).parents[2] / "samples" / "demo"


@cache
def process_drawing() -> tuple[ProcessedPlan, list[str], list[str]]:
    """Return the committed drawing made routable, and the locations of its units and amenities."""
    bundle = json.loads((DEMO / "bundle.json").read_bytes())
    sorts = {f["id"]: f["sort"] for f in bundle["floors"] if f["asset_id"] == "alder-court"}
    drawing = plans.read_plan({"a.svg": (DEMO / "alder-court.svg").read_bytes()}, feet_per_unit=0.1)
    reading = translate_plan(drawing, "alder-court-floor-plates", sorts)
    units = [place.id for place in reading.candidates if place.unit_id is not None]
    amenities = [place.id for place in reading.candidates if place.unit_id is None]
    return process_plan(reading.plan), units, amenities


def test_nothing_in_the_drawing_needs_repair() -> None:
    processed, _, _ = process_drawing()
    assert [check.share for check in processed.report.reachability] == [1.0, 1.0]
    assert processed.report.problems == ()


def test_every_unit_reaches_every_amenity_and_by_wheelchair_in_no_less_time() -> None:
    processed, units, amenities = process_drawing()
    walking = processed.router.matrix(units, amenities, TravelMode.FOOT)
    rolling = processed.router.matrix(units, amenities, TravelMode.WHEELCHAIR)
    assert rolling.feet.shape == walking.feet.shape == (86, 41)
    assert np.isfinite([rolling.feet, walking.feet]).all()
    assert np.isfinite(rolling.seconds).all()
    assert (rolling.seconds >= walking.seconds).all()


BUNDLE: dict[str, list[dict[str, Any]]] = json.loads((DEMO / "bundle.json").read_bytes())


@dataclass(frozen=True)
class SampleShape:
    polygon: Polygon
    tags: dict[str, str] = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True)
class SampleLevel:
    tags: dict[str, str]
    units: list[SampleShape]
    hit_areas: list[SampleShape]
    tagged: list[SampleShape]

    def having(self, key: str, *values: str) -> list[SampleShape]:
        return [s for s in self.tagged if key in s.tags and (not values or s.tags[key] in values)]

    @property
    def rooms(self) -> list[SampleShape]:
        return [*self.units, *self.having("indoor", "room")]

    @property
    def circulation(self) -> list[SampleShape]:
        return self.having("indoor", "corridor", "area")


def read_tags(element: etree._Element) -> dict[str, str]:
    text = str(element.get("data-tags", ""))
    return dict(pair.split("=", 1) for pair in text.split(";")) if text else {}


def read_shape(element: etree._Element, feet_per_unit: float) -> SampleShape:
    pairs = (pair.split(",") for pair in str(element.attrib["points"]).split())
    points = [(float(x) * feet_per_unit, float(y) * feet_per_unit) for x, y in pairs]
    return SampleShape(Polygon(points), read_tags(element), element.get("id", ""))


def read_levels(unit_map: dict[str, Any]) -> list[SampleLevel]:
    root = etree.parse(DEMO / unit_map["source"]).getroot()
    scale = unit_map["feet_per_unit"]

    def shapes(parent: etree._Element, path: str) -> list[SampleShape]:
        found = parent.iterfind(path, {"": "http://www.w3.org/2000/svg"})
        return [read_shape(element, scale) for element in found]

    return [
        SampleLevel(
            read_tags(level),
            shapes(level, "g[@data-type='UnitLayer']/polygon"),
            shapes(level, "g[@data-type='HitAreaLayer']/polygon"),
            shapes(level, ".//polygon[@data-tags]"),
        )
        for level in root.iterfind("{*}g[@data-type='Level']")
    ]


DRAWINGS = {unit_map["asset_id"]: read_levels(unit_map) for unit_map in BUNDLE["maps"]}
LEVELS = [level for levels in DRAWINGS.values() for level in levels]


each_level = pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.tags["floor"])


def joined_by(door: SampleShape, shapes: list[SampleShape]) -> list[SampleShape]:
    return [shape for shape in shapes if door.polygon.intersection(shape.polygon).area > 0]


def side_feet(outline: Polygon) -> tuple[float, float]:
    west, north, east, south = outline.bounds
    return east - west, south - north


@each_level
def test_rooms_corridors_and_areas_do_not_overlap(level: SampleLevel) -> None:
    pairs = combinations([*level.rooms, *level.circulation], 2)
    assert [(a, b) for a, b in pairs if a.polygon.intersection(b.polygon).area > 0] == []


@each_level
def test_every_apartment_has_one_door_and_it_leads_to_the_corridor(level: SampleLevel) -> None:
    doors = level.having("door")
    for unit in level.units:
        own = [door for door in doors if door.polygon.intersects(unit.polygon)]
        assert len(own) == 1
        others = [shape for shape in [*level.rooms, *level.circulation] if shape is not unit]
        assert [shape.tags["indoor"] for shape in joined_by(own[0], others)] == ["corridor"]


@each_level
def test_every_door_joins_exactly_two_spaces(level: SampleLevel) -> None:
    spaces = [*level.rooms, *level.circulation]
    assert {len(joined_by(door, spaces)) for door in level.having("door")} == {2}


@each_level
def test_the_width_of_a_door_is_its_opening_in_metres(level: SampleLevel) -> None:
    spaces = union_all([space.polygon for space in [*level.rooms, *level.circulation]])
    for door in level.having("door"):
        opening = door.polygon.difference(spaces.buffer(0.01))
        assert isinstance(opening, Polygon)
        x_feet, y_feet = side_feet(opening)
        assert float(door.tags["width"]) == pytest.approx(max(x_feet, y_feet) * 0.3048, abs=0.01)


def test_one_door_is_too_narrow_for_a_wheelchair_and_it_is_a_storage_room() -> None:
    narrow = [
        (level, door)
        for level in LEVELS
        for door in level.having("door")
        if float(door.tags["width"]) < 0.80
    ]
    assert len(narrow) == 1
    level, door = narrow[0]
    assert "storage" in [room.tags.get("room") for room in joined_by(door, level.rooms)]


@pytest.mark.parametrize("asset_id", DRAWINGS)
def test_stairs_and_lifts_stand_above_one_another_on_every_storey(asset_id: str) -> None:
    outlines = defaultdict(list)
    for level in DRAWINGS[asset_id]:
        for connector in level.having("highway", "steps", "elevator"):
            outlines[connector.tags["highway"], connector.tags["ref"]].append(connector.polygon)
    for polygons in outlines.values():
        assert len(polygons) == len(DRAWINGS[asset_id])
        assert all(polygon.equals(polygons[0]) for polygon in polygons)


@each_level
def test_hit_areas_match_units(level: SampleLevel) -> None:
    units = {f"hit{unit.id}": unit.polygon for unit in level.units}
    assert {area.id: area.polygon for area in level.hit_areas} == units


def test_the_middle_of_the_pool_is_within_six_feet_of_dry_ground() -> None:
    ground = DRAWINGS["alder-court"][0]
    (pool,) = ground.having("leisure", "swimming_pool")
    dry = union_all([space.polygon for space in ground.circulation])
    assert not dry.intersects(pool.polygon.buffer(-0.01))
    assert dry.distance(pool.polygon.centroid) <= 6


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
