"""Floors of levels, what of them is walkable, and what faulty plans end with."""

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from shapely import LineString, MultiPolygon, Point, Polygon, box
from shapely.geometry.base import BaseGeometry

from routing.costing import Costing, TravelMode
from routing.errors import PlanError
from routing.issues import IssueKind, PlanIssue
from routing.picture import draw_level
from routing.plan import (
    Barrier,
    Connector,
    ConnectorKind,
    Door,
    Level,
    Plan,
    PlanLocation,
    Space,
    SpaceKind,
)
from routing.processing import ProcessedPlan, process_plan
from routing.space.floor import SIMPLIFY_FEET, WALL_FEET, FloorSurface, build_floor
from routing.space.plan_repair import repair_plan
from routing.space.walkable import WalkableLevel, build_walkable_levels
from routing.values import FEET_PER_METRE
from tests.routing.ascii_plans import draw_plan
from tests.routing.random_plans import draw_fewer, plans, turned

GROUND = Level("0", 0)
HALL = Space("hall", "0", box(0, 0, 40, 10), SpaceKind.CORRIDOR)


def lay(*spaces: Space, walls: Sequence[BaseGeometry] = (), level: Level = GROUND) -> FloorSurface:
    barriers = [Barrier("0", wall) for wall in walls]  # type: ignore[arg-type]
    return build_floor(level, spaces, barriers)[0]


def issues_of(*spaces: Space, level: Level = GROUND) -> list[PlanIssue]:
    return build_floor(level, spaces, [])[1]


def area(name: str, shape: Polygon) -> Space:
    return Space(name, "0", shape, SpaceKind.AREA)


def room(name: str, shape: Polygon) -> Space:
    return Space(name, "0", shape)


def areas_of(floor: FloorSurface) -> dict[str | None, float]:
    """Square feet by room; None is the open floor."""
    return {piece.room_id: piece.polygon.area for piece in floor.pieces}


@pytest.mark.parametrize(
    ("gap_feet", "pieces"),
    [
        (0.0, 1),
        (0.03, 1),  # a centimetre
        (0.14, 1),  # less than any wall
        (0.3, 2),  # a wall
    ],
)
def test_open_spaces_that_touch_are_one_piece(gap_feet: float, pieces: int) -> None:
    assert len(lay(HALL, area("lobby", box(40 + gap_feet, 0, 60, 30))).pieces) == pieces


def test_rooms_are_pieces_of_their_own_set_back_from_their_walls() -> None:
    floor = lay(HALL, room("a", box(0, 10, 20, 30)), room("b", box(20, 10, 40, 30)))
    assert [piece.room_id for piece in floor.pieces] == [None, "a", "b"]
    assert floor.polygons[1].bounds == pytest.approx((0.05, 10.05, 19.95, 29.95))
    assert floor.polygons[0].bounds == pytest.approx(HALL.polygon.bounds)
    assert [space.id for space in floor.rooms] == ["a", "b"]


def test_a_room_drawn_over_a_corridor_is_taken_out_of_it() -> None:
    floor = lay(area("hall", box(0, 0, 90, 90)), room("kiosk", box(40, 40, 50, 50)))
    assert areas_of(floor) == {
        None: pytest.approx(90 * 90 - 10 * 10),
        "kiosk": pytest.approx(9.9 * 9.9),
    }


@pytest.mark.parametrize("smaller_first", [True, False])
def test_the_smaller_of_two_rooms_has_what_both_cover(smaller_first: bool) -> None:
    rooms = [room("closet", box(0, 0, 6, 6)), room("flat", box(0, 0, 30, 30))]
    floor = lay(*rooms if smaller_first else reversed(rooms))
    areas = areas_of(floor)
    assert areas["closet"] == pytest.approx(5.9 * 5.9)
    assert areas["flat"] == pytest.approx(29.9 * 29.9 - 6 * 6, abs=1.0)


def test_a_room_drawn_twice_leaves_no_strip_around_itself_that_would_be_in_a_doors_way() -> None:
    twice = room("shaft", box(0.3, 10.3, 19.6, 29.8)), room("again", box(0, 10, 20, 30))
    floor = lay(HALL, *twice)
    assert set(areas_of(floor)) == {None, "shaft"}
    # A corner that people can stand in is floor.
    assert "again" in areas_of(lay(HALL, twice[0], room("again", box(0, 10, 30, 30))))


