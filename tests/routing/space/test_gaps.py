"""People do not pass gaps narrower than 0.25 m; all other floor stays as it is drawn."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from shapely import LineString, Point, Polygon, box
from shapely.geometry.base import BaseGeometry

from routing.issues import IssueKind
from routing.picture import draw_level
from routing.plan import Barrier, Door, Level, Plan, PlanLocation, Space, SpaceKind
from routing.processing import ProcessedPlan, process_plan
from routing.units import FEET_PER_METRE
from tests.routing.random_plans import turned

CM = FEET_PER_METRE / 100
HALL = box(0, 0, 400, 20)
NO_PATH = pytest.approx(np.nan, nan_ok=True)


def build(
    floor: BaseGeometry = HALL,
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


def list_gaps(processed: ProcessedPlan) -> list[tuple[float, float]]:
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
    plan = build(HALL, wall_with_gap(gap_cm * CM), degrees=degrees, kind=kind)
    processed = process_plan(plan)
    assert measure(processed) == NO_PATH
    if kind is SpaceKind.ROOM and gap_cm < 3:
        return  # the wall around the room closes it
    [at] = list_gaps(processed)
    [expected] = build(ends=((200, 20 - gap_cm * CM / 2),), degrees=degrees).locations
    assert at == pytest.approx((expected.x, expected.y), abs=0.01)
    [problem] = [each for each in processed.report.problems if "a gap in" in each.message]
    assert f"({gap_cm / 100:.3f} m) wide" in problem.message
    assert problem.locations == (kind is SpaceKind.CORRIDOR)  # the room has no door either way
    assert "a gap in" in draw_level(processed, "0")


@pytest.mark.parametrize("kind", [SpaceKind.CORRIDOR, SpaceKind.ROOM])
def test_a_gap_of_a_quarter_of_a_metre_is_passed(kind: SpaceKind) -> None:
    processed = process_plan(build(HALL, wall_with_gap(25 * CM), kind=kind))
    assert measure(processed) == pytest.approx(2 * np.hypot(190, 10 - 25 * CM), abs=0.01)
    assert list_gaps(processed) == []


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
    processed = process_plan(build(HALL, *map(LineString, walls)))
    assert measure(processed) == NO_PATH
    assert len(list_gaps(processed)) == 1


@pytest.mark.parametrize("width_cm", [1, 20])
def test_floor_that_touches_in_a_narrow_place_is_not_joined(width_cm: float) -> None:
    """Nor is a door guessed through the wall beside it, which has no other thickness."""
    low = 10 - width_cm * CM / 2
    slot = box(199, low, 201, low + width_cm * CM)
    floor = shapely.union_all([box(0, 0, 199.8, 20), box(200.2, 0, 400, 20), slot])
    processed = process_plan(build(floor))
    assert measure(processed) == NO_PATH
    assert len(list_gaps(processed)) == 1


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
    processed = process_plan(build(HALL, wall_with_gap(20 * CM), doors=(door,)))
    assert 380 < measure(processed) < 381
    assert processed.report.problems == ()
    # A door elsewhere in the wall does not open the gap beside it.
    beside = Door("door", "0", Point(200, 5), width_feet)
    processed = process_plan(build(HALL, wall_with_gap(20 * CM), doors=(beside,)))
    assert 380 < measure(processed) < 381
    assert len(list_gaps(processed)) == 1


def test_niches_and_all_other_floor_stay_as_they_are_drawn() -> None:
    niche = box(100, 20, 100 + 10 * CM, 24)
    floor = HALL.union(niche).difference(box(300, 19, 310, 19.9))
    processed = process_plan(build(floor, ends=((10, 10), (100 + 5 * CM, 23))))
    assert measure(processed) > 0
    [at] = list_gaps(processed)
    assert at == pytest.approx((305, 19.95), abs=6)
    [piece] = processed.walkable_levels[0].floor.pieces
    closed = floor.difference(piece.polygon)
    assert closed.area == pytest.approx(1, abs=0.1)  # behind the pillar
    assert shapely.covers(box(299, 19, 311, 20), closed.buffer(-1e-6))


def test_a_polygon_without_any_wide_floor_has_no_gap() -> None:
    slit = Polygon([(0, 0), (50, 0), (50, 0.3), (25, 0.2), (0, 0.3)])
    assert list_gaps(process_plan(build(slit, ends=((1, 0.1), (49, 0.1))))) == []
