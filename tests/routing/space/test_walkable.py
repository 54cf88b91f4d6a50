"""The walkable area of a level is its floor, joined by the doors that a mode passes."""

from dataclasses import replace
from typing import Any

import pytest
import shapely
from shapely import LineString, Polygon, box

from routing.costing import Costing, TravelMode
from routing.plan import Connector, ConnectorKind, Level, Plan, Space, SpaceKind
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


HALL = Space("hall", "0", box(0, 0, 400, 20), SpaceKind.CORRIDOR)
ACROSS = LineString([(195, 9), (205, 11)])


@pytest.mark.parametrize(
    ("steps", "says", "parts_on_wheels"),
    [
        (box(195, 0, 205, 20), {}, 2),
        (box(195, 0.5, 205, 18), {}, 2),  # too narrow beside them
        (box(195, 4, 205, 16), {}, 1),
        (ACROSS, {}, 2),  # as wide as the corridor
        (LineString([(195, 3), (205, 3)]), {}, 2),
        (LineString([(200, 0), (200, 20)]), {}, 2),
        (ACROSS, {"width_feet": 6.0}, 1),
        (ACROSS, {"kind": ConnectorKind.ESCALATOR}, 2),
        (ACROSS, {"wheelchair": True}, 1),
        (ACROSS, {"kind": ConnectorKind.RAMP}, 1),
        (box(195, 0, 205, 20), {"entrances": {"0": ACROSS, "1": ACROSS}}, 1),
    ],
)
def test_no_wheelchair_crosses_steps_that_lead_from_one_part_of_a_level_to_another(
    steps: Polygon | LineString, says: dict[str, Any], parts_on_wheels: int
) -> None:
    connector = Connector(
        **{"id": "s", "kind": ConnectorKind.STEPS, "entrances": {"0": steps}, **says}
    )
    levels = Level("0", 0), Level("1", 1)
    (built, _), _ = build_walkable_levels(Plan(levels, (HALL,), connectors=(connector,)))
    assert parts(built) == 1
    area = built.walkable_area((), TravelMode.WHEELCHAIR)
    assert shapely.get_num_geometries(area) == parts_on_wheels
    assert built.are_all_passable(TravelMode.WHEELCHAIR, Costing()) is built.steps.is_empty


def test_steps_in_a_wide_hall_leave_a_way_around() -> None:
    square = replace(HALL, polygon=box(0, -100, 400, 100))
    steps = Connector("s", ConnectorKind.STEPS, {"0": LineString([(190, 0), (210, 0)])})
    (built,), _ = build_walkable_levels(Plan((Level("0", 0),), (square,), connectors=(steps,)))
    assert built.steps.bounds == (190, -2.5, 210, 2.5)


@pytest.mark.parametrize("apart_feet", [-1e-6, -1e-9, 0.0, 1e-6])
def test_corridors_that_touch_in_a_point_are_not_joined(apart_feet: float) -> None:
    corridors = box(0, 0, 20, 8), box(20 + apart_feet, 8, 40, 16)
    spaces = [Space(str(at), "0", shape, SpaceKind.CORRIDOR) for at, shape in enumerate(corridors)]
    [level], _ = build_walkable_levels(Plan((Level("0", 0),), tuple(spaces), (), (), (), ()))
    one, other = shapely.get_parts(level.walkable_area(()))
    assert one.distance(other) > 1e-5
