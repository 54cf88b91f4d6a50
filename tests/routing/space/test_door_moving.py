"""A door beside the wall of a room without another door is used; any other stays reported."""

import pytest
from shapely import Point, box

from routing.issues import IssueKind, PlanIssue
from routing.plan import Barrier, Door, Level, Plan, Space, SpaceKind
from routing.space.doors import DoorOrigin
from routing.space.walkable import WalkableLevel, build_walkable_levels

HALL = Space("hall", "0", box(0, 20, 40, 30), SpaceKind.CORRIDOR)
ROOMS = Space("a", "0", box(0, 0, 20, 20)), Space("b", "0", box(20, 0, 40, 20))


def build(
    *doors: Door, barriers: tuple[Barrier, ...] = ()
) -> tuple[WalkableLevel, list[PlanIssue]]:
    (built,), issues = build_walkable_levels(
        Plan((Level("0", 0),), (HALL, *ROOMS), barriers, doors)
    )
    return built, issues


@pytest.mark.parametrize("y", [18.2, 21.8])
def test_a_door_beside_the_wall_is_moved_into_it_and_reported_once(y: float) -> None:
    built, issues = build(Door("d", "0", Point(10, y)), Door("other", "0", Point(30, 20)))
    opening = next(opening for opening in built.openings if opening.door_id == "d")
    assert {built.floor.pieces[index].room_id for index in opening.piece_indexes} == {"a", None}
    assert (opening.origin, opening.confidence) == (DoorOrigin.REPAIRED, 0.8)
    assert opening.shape.centroid.distance(Point(10, 20)) < 0.2
    assert [(issue.kind, issue.part) for issue in issues] == [(IssueKind.DOOR_MOVED, "d")]
    assert "moved by 1.8 ft to join" in issues[0].message


def test_a_moved_door_stands_in_the_wall_with_all_of_its_width() -> None:
    built, _ = build(Door("d", "0", Point(17.6, 18)), Door("other", "0", Point(30, 20)))
    moved = next(opening for opening in built.openings if opening.door_id == "d")
    [other] = [piece.polygon for piece in built.floor.pieces if piece.room_id == "b"]
    assert not moved.shape.intersects(other)
    assert moved.shape.area > 0.2


def test_a_door_in_a_room_that_has_one_stays_where_it_is() -> None:
    doors = [Door(f"{x}", "0", Point(x, 20)) for x in (10, 30)]
    built, issues = build(*doors, Door("extra", "0", Point(5, 18.2)))
    assert len(built.openings) == 2
    assert [issue.kind for issue in issues] == [IssueKind.DOOR_NOT_NEEDED]


@pytest.mark.parametrize(
    "at",
    [
        Point(20, 22),  # as near to the wall of the one room as to that of the other
        Point(10, 10),  # in the middle of a room
    ],
)
def test_a_door_that_may_stand_in_several_walls_or_in_none_is_not_moved(at: Point) -> None:
    built, issues = build(Door("d", "0", at))
    assert all(opening.origin is DoorOrigin.INFERRED for opening in built.openings)
    assert issues[0].part == "d"


def test_a_door_in_the_middle_of_a_room_without_another_is_not_called_needless() -> None:
    _, issues = build(Door("d", "0", Point(10, 10)), Door("other", "0", Point(30, 20)))
    assert "the room has no other door: draw it in the wall" in issues[0].message
    assert [issue.kind for issue in issues] == [
        IssueKind.DOOR_JOINS_NOTHING,
        IssueKind.DOOR_INFERRED,
    ]


def test_a_door_is_not_moved_into_a_wall_that_is_drawn() -> None:
    wall = Barrier("0", box(-1, 19.9, 41, 20.1))
    built, issues = build(Door("d", "0", Point(10, 18.2)), barriers=(wall,))
    assert {frozenset(o.piece_indexes) for o in built.openings if o.door_id == "d"} == set()
    assert IssueKind.DOOR_MOVED not in {issue.kind for issue in issues}