def test_a_room_that_others_cover_has_no_floor_left() -> None:
    floor = lay(
        room("suite", box(0, 0, 20, 10)),
        room("a", box(0, 0, 10, 10)),
        room("b", box(10, 0, 20, 10)),
    )
    assert set(areas_of(floor)) == {"a", "b"}


@pytest.mark.parametrize(
    ("wall", "pieces", "square_feet"),
    [
        (LineString([(20, -1), (20, 11)]), 2, 400 - 10 * WALL_FEET),
        (LineString([(20, 5), (20, 11)]), 1, 400 - (5 + WALL_FEET / 2) * WALL_FEET),
        (LineString([(0, 10), (40, 10)]), 1, 400 - 40 * WALL_FEET / 2),
        (box(18, 3, 22, 7), 1, 400 - 16),  # a pillar is a hole
        (box(18, -1, 22, 11), 2, 400 - 40),
        (Polygon([(18, 2), (22, 8), (22, 2), (18, 8)]), 1, 400 - 12),  # crosses itself
        (MultiPolygon([box(1, 1, 2, 2), box(3, 1, 4, 2)]), 1, 400 - 2),
        (box(100, 0, 110, 10), 1, 400),  # elsewhere
    ],
)
def test_walls_are_taken_out_of_the_floor(
    wall: BaseGeometry, pieces: int, square_feet: float
) -> None:
    floor = lay(HALL, walls=[wall])
    assert len(floor.pieces) == pieces
    assert sum(shape.area for shape in floor.polygons) == pytest.approx(square_feet)


def test_slivers_of_floor_are_left_out() -> None:
    """Behind the wall, 0.002 ft of the corridor are left."""
    assert len(lay(HALL, walls=[box(-1, 9, 41, 9.998)]).pieces) == 1


@pytest.mark.parametrize(
    ("gap_feet", "square_feet"),
    [
        (10.0, 50 * 10),
        (2.6, 50 * 2.6),
        (2.4, None),  # the thickness of a wall
    ],
)
def test_without_a_corridor_the_outline_less_the_rooms_is_open(
    gap_feet: float, square_feet: float | None
) -> None:
    level = Level("0", 0, outline=box(0, 0, 50, 20 + gap_feet))
    rooms = room("a", box(0, 0, 50, 10)), room("b", box(0, 10 + gap_feet, 50, 20 + gap_feet))
    floor = lay(*rooms, level=level)
    assert areas_of(floor).get(None) == (square_feet and pytest.approx(square_feet))
    assert issues_of(*rooms, level=level) == []


@pytest.mark.parametrize(
    ("gap_feet", "square_feet"),
    [
        (6.0, 6 * 200),
        (15.0, 15 * 200),
        (17.0, None),  # too wide for a corridor
        (2.0, None),  # too narrow for one
    ],
)
def test_without_an_outline_gaps_between_rooms_are_guessed_to_be_corridors(
    gap_feet: float, square_feet: float | None
) -> None:
    rooms = room("a", box(0, 0, 200, 10)), room("b", box(0, 10 + gap_feet, 200, 30 + gap_feet))
    found = areas_of(lay(*rooms)).get(None)
    # The ends of the gap are rounded.
    assert found == (square_feet and pytest.approx(square_feet, rel=0.1))
    assert [issue.kind for issue in issues_of(*rooms)] == [IssueKind.OUTLINE_GUESSED]


def test_nothing_is_guessed_around_a_single_room() -> None:
    assert [*areas_of(lay(room("a", box(0, 0, 50, 10))))] == ["a"]
    assert issues_of(room("a", box(0, 0, 50, 10))) == []


def test_pieces_near_a_shape_are_found_in_order() -> None:
    floor = lay(HALL, room("a", box(0, 10, 20, 30)), room("b", box(20, 10, 40, 30)))
    assert floor.pieces_within(Point(20, 10), 0.1) == [0, 1, 2]
    assert floor.pieces_within(Point(20, 10)) == [0]
    assert floor.pieces_within(box(10, 5, 30, 15)) == [0, 1, 2]
    assert floor.pieces_within(Point(-1, 5), 0.99) == []
    assert floor.pieces_within(Point(-1, 5), 1.0) == [0]
    rooms = [room(f"{at}", box(7 * at % 60, 20, 7 * at % 60 + 1, 30)) for at in range(60)]
    assert lay(HALL, *rooms).pieces_within(box(0, 0, 90, 90)) == [*range(61)]


