"""What each part of a plan means for a route, and what travel costs by mode and connector."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from shapely import LineString, MultiLineString, MultiPolygon, Point, box
from shapely.geometry.base import BaseGeometry

from routing.costing import Costing, TravelMode
from routing.plan import (
    Barrier,
    Connector,
    ConnectorKind,
    Direction,
    Door,
    Level,
    Plan,
    PlanLocation,
    Space,
    SpaceKind,
)
from routing.processing import process_plan
from tests.routing.ascii_plans import CELL_FEET, process_drawing

HALL = Space("hall", "0", box(0, 20, 40, 30), SpaceKind.CORRIDOR)
ROOM = Space("room", "0", box(0, 0, 40, 20))
IN_HALL, IN_ROOM = PlanLocation("in hall", "0", 5, 25), PlanLocation("in room", "0", 5, 5)
ENDS = (IN_HALL, IN_ROOM)
MIN_WHEELCHAIR_FEET = Costing().wheelchair_door_feet


def modes(plan: Plan, source: str, target: str) -> str:
    """The modes with a route from source to target."""
    router = process_plan(plan).router
    return " ".join(mode for mode in TravelMode if router.route(source, target, mode))


@pytest.mark.parametrize(
    ("says", "expected"),
    [
        ({}, "foot wheelchair"),
        ({"width_feet": MIN_WHEELCHAIR_FEET}, "foot wheelchair"),
        ({"width_feet": 2.0}, "foot"),
        ({"wheelchair": True}, "foot wheelchair"),
        ({"wheelchair": False}, "foot"),
        ({"wheelchair": True, "width_feet": 2.0}, "foot"),  # too narrow all the same
        ({"is_locked": True}, ""),
    ],
)
def test_a_door_is_open_to_all_unless_it_says_otherwise(
    says: Mapping[str, Any], expected: str
) -> None:
    # A locked door is drawn, so none is inferred in its place; the other room has one.
    other = Space("other", "0", box(40, 0, 60, 20))
    doors = Door("door", "0", Point(10, 20), **says), Door("other", "0", Point(40, 10))
    spaces = (HALL, ROOM, other)
    plan = Plan((Level("0", 0),), spaces, doors=doors, locations=ENDS)
    assert modes(plan, "in hall", "in room") == expected


@pytest.mark.parametrize(
    "geometry",
    [
        Point(10, 20),
        LineString([(8, 20), (12, 20)]),
        MultiLineString([[(8, 20), (10, 20)], [(10, 20), (12, 20)]]),  # two leaves
        box(8, 19.8, 12, 20.2),
        MultiPolygon([box(8, 19.8, 9.9, 20.2), box(10, 19.8, 12, 20.2)]),
    ],
    ids=lambda shape: shape.geom_type,
)
def test_doors_and_entrances_have_any_geometry(geometry: Any) -> None:
    plan = Plan(
        (Level("0", 0),), (HALL, ROOM), doors=(Door("door", "0", geometry),), locations=ENDS
    )
    assert modes(plan, "in hall", "in room") == "foot wheelchair"
    tower = with_connector(ConnectorKind.ELEVATOR, entrances={"0": geometry, "1": geometry})
    assert modes(tower, "in hall", "above") == "foot wheelchair"


def with_connector(kind: ConnectorKind, **says: Any) -> Plan:
    """Two corridors above each other, and a connector of both."""
    upper = replace(HALL, id="upper", level_id="1")
    entrances: Mapping[str, BaseGeometry] = {"0": Point(30, 25), "1": Point(30, 25)}
    connector = Connector("connector", kind, **{"entrances": entrances, **says})
    places = IN_HALL, PlanLocation("above", "1", 5, 25)
    return Plan((Level("0", 0), Level("1", 1)), (HALL, upper), (), (), (connector,), places)


@pytest.mark.parametrize(
    ("kind", "says", "up", "down"),
    [
        (ConnectorKind.ELEVATOR, {}, "foot wheelchair", "foot wheelchair"),
        (ConnectorKind.ELEVATOR, {"wheelchair": False}, "foot", "foot"),
        (ConnectorKind.ELEVATOR, {"is_in_service": False}, "", ""),
        (ConnectorKind.ELEVATOR, {"direction": Direction.DOWN}, "", "foot wheelchair"),
        (ConnectorKind.RAMP, {}, "foot wheelchair", "foot wheelchair"),
        (ConnectorKind.RAMP, {"wheelchair": False}, "foot", "foot"),
        (ConnectorKind.STEPS, {}, "foot", "foot"),
        (ConnectorKind.STEPS, {"wheelchair": True}, "foot", "foot"),  # none climbs stairs
        (ConnectorKind.ESCALATOR, {}, "foot", "foot"),
        (ConnectorKind.ESCALATOR, {"direction": Direction.UP}, "foot", ""),
        (ConnectorKind.ESCALATOR, {"direction": Direction.DOWN}, "", "foot"),
    ],
)
def test_a_connector_carries_all_that_its_kind_can_both_ways_unless_it_says_otherwise(
    kind: ConnectorKind, says: Mapping[str, Any], up: str, down: str
) -> None:
    plan = with_connector(kind, **says)
    assert modes(plan, "in hall", "above") == up
    assert modes(plan, "above", "in hall") == down


def test_up_is_to_the_higher_ordinal_and_not_to_the_later_level() -> None:
    plan = with_connector(ConnectorKind.ESCALATOR, direction=Direction.UP)
    plan = replace(plan, levels=tuple(reversed(plan.levels)))
    assert modes(plan, "in hall", "above") == "foot"
    assert modes(plan, "above", "in hall") == ""


@pytest.mark.parametrize(("ordinal", "storeys"), [(1, 1), (0.5, 0.5), (-2, 2)])
def test_an_ordinal_is_a_height_in_storeys(ordinal: float, storeys: float) -> None:
    plan = with_connector(ConnectorKind.STEPS)
    plan = replace(plan, levels=(plan.levels[0], Level("1", ordinal)))
    feet = process_plan(plan).router.matrix(["in hall"], ["above"]).feet[0, 0]
    assert feet == pytest.approx(25 + 20 * storeys + 25)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (SpaceKind.ROOM, ""),  # only a door leads into it
        (SpaceKind.CORRIDOR, "foot wheelchair"),
        (SpaceKind.AREA, "foot wheelchair"),
    ],
)
def test_what_touches_a_corridor_is_open_to_it_unless_it_is_a_room(
    kind: SpaceKind, expected: str
) -> None:
    # A locked door is drawn, so none is inferred in its place.
    locked = Door("locked", "0", Point(20, 20), is_locked=True)
    spaces = HALL, replace(ROOM, kind=kind)
    plan = Plan((Level("0", 0),), spaces, doors=(locked,), locations=ENDS)
    assert modes(plan, "in hall", "in room") == expected


def test_a_barrier_blocks_the_way_and_its_end_is_walked_around() -> None:
    plan = Plan((Level("0", 0),), (HALL,), locations=(IN_HALL, replace(IN_ROOM, x=35, y=25)))
    across = Barrier("0", LineString([(20, 20), (20, 30)]))
    pillar = Barrier("0", box(18, 22, 22, 30))
    assert modes(replace(plan, barriers=(across,)), "in hall", "in room") == ""
    router = process_plan(replace(plan, barriers=(pillar,))).router
    around = 2 * Point(5, 25).distance(Point(18, 22)) + 4
    assert router.matrix(["in hall"], ["in room"]).feet[0, 0] == pytest.approx(around)


COSTING = Costing()
WALK = COSTING.feet_per_second(TravelMode.FOOT)
ROLL = COSTING.feet_per_second(TravelMode.WHEELCHAIR)


def between_floors(
    sign: str, mode: TravelMode = TravelMode.FOOT, storeys: int = 1
) -> tuple[float, float]:
    """Feet and seconds from A up to B, which stand four cells from a connector."""
    blank = [sign] * (storeys - 1)
    router = process_drawing(f"{sign},,,A", *blank, f"{sign},,,B").router
    feet, seconds = router.matrix(["A"], ["B"], mode)
    return float(feet[0, 0]), float(seconds[0, 0])


def test_walking_speeds() -> None:
    assert pytest.approx(5.1 * 1000 / 3600 / 0.3048) == WALK
    assert pytest.approx(4.0 * 1000 / 3600 / 0.3048) == ROLL


@pytest.mark.parametrize("storeys", [1, 3])
def test_stairs_are_twenty_feet_a_storey_at_a_third_of_the_speed(storeys: int) -> None:
    feet, seconds = between_floors("s", storeys=storeys)
    walked = 8 * CELL_FEET
    assert feet == pytest.approx(walked + 20 * storeys)
    assert seconds == pytest.approx(walked / WALK + 3 * 20 * storeys / WALK)


@pytest.mark.parametrize("storeys", [1, 3])
@pytest.mark.parametrize("mode", TravelMode)
def test_a_lift_takes_half_a_minute_and_five_seconds_a_storey(
    storeys: int, mode: TravelMode
) -> None:
    feet, seconds = between_floors("e", mode, storeys)
    assert feet == pytest.approx(8 * CELL_FEET)
    assert seconds == pytest.approx(feet / COSTING.feet_per_second(mode) + 30 + 5 * storeys)


def test_an_escalator_is_twenty_feet_at_half_a_metre_a_second() -> None:
    feet, seconds = between_floors("m")
    assert feet == pytest.approx(8 * CELL_FEET + 20)
    assert seconds == pytest.approx(8 * CELL_FEET / WALK + 20 * 0.3048 / 0.5)


def test_a_ramp_is_rolled_up_at_full_speed() -> None:
    feet, seconds = between_floors("r", TravelMode.WHEELCHAIR)
    assert feet == pytest.approx(8 * CELL_FEET + COSTING.ramp_feet_per_storey)
    assert seconds == pytest.approx(feet / ROLL)


@pytest.mark.parametrize(
    ("kind", "feet", "seconds"),
    [
        (ConnectorKind.STEPS, 90, 3 * 90 / WALK),
        (ConnectorKind.ESCALATOR, 90, 90 * 0.3048 / 0.5),
        (ConnectorKind.RAMP, 90, 90 / WALK),
        (ConnectorKind.ELEVATOR, 90, 35),
        (ConnectorKind.ELEVATOR, 300, 300 / WALK),  # a funicular
    ],
)
def test_a_longer_ride_takes_longer(kind: ConnectorKind, feet: float, seconds: float) -> None:
    cost = COSTING.ride_cost(TravelMode.FOOT, kind, 1, feet)
    assert cost.feet == feet
    assert cost.seconds == pytest.approx(seconds)
