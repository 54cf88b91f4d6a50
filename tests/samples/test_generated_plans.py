"""Generated buildings of any size are plans in which every room can be reached."""

from collections import Counter, defaultdict
from itertools import combinations
from math import ceil

import shapely
from hypothesis import given
from hypothesis import strategies as st
from shapely import Point

from parsing.svg.unit_map import parse_unit_map
from routing.plan import Plan, Space, SpaceKind
from samples.buildings.alder_court import build_alder_court
from samples.buildings.generated_plans import ROOMS_PER_SIDE, build_demo, build_office
from samples.output.generated_drawings import draw_unit_map

SIZES = {
    "levels": st.integers(2, 3),
    "rooms": st.integers(1, 3 * 2 * ROOMS_PER_SIDE),
}


def assert_sound(plan: Plan) -> None:
    """Everything has its own id and lies on a level; no two spaces share more than an edge."""
    level_ids = {level.id for level in plan.levels}
    everything = plan.levels, plan.spaces, plan.doors, plan.connectors, plan.locations
    for things in everything:
        assert len({thing.id for thing in things}) == len(things)
    for placed in (plan.spaces, plan.barriers, plan.doors, plan.locations):
        assert {each.level_id for each in placed} <= level_ids
    for connector in plan.connectors:
        assert {*connector.entrances} <= level_ids
        assert len(connector.entrances) > 1
    levels: dict[str, list[Space]] = defaultdict(list)
    for space in plan.spaces:
        levels[space.level_id].append(space)
    for one, other in (pair for spaces in levels.values() for pair in combinations(spaces, 2)):
        shared = one.polygon.intersection(other.polygon).area
        assert shared <= 0.01, f"{one.id} and {other.id} share {shared}"


@given(**SIZES)
def test_an_office_has_the_size_that_was_asked_for(levels: int, rooms: int) -> None:
    plan = build_office(levels, rooms)
    assert [level.ordinal for level in plan.levels] == [*range(levels)]
    kinds = Counter(space.kind for space in plan.spaces)
    assert kinds[SpaceKind.ROOM] == len(plan.doors) == levels * rooms
    assert kinds[SpaceKind.CORRIDOR] == levels * (1 + ceil(rooms / (2 * ROOMS_PER_SIDE)))
    assert len(plan.locations) == levels * rooms
    spaces = {space.id: space for space in plan.spaces}
    places = shapely.points([(location.x, location.y) for location in plan.locations])
    names = [location.id.split() for location in plan.locations]
    own_rooms = [spaces[f"{level} room {room}"] for level, room in names]
    assert shapely.contains([room.polygon for room in own_rooms], places).all()
    pillars = shapely.union_all([pillar.geometry for pillar in plan.barriers])  # as on all levels
    assert not shapely.intersects(pillars, places).any()


def test_every_room_of_an_office_has_a_free_door_to_a_corridor() -> None:
    rooms = 2 * ROOMS_PER_SIDE + 1
    plan = build_office(2, rooms)
    assert_sound(plan)
    spaces = {space.id: space for space in plan.spaces}
    corridors = [x for x in plan.spaces if x.level_id == "0" and x.kind == SpaceKind.CORRIDOR]
    for index in range(rooms):
        [door] = [door for door in plan.doors if door.id == f"0 door {index}"]
        assert spaces[f"0 room {index}"].polygon.boundary.distance(door.geometry) == 0
        assert sum(corridor.polygon.distance(door.geometry) == 0 for corridor in corridors) == 1
        assert all(pillar.geometry.distance(door.geometry) > 3 for pillar in plan.barriers)


def test_the_demo_building_has_what_its_generator_draws() -> None:
    plan, storeys = build_demo(), build_alder_court().storeys
    assert_sound(plan)
    assert [level.id for level in plan.levels] == [storey.name for storey in storeys]
    assert len(plan.doors) == sum(len(storey.doors) for storey in storeys)
    drawn = Counter(connector.tags["ref"] for storey in storeys for connector in storey.connectors)
    assert {x.id: len(x.entrances) for x in plan.connectors} == drawn
    outdoors = []
    for location in plan.locations:
        at = Point(location.x, location.y)
        own = [x for x in plan.spaces if x.level_id == location.level_id and x.polygon.contains(at)]
        assert {space.name for space in own} <= {location.name}
        outdoors += [location.name] if not own else []
    assert outdoors == ["Pool"]


def test_drawings_with_attributes_and_with_classes_are_the_same_unit_map() -> None:
    attributes, classes = (
        parse_unit_map(draw_unit_map(150, has_classes=styled)) for styled in (False, True)
    )
    assert attributes.summary == (2, 150, 150, 150 * 5)
    assert attributes.warnings == ()
    assert attributes.json == classes.json