@st.composite
def walled_plans(draw: st.DrawFn) -> Plan:
    """A plan with walls drawn as lines, anywhere."""
    plan = draw(plans(max_levels=1))
    left, top, right, bottom = shapely.total_bounds([space.polygon for space in plan.spaces])
    xs, ys = st.integers(int(left), int(right)), st.integers(int(top), int(bottom))
    point = st.tuples(xs, ys)
    lines = draw(st.lists(st.lists(point, min_size=2, max_size=2, unique=True), max_size=4))
    walls = [Barrier("0", LineString(line)) for line in lines]
    return Plan(plan.levels, plan.spaces, (*plan.barriers, *walls))


@given(walled_plans())
@draw_fewer(1)
def test_pieces_are_a_wall_apart_and_clear_of_barriers(plan: Plan) -> None:
    floor, _ = build_floor(plan.levels[0], plan.spaces, plan.barriers)
    for one, other in combinations(floor.polygons, 2):
        assert one.distance(other) >= WALL_FEET - 2 * SIMPLIFY_FEET
    for piece in floor.pieces:
        own = [space.polygon for space in plan.spaces if piece.room_id in (None, space.id)]
        assert piece.polygon.is_valid
        assert shapely.union_all(own).buffer(SIMPLIFY_FEET).covers(piece.polygon)
    whole = shapely.union_all(floor.polygons)
    for barrier in plan.barriers:
        assert whole.intersection(barrier.geometry.buffer(-SIMPLIFY_FEET)).area < 1e-9
        assert not whole.buffer(-SIMPLIFY_FEET).crosses(barrier.geometry)


CM = FEET_PER_METRE / 100
NARROW_HALL = box(0, 0, 400, 20)
NO_PATH = pytest.approx(np.nan, nan_ok=True)


def build(
    floor: BaseGeometry = NARROW_HALL,
    *walls: BaseGeometry,
    doors: tuple[Door, ...] = (),
    kind: SpaceKind = SpaceKind.CORRIDOR,
    ends: tuple[tuple[float, float], ...] = ((10, 10), (390, 10)),
    degrees: float = 0,
) -> Plan:
    space = Space("hall", "0", floor, kind)  # type: ignore[arg-type]
    barriers = tuple(Barrier("0", wall) for wall in walls)  # type: ignore[arg-type]
    places = tuple(PlanLocation(f"{at}", "0", x, y) for at, (x, y) in enumerate(ends))
    plan = Plan((Level("0", 0),), (space,), barriers, doors, locations=places)
    return turned(plan, degrees) if degrees else plan


def measure(processed: ProcessedPlan) -> float:
    return float(processed.router.matrix(["0"], ["1"]).feet[0, 0])


def list_narrow_gaps(processed: ProcessedPlan) -> list[tuple[float, float]]:
    """Positions of the gaps that the report names, whatever they cut off."""
    named = [problem for problem in processed.report.problems if "a gap in" in problem.message]
    return [problem.at for problem in named if problem.at is not None]


def wall_with_gap(feet: float) -> LineString:
    return LineString([(200, -1), (200, 20 - feet)])


@pytest.mark.parametrize("kind", [SpaceKind.CORRIDOR, SpaceKind.ROOM])
@pytest.mark.parametrize("degrees", [0, 33])
@pytest.mark.parametrize("gap_cm", [1, 24.8])
def test_a_wall_that_ends_just_before_the_other_side_closes_the_floor(
    gap_cm: float, degrees: float, kind: SpaceKind
) -> None:
    plan = build(NARROW_HALL, wall_with_gap(gap_cm * CM), degrees=degrees, kind=kind)
    processed = process_plan(plan)
    assert measure(processed) == NO_PATH
    if kind is SpaceKind.ROOM and gap_cm < 3:
        return  # the wall around the room closes it
    [at] = list_narrow_gaps(processed)
    [expected] = build(ends=((200, 20 - gap_cm * CM / 2),), degrees=degrees).locations
    assert at == pytest.approx((expected.x, expected.y), abs=0.01)
    [problem] = [each for each in processed.report.problems if "a gap in" in each.message]
    assert f"({gap_cm / 100:.3f} m) wide" in problem.message
    assert problem.locations == (kind is SpaceKind.CORRIDOR)  # the room has no door either way
    assert "a gap in" in draw_level(processed, "0")


@pytest.mark.parametrize("kind", [SpaceKind.CORRIDOR, SpaceKind.ROOM])
def test_a_gap_of_a_quarter_of_a_metre_is_passed(kind: SpaceKind) -> None:
    processed = process_plan(build(NARROW_HALL, wall_with_gap(25 * CM), kind=kind))
    assert measure(processed) == pytest.approx(2 * np.hypot(190, 10 - 25 * CM), abs=0.01)
    assert list_narrow_gaps(processed) == []


