"""What can be walked on: rooms are enclosed, what touches of corridors and areas is open."""

import shapely
from shapely import LineString, box

from routing.costing import Costing, TravelMode
from routing.issues import IssueKind
from routing.plan import Barrier, Level, Plan, Space, SpaceKind
from routing.space.plan_repair import repair_plan
from routing.space.walkable import WalkableLevel, build_walkable_levels
from tests.routing.world import draw_plan

ROOM, CORRIDOR, AREA = SpaceKind.ROOM, SpaceKind.CORRIDOR, SpaceKind.AREA


def build(*spaces: Space, barriers: tuple[Barrier, ...] = (), level: Level | None = None) -> int:
    """The number of connected parts of a plan of one level on foot."""
    plan = Plan((level or Level("0", 0),), spaces, barriers)
    return parts(build_walkable_levels(repair_plan(plan)[0])[0][0])


def parts(built: WalkableLevel, mode: TravelMode = TravelMode.FOOT) -> int:
    free = built.walkable_area(built.passable_openings(mode, Costing()))
    return int(shapely.get_num_geometries(free))


def test_a_corridor_and_an_area_that_touch_are_open_to_each_other() -> None:
    assert build(
        Space("hall", "0", box(0, 0, 40, 10), CORRIDOR),
        Space("lobby", "0", box(40, 0, 60, 30), AREA),
    ) == 1  # fmt: skip


def test_spaces_a_centimetre_apart_touch() -> None:
    assert build(
        Space("hall", "0", box(0, 0, 40, 10), CORRIDOR),
        Space("lobby", "0", box(40.03, 0, 60, 30), AREA),
    ) == 1  # fmt: skip


def test_spaces_a_wall_apart_do_not_touch() -> None:
    assert build(
        Space("hall", "0", box(0, 0, 40, 10), CORRIDOR),
        Space("lobby", "0", box(40.3, 0, 60, 30), AREA),
    ) == 2  # fmt: skip


def test_a_room_drawn_over_a_corridor_is_taken_out_of_it() -> None:
    plan = Plan(
        (Level("0", 0),),
        (Space("hall", "0", box(0, 0, 90, 90), AREA), Space("kiosk", "0", box(40, 40, 50, 50))),
    )
    (built,), _ = build_walkable_levels(plan)
    hall = next(piece for piece in built.floor.pieces if piece.room_id is None)
    assert abs(hall.polygon.area - (90 * 90 - 10 * 10)) < 0.1


def test_rooms_within_a_room_are_taken_out_of_it() -> None:
    plan = Plan(
        (Level("0", 0),),
        (Space("flat", "0", box(0, 0, 30, 30)), Space("closet", "0", box(0, 0, 6, 6))),
    )
    (built,), _ = build_walkable_levels(plan)
    areas = {piece.room_id: piece.polygon.area for piece in built.floor.pieces}
    assert abs(areas["flat"] - (900 - 36)) < 7
    assert abs(areas["closet"] - 36) < 2


def test_a_wall_line_divides_a_corridor() -> None:
    wall = Barrier("0", LineString([(20, -1), (20, 11)]))
    assert build(Space("hall", "0", box(0, 0, 40, 10), CORRIDOR), barriers=(wall,)) == 2


def test_a_pillar_is_a_hole() -> None:
    plan = Plan(
        (Level("0", 0),),
        (Space("hall", "0", box(0, 0, 40, 40), CORRIDOR),),
        (Barrier("0", box(18, 18, 22, 22)),),
    )
    (built,), _ = build_walkable_levels(plan)
    assert abs(built.floor.polygons[0].area - (1600 - 16)) < 0.01


def test_without_a_corridor_the_outline_less_the_rooms_is_walkable() -> None:
    level = Level("0", 0, outline=box(0, 0, 50, 30))
    spaces = (Space("a", "0", box(0, 0, 50, 10)), Space("b", "0", box(0, 20, 50, 30)))
    (built,), _ = build_walkable_levels(Plan((level,), spaces))
    corridor = next(piece for piece in built.floor.pieces if piece.room_id is None)
    assert abs(corridor.polygon.area - 500) < 0.1


def test_a_corridor_is_guessed_between_rooms_where_nothing_says_more() -> None:
    spaces = (Space("a", "0", box(0, 0, 50, 10)), Space("b", "0", box(0, 16, 50, 30)))
    (built,), problems = build_walkable_levels(Plan((Level("0", 0),), spaces))
    assert [problem.kind for problem in problems] == [IssueKind.OUTLINE_GUESSED]
    corridor = next(piece for piece in built.floor.pieces if piece.room_id is None)
    assert abs(corridor.polygon.area - 6 * 50) < 25


def test_a_wheelchair_has_less_floor_joined_than_feet_have() -> None:
    plan = draw_plan(
        """
        #####
        #A#B#
        #n#?#
        #,,,#
        #####
        """
    )
    (built,), _ = build_walkable_levels(plan)
    assert parts(built) == 1
    assert parts(built, TravelMode.WHEELCHAIR) == 3


def test_a_level_without_floor_is_reported() -> None:
    plan = draw_plan("A..", "###")
    _, problems = build_walkable_levels(plan)
    assert [(p.kind, p.level_id) for p in problems if p.kind is IssueKind.EMPTY_LEVEL] == [
        (IssueKind.EMPTY_LEVEL, "1")
    ]
