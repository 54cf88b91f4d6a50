"""Doors that a plan does not show are inferred, said to be, and only where doors are not shown."""

from shapely import box

from routing.issues import IssueKind
from routing.plan import Connector, ConnectorKind, Level, Plan, Space, SpaceKind
from routing.space.doors import DoorOrigin
from routing.space.walkable import build_walkable_levels
from tests.routing.ascii_plans import draw_plan

HALL = Space("hall", "0", box(0, 20, 60, 30), SpaceKind.CORRIDOR)
SHOPS = [Space(f"shop {at}", "0", box(20 * at, 0, 20 * at + 20, 20)) for at in range(3)]


def test_rooms_of_a_plan_without_doors_open_to_the_corridor() -> None:
    (built,), problems = build_walkable_levels(Plan((Level("0", 0),), (HALL, *SHOPS)))
    assert [opening.origin for opening in built.openings] == [DoorOrigin.INFERRED] * 3
    joined = [{built.floor.pieces[at].room_id for at in o.piece_indexes} for o in built.openings]
    assert joined == [{"shop 0", None}, {"shop 1", None}, {"shop 2", None}]
    assert problems == []


def test_an_inferred_door_stands_in_the_middle_of_the_longest_shared_edge() -> None:
    (built,), _ = build_walkable_levels(Plan((Level("0", 0),), (HALL, SHOPS[0])))
    [opening] = built.openings
    assert opening.shape.centroid.distance(box(9.9, 19.9, 10.1, 20.1)) < 0.1


def test_a_room_that_touches_only_rooms_opens_to_one_that_is_entered() -> None:
    back = Space("back office", "0", box(0, -20, 20, 0))
    (built,), problems = build_walkable_levels(Plan((Level("0", 0),), (HALL, *SHOPS, back)))
    joined = [{built.floor.pieces[at].room_id for at in o.piece_indexes} for o in built.openings]
    assert {"back office", "shop 0"} in joined
    assert problems == []


def test_a_room_without_door_is_enclosed_where_most_rooms_have_one() -> None:
    plan = draw_plan(
        """
        #######
        #A#B#C#
        #+#+###
        #,,,,,#
        #######
        """
    )
    (built,), problems = build_walkable_levels(plan)
    assert built.count_openings(DoorOrigin.INFERRED) == 0
    assert [(p.kind, p.part) for p in problems] == [(IssueKind.ROOM_ENCLOSED, "room C")]


def test_the_shaft_of_a_lift_is_entered_even_if_it_shows_no_door() -> None:
    rooms = [Space("shaft", "0", box(60, 20, 68, 30)), *SHOPS]
    lift = Connector("lift", ConnectorKind.ELEVATOR, {"0": box(60, 20, 68, 30)})
    (built,), _ = build_walkable_levels(Plan((Level("0", 0),), (HALL, *rooms), connectors=(lift,)))
    assert "inferred:shaft" in {opening.door_id for opening in built.openings}


def test_two_buildings_with_nothing_drawn_between_them_are_not_joined() -> None:
    shops = [Space(f"far {at}", "0", box(500 + 20 * at, 0, 520 + 20 * at, 20)) for at in range(2)]
    (built,), problems = build_walkable_levels(Plan((Level("0", 0),), (HALL, *SHOPS, *shops)))
    assert built.count_openings(DoorOrigin.INFERRED) == 3
    assert [problem.part for problem in problems] == ["far 0", "far 1"]
