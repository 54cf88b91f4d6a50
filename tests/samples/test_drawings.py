"""Check the plans as a property team would before publishing them."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

import pytest
from shapely import Polygon, union_all

from tests.samples.drawing import DRAWINGS, LEVELS, SampleLevel, SampleShape

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
