"""An office of any size is a plan in which every room can be reached and every location stands."""

from math import ceil

import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from shapely import Point

from bench.data.office_plan import ROOMS_PER_SIDE, build_office
from routing.plan import ConnectorKind, SpaceKind
from tests.bench.data.plans import assert_sound, assert_spaces_apart, spaces_at

pytestmark = pytest.mark.slow

SIZES = {
    "levels": st.integers(2, 3),
    "rooms": st.integers(1, 3 * 2 * ROOMS_PER_SIDE),
    "per_room": st.integers(1, 30),
}
few = settings()


@few
@given(**SIZES)
def test_an_office_has_the_size_that_was_asked_for(levels: int, rooms: int, per_room: int) -> None:
    plan = build_office(levels, rooms, per_room)
    assert_sound(plan)
    assert [level.ordinal for level in plan.levels] == [*range(levels)]
    of_kind = {kind: [x for x in plan.spaces if x.kind == kind] for kind in SpaceKind}
    assert len(of_kind[SpaceKind.ROOM]) == levels * rooms
    assert len(of_kind[SpaceKind.CORRIDOR]) == levels * (1 + ceil(rooms / (2 * ROOMS_PER_SIDE)))
    assert len(plan.doors) == levels * rooms
    assert len(plan.locations) == levels * rooms * per_room


@few
@given(**SIZES)
def test_every_location_stands_in_its_room_and_in_no_pillar(
    levels: int, rooms: int, per_room: int
) -> None:
    plan = build_office(levels, rooms, per_room)
    spaces = {space.id: space for space in plan.spaces}
    places = shapely.points([(location.x, location.y) for location in plan.locations])
    names = [location.id.split() for location in plan.locations]
    own_rooms = [spaces[f"{level} room {room}"] for level, room, _ in names]
    assert [room.level_id for room in own_rooms] == [x.level_id for x in plan.locations]
    assert shapely.contains([room.polygon for room in own_rooms], places).all()
    pillars = shapely.union_all([pillar.geometry for pillar in plan.barriers])  # as on all levels
    assert not shapely.intersects(pillars, places).any()


@pytest.mark.parametrize("rooms", [1, ROOMS_PER_SIDE, 2 * ROOMS_PER_SIDE + 1, 90])
def test_every_room_has_a_door_to_a_corridor_and_corridors_meet(rooms: int) -> None:
    plan = build_office(2, rooms)
    assert_spaces_apart(plan)
    spaces = {space.id: space for space in plan.spaces}
    corridors = [x for x in plan.spaces if x.level_id == "0" and x.kind == SpaceKind.CORRIDOR]
    for index in range(rooms):
        [door] = [door for door in plan.doors if door.id == f"0 door {index}"]
        assert spaces[f"0 room {index}"].polygon.boundary.distance(door.geometry) == 0
        assert sum(corridor.polygon.distance(door.geometry) == 0 for corridor in corridors) == 1
    spine, *halls = corridors
    assert all(spine.polygon.intersection(hall.polygon).length > 0 for hall in halls)


def test_two_lifts_and_a_stair_join_all_levels() -> None:
    plan = build_office(4, 50)
    kinds = [connector.kind for connector in plan.connectors]
    assert kinds == [ConnectorKind.ELEVATOR] * 2 + [ConnectorKind.STEPS]
    for connector in plan.connectors:
        assert [*connector.entrances] == ["0", "1", "2", "3"]
        for level_id, place in connector.entrances.items():
            assert isinstance(place, Point)
            [space] = spaces_at(plan, level_id, place.x, place.y)
            assert space.id == f"{level_id} spine"


def test_pillars_leave_every_door_free() -> None:
    plan = build_office(1, 3 * 2 * ROOMS_PER_SIDE)
    assert len(plan.barriers) == 3 * ROOMS_PER_SIDE
    for door in plan.doors:
        assert all(pillar.geometry.distance(door.geometry) > 3 for pillar in plan.barriers)