@pytest.mark.parametrize(
    "walls",
    [
        # walls that miss each other at a corner
        [[(200, 0), (200, 9)], [(200 + 2 * CM, 9 + 2 * CM), (200 + 2 * CM, 20)]],
        # walls side by side, which leave a passage of 40 ft between them
        [[(180, 0), (180, 10), (220, 10)], [(180, 10 + 20 * CM), (220, 10 + 20 * CM), (220, 20)]],
    ],
)
def test_walls_that_miss_each_other_close_the_floor(walls: list[list[tuple[float, float]]]) -> None:
    processed = process_plan(build(NARROW_HALL, *map(LineString, walls)))
    assert measure(processed) == NO_PATH
    assert len(list_narrow_gaps(processed)) == 1


@pytest.mark.parametrize("width_cm", [1, 20])
def test_floor_that_touches_in_a_narrow_place_is_not_joined(width_cm: float) -> None:
    """Nor is a door guessed through the wall beside it, which has no other thickness."""
    low = 10 - width_cm * CM / 2
    slot = box(199, low, 201, low + width_cm * CM)
    floor = shapely.union_all([box(0, 0, 199.8, 20), box(200.2, 0, 400, 20), slot])
    processed = process_plan(build(floor))
    assert measure(processed) == NO_PATH
    assert len(list_narrow_gaps(processed)) == 1


def test_a_way_round_is_taken_instead_of_a_gap_and_nothing_is_cut_off() -> None:
    ring = box(0, 0, 60, 60).difference(box(10, 0.1, 50, 50))
    processed = process_plan(build(ring, ends=((5, 5), (55, 5))))
    corners = [(5, 5), (10, 50), (50, 50), (55, 5)]
    assert measure(processed) == pytest.approx(LineString(corners).length, abs=0.01)
    [group] = processed.report.groups
    assert (group.cause, group.count, group.locations) == (IssueKind.GAP_TOO_NARROW, 1, 0)


@pytest.mark.parametrize("width_feet", [None, 3.0])
def test_a_door_drawn_in_a_gap_opens_it_and_settles_it(width_feet: float | None) -> None:
    door = Door("door", "0", Point(200, 20 - 10 * CM), width_feet)
    processed = process_plan(build(NARROW_HALL, wall_with_gap(20 * CM), doors=(door,)))
    assert 380 < measure(processed) < 381
    assert processed.report.problems == ()
    # A door elsewhere in the wall does not open the gap beside it.
    beside = Door("door", "0", Point(200, 5), width_feet)
    processed = process_plan(build(NARROW_HALL, wall_with_gap(20 * CM), doors=(beside,)))
    assert 380 < measure(processed) < 381
    assert len(list_narrow_gaps(processed)) == 1


def test_niches_and_all_other_floor_stay_as_they_are_drawn() -> None:
    niche = box(100, 20, 100 + 10 * CM, 24)
    floor = NARROW_HALL.union(niche).difference(box(300, 19, 310, 19.9))
    processed = process_plan(build(floor, ends=((10, 10), (100 + 5 * CM, 23))))
    assert measure(processed) > 0
    [at] = list_narrow_gaps(processed)
    assert at == pytest.approx((305, 19.95), abs=6)
    [piece] = processed.walkable_levels[0].floor.pieces
    closed = floor.difference(piece.polygon)
    assert closed.area == pytest.approx(1, abs=0.1)  # behind the pillar
    assert shapely.covers(box(299, 19, 311, 20), closed.buffer(-1e-6))


def test_a_polygon_without_any_wide_floor_has_no_gap() -> None:
    slit = Polygon([(0, 0), (50, 0), (50, 0.3), (25, 0.2), (0, 0.3)])
    assert list_narrow_gaps(process_plan(build(slit, ends=((1, 0.1), (49, 0.1))))) == []


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


LONG_HALL = Space("hall", "0", box(0, 0, 400, 20), SpaceKind.CORRIDOR)
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
    (built, _), _ = build_walkable_levels(Plan(levels, (LONG_HALL,), connectors=(connector,)))
    assert parts(built) == 1
    area = built.walkable_area((), TravelMode.WHEELCHAIR)
    assert shapely.get_num_geometries(area) == parts_on_wheels
    assert built.are_all_passable(TravelMode.WHEELCHAIR, Costing()) is built.steps.is_empty


