"""The walkable area of a level is its floor, joined by the doors that a mode passes."""

import shapely

from routing.costing import Costing, TravelMode
from routing.issues import IssueKind
from routing.space.walkable import WalkableLevel, build_walkable_levels
from tests.routing.ascii_plans import draw_plan


def parts(built: WalkableLevel, mode: TravelMode = TravelMode.FOOT) -> int:
    free = built.walkable_area(built.passable_openings(mode, Costing()))
    return int(shapely.get_num_geometries(free))


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
