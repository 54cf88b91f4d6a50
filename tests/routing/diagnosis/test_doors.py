"""A room without a door and a door in no wall are one problem if one explains the other."""

import pytest
from shapely import Point, Polygon, box

from routing.plan import Door, Level, Plan, PlanLocation, Space, SpaceKind
from tests.routing.diagnosis.reports import groups_drawn, groups_of, messages

HALL = Space("hall", "0", box(0, 44, 60, 60), SpaceKind.CORRIDOR)
ROOM = Space("features[1]", "0", box(0, 0, 20, 40), name="Lobby")
OTHERS = tuple(Space(f"r{x}", "0", box(x, 0, x + 15, 44)) for x in (22, 40))
DOORS = tuple(Door(f"d{x}", "0", Point(x + 8, 44)) for x in (22, 40))
PLACES = tuple(PlanLocation(f"p{x}", "0", x, 20) for x in (10, 30, 48))


def with_door(shape: Polygon, **changes: object) -> Plan:
    door = Door("door", "0", shape, **changes)  # type: ignore[arg-type]
    return Plan((Level("0", 0),), (HALL, ROOM, *OTHERS), (), (*DOORS, door), (), PLACES)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        # Inside the room: once called "in the open, not needed", beside "room without door".
        (box(8, 37, 11, 38.1), "room 'Lobby' has no door; door 'door' is 1.9 ft from its wall"),
        (box(8, 41.9, 11, 42), "room 'Lobby' has no door; door 'door' is 1.9 ft from its wall"),
        # In its wall, but the corridor begins farther away.
        (
            box(8, 39.5, 11, 40.5),
            "room 'Lobby' has no door; door 'door' is at its wall, but other floor is 3.5 ft away",
        ),
    ],
)
def test_a_door_beside_the_wall_of_a_room_without_door_is_a_hint_there(
    shape: Polygon, message: str
) -> None:
    groups = groups_of(with_door(shape))
    assert [*groups] == ["room-without-door"]
    [problem] = groups["room-without-door"].problems
    assert (problem.message, problem.name) == (message, "Lobby")
    assert problem.at is not None
    assert shape.covers(Point(problem.at))


def test_a_door_far_from_any_room_without_door_is_a_problem_of_its_own() -> None:
    groups = groups_of(with_door(box(40, 52, 42, 53)))
    assert [*groups] == ["room-without-door", "door-in-open-space"]
    assert messages(groups["door-in-open-space"]) == [
        "door 'door' stands within open floor, in no wall"
    ]


def test_a_door_with_floor_on_one_side_only_leads_outside() -> None:
    groups = groups_drawn("+,A,B")
    assert messages(groups["door-to-outside"]) == [
        "door '0:0,0' leads out of open floor to where no floor is drawn"
    ]


def test_a_door_that_fits_into_no_wall_says_what_is_beside_it() -> None:
    yard = Space("yard", "0", box(0, 0, 60, 39), SpaceKind.AREA)
    door = Door("d", "0", Point(30, 41))
    groups = groups_of(Plan((Level("0", 0),), (HALL, yard), (), (door,)))
    assert messages(groups["door-joins-no-two-spaces"]) == [
        "door 'd' fits into no wall between open floor (2.0 ft away) and open floor (3.0 ft away)"
    ]


def test_a_room_with_a_locked_door_is_not_said_to_have_none() -> None:
    groups = groups_drawn("A.+,B,x.C")
    assert [*groups] == ["doors-locked"]
    group = groups["doors-locked"]
    assert group.statement == "1 of 2 doors is locked: 1 of 3 locations cannot be reached"
    assert messages(group) == ["the door '0:6,0' of room 'C' is locked, and it has no other"]