def test_steps_in_a_wide_hall_leave_a_way_around() -> None:
    square = replace(LONG_HALL, polygon=box(0, -100, 400, 100))
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


BOWTIE = Polygon([(0, 0), (20, 20), (20, 0), (0, 20)])


def kinds(plan: Plan) -> list[IssueKind]:
    return [problem.kind for problem in repair_plan(plan)[1]]


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (Plan(()), "has no levels"),
        (Plan((GROUND, GROUND)), "2 levels have the id '0'"),
        (
            Plan((Level("0", float("nan")),)),
            "level '0' has a coordinate that is not a finite number",
        ),
        (
            Plan((GROUND, Level("1", 1)), (replace(HALL, level_id="2"),)),
            "space 'hall' is on level '2', which the plan does not have; it has '0', '1'",
        ),
        (Plan((GROUND,), doors=(Door("d", "9", Point(0, 0)),)), "door 'd' is on level '9'"),
        (
            Plan((GROUND,), (HALL,), (Barrier("0", box(0, 0, float("inf"), 1), "b"),)),
            "barrier 'b' has a coordinate that is not a finite number",
        ),
        (
            Plan((GROUND,), locations=(PlanLocation("a", "0", 1, 1), PlanLocation("a", "0", 2, 2))),
            "2 locations have the id 'a'",
        ),
        (
            Plan((GROUND,), locations=(PlanLocation("a", "0", float("nan"), 1),)),
            "location 'a' has a coordinate that is not a finite number",
        ),
    ],
)
def test_a_plan_that_contradicts_itself_is_refused(plan: Plan, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        repair_plan(plan)


def test_rooms_by_the_hundred_in_one_place_are_refused_before_they_are_compared() -> None:
    """On several levels, they are a tower."""
    rooms = tuple(Space(f"r{n}", "0", box(0, 0, 20, 20)) for n in range(1_100))
    with pytest.raises(
        PlanError, match="Too many rooms of level '0' lie over one another, such as"
    ):
        repair_plan(Plan((GROUND,), rooms))
    levels = tuple(Level(str(n), n) for n in range(1_100))
    stacked = tuple(replace(room, level_id=str(n)) for n, room in enumerate(rooms))
    assert repair_plan(Plan(levels, stacked))[1] == []


def test_a_self_crossing_outline_is_repaired_and_reported() -> None:
    plan, problems = repair_plan(Plan((GROUND,), (Space("bow", "0", BOWTIE, name="Bow"),)))
    assert [problem.kind for problem in problems] == [IssueKind.SELF_CROSSING]
    assert "room 'bow' (Bow) crosses itself" in problems[0].message
    assert plan.spaces[0].polygon.is_valid
    assert plan.spaces[0].polygon.area == pytest.approx(200)


def test_a_space_without_area_is_left_out_and_reported() -> None:
    flat = Space("line", "0", Polygon([(0, 0), (10, 0), (20, 0)]))
    plan, problems = repair_plan(Plan((GROUND,), (HALL, flat)))
    assert IssueKind.NO_AREA in [problem.kind for problem in problems]
    assert plan.spaces == (HALL,)


@pytest.mark.parametrize(
    ("other", "overlaps"),
    [
        (box(10, 0, 30, 20), True),
        (box(0, 0, 20, 20), True),  # the same room drawn twice
        (box(2, 2, 8, 8), False),  # a closet
        (box(19.98, 0, 40, 20), False),  # drawn by hand
    ],
)
def test_overlapping_rooms_are_reported(other: Polygon, overlaps: bool) -> None:
    rooms = (Space("a", "0", box(0, 0, 20, 20)), Space("b", "0", other))
    assert (IssueKind.OVERLAPPING_ROOMS in kinds(Plan((GROUND,), rooms))) is overlaps


def test_two_levels_of_one_name_are_reported() -> None:
    plan = Plan((Level("0", 0, "Floor"), Level("1", 1, "Floor"), Level("2", 2), Level("3", 3)))
    assert kinds(plan) == [IssueKind.DUPLICATE_LEVEL_NAME]


@pytest.mark.parametrize("feet", [1.0, 100_000.0])
def test_an_implausible_scale_is_reported(feet: float) -> None:
    [issue] = repair_plan(Plan((GROUND,), (Space("a", "0", box(0, 0, feet, feet)),)))[1]
    assert issue.kind is IssueKind.IMPLAUSIBLE_SCALE
    assert json.loads(json.dumps(issue.at)) == [feet / 2, feet / 2]
    assert all(type(number) is float for number in issue.at or ())
