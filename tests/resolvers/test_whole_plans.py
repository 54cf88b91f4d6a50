"""Whole plans as mappers leave them, against walks measured on the same rooms drawn by hand.

The truth is made of the metres below and shares nothing with how plans are read, doors fitted and
graphs built: rooms set back from their walls, doorways where they are, the exact geodesic.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
import pytest
import shapely
from shapely.geometry import Polygon
from shapely.geometry import box as rectangle
from shapely.geometry.base import BaseGeometry

from bench.geodesic import geodesic_feet
from parsing import plans
from resolvers.plans.translation import TranslatedPlan, translate_plan
from routing.costing import Costing, TravelMode
from routing.processing import ProcessedPlan, process_plan
from routing.search.matrix import TravelMatrix
from routing.space.doors import DEFAULT_DOOR_FEET
from tests.parsing.geography import Metres, OsmPlanBuilder, box

METRE_FEET = 1 / 0.3048
DOOR_METRES = DEFAULT_DOOR_FEET / METRE_FEET
WALL_METRES = 0.015
MEAN, P95 = 0.002, 0.01

ROOMS = {
    "A": box(0, 2, 6, 16),
    "B": box(6, 2, 12, 16),
    "C": box(12, 2, 18, 9),
    "D": box(12, 9, 18, 16),
}
BEND: list[Metres] = [(0, 0), (20, 0), (20, 16), (18, 16), (18, 2), (0, 2), (0, 0)]
"""A corridor in the shape of an L, around the rooms."""


def process_osm(builder: OsmPlanBuilder) -> tuple[TranslatedPlan, ProcessedPlan]:
    translated = translate_plan(plans.read_plan({"plan.osm": builder.to_osm()}), "m")
    return translated, process_plan(translated.plan)


def draw_rooms(builder: OsmPlanBuilder, level: str = "0") -> None:
    for name, outline in ROOMS.items():
        builder.add_way(outline, indoor="room", level=level, name=name)


def doorway(at: Metres, width: float = DOOR_METRES, depth: float = 0.1) -> Polygon:
    """An opening in a wall that runs along the longer of its sides."""
    (x, y), (across, along) = at, (width / 2, depth)
    is_upright = x == 18
    dx, dy = (along, across) if is_upright else (across, along)
    return rectangle(x - dx, y - dy, x + dx, y + dy)


def walkable(
    rooms: Sequence[list[Metres]], corridor: list[Metres], doors: list[Polygon]
) -> BaseGeometry:
    inner = [Polygon(room).buffer(-WALL_METRES, join_style="mitre") for room in rooms]
    whole: BaseGeometry = shapely.union_all([*inner, Polygon(corridor), *doors])
    return whole


def check(
    translated: TranslatedPlan, found: TravelMatrix, truth: BaseGeometry, corners: list[Metres]
) -> None:
    """Whether all walks between the plan's places are as long as they are in `truth`, in metres."""
    west, north = min(x for x, _ in corners), max(y for _, y in corners)
    east, south = max(x for x, _ in corners), min(y for _, y in corners)
    bounds = translated.drawing.bounds
    scale = np.array(((bounds.east - bounds.west) / (east - west), bounds.south / (north - south)))
    feet = np.array([(place.x, place.y) for place in translated.candidates])
    metres = feet / scale
    points = [(west + x, north - y) for x, y in metres.tolist()]
    exact = geodesic_feet(truth, points) * scale.mean()
    assert np.isfinite(exact).all() and np.isfinite(found.feet).all()
    apart = exact > 0
    errors = np.abs(found.feet[apart] / exact[apart] - 1)
    assert errors.mean() <= MEAN
    assert np.percentile(errors, 95) <= P95
    np.fill_diagonal(exact, np.inf)
    nearest = found.feet + np.where(np.eye(len(exact), dtype=bool), np.inf, 0)
    assert (nearest.argmin(axis=1) == exact.argmin(axis=1)).all()


def matrix(
    processed: ProcessedPlan, translated: TranslatedPlan, mode: TravelMode = TravelMode.FOOT
) -> TravelMatrix:
    ids = [place.id for place in translated.candidates]
    return processed.router.matrix(ids, ids, mode)


def test_without_a_drawn_corridor_what_the_rooms_leave_of_the_level_is_walkable() -> None:
    builder = OsmPlanBuilder()
    outline = box(0, 0, 20, 16)
    builder.add_way(outline, indoor="level", level="0")
    draw_rooms(builder)
    doors: list[Metres] = [(3, 2), (9, 2), (18, 5), (18, 12)]
    for at in doors:
        builder.add_node(at, door="yes", level="0")
    translated, processed = process_osm(builder)
    (level,) = processed.report.levels
    assert (level.doors_as_drawn, level.doors_inferred) == (4, 0)
    truth = walkable(list(ROOMS.values()), BEND, [doorway(at) for at in doors])
    check(translated, matrix(processed, translated), truth, outline)


@pytest.mark.parametrize("wall_metres", [0.1, 0.3, 0.6])
def test_doors_in_the_middle_of_thick_walls_are_extended_to_both_sides(wall_metres: float) -> None:
    builder = OsmPlanBuilder()
    corridor = box(0, 0, 20, 2)
    rooms = [box(x, 2 + wall_metres, x + 6, 9) for x in (0.0, 6.5, 13.0)]
    doors: list[Metres] = [(x + 2, 2 + wall_metres / 2) for x in (0.0, 6.5, 13.0)]
    builder.add_way(corridor, indoor="corridor", level="0")
    for number, room in enumerate(rooms):
        builder.add_way(room, indoor="room", level="0", name=str(number))
    for at in doors:
        builder.add_node(at, door="yes", level="0", width="1")
    translated, processed = process_osm(builder)
    (level,) = processed.report.levels
    assert level.doors_as_drawn + level.doors_repaired == 3
    openings = [doorway(at, 1.0, wall_metres / 2 + 0.1) for at in doors]
    corners = list(chain(corridor, *rooms))
    check(translated, matrix(processed, translated), walkable(rooms, corridor, openings), corners)


def draw_towers() -> OsmPlanBuilder:
    """Two towers of three storeys, joined on the ground; a stair in one, a lift in the other."""
    builder = OsmPlanBuilder()
    builder.add_way(box(0, 0, 10, 2), indoor="corridor", level="0-2")
    builder.add_way(box(20, 0, 30, 2), indoor="corridor", level="0;1;2")
    builder.add_way(box(10, 0, 20, 2), indoor="corridor", level="0")
    builder.add_way(box(0, 0, 1, 2), indoor="area", stairs="yes", level="0", repeat_on="1;2")
    builder.add_node((29, 1), highway="elevator", level="0", repeat_on="1-2")
    for level in ("0", "1", "2"):
        builder.add_way(box(2, 2, 6, 6), indoor="room", level=level, name=f"west {level}")
        builder.add_way(box(24, 2, 28, 6), indoor="room", level=level, name=f"east {level}")
    for at in ((4.0, 2.0), (26.0, 2.0)):
        builder.add_node(at, door="yes", level="0", repeat_on="1-2")
    return builder


def test_levels_are_read_from_ranges_lists_and_repetitions() -> None:
    translated, processed = process_osm(draw_towers())
    assert [level.ordinal for level in translated.plan.levels] == [0, 1, 2]
    assert {c.kind.value: len(c.entrances) for c in translated.plan.connectors} == {
        "steps": 3,
        "elevator": 3,
    }
    assert [level.doors_as_drawn for level in processed.report.levels] == [2, 2, 2]
    names = {place.name: place.id for place in translated.candidates}
    start, end = names["west 2"], names["east 2"]
    found = processed.router.matrix([start], [end])
    west = walkable([box(2, 2, 6, 6)], box(0, 0, 10, 2), [doorway((4, 2))])
    east = walkable([box(24, 2, 28, 6)], box(20, 0, 30, 2), [doorway((26, 2))])
    stair, lift = (0.5, 1.0), (29.0, 1.0)
    down = geodesic_feet(west, [(4, 4), stair])[0, 1]
    up = geodesic_feet(east, [lift, (26, 4)])[0, 1]
    storeys_feet = 2 * Costing().steps_feet_per_storey
    walked_feet = (down + (lift[0] - stair[0]) + up) * METRE_FEET
    assert found.feet[0, 0] == pytest.approx(walked_feet + storeys_feet, rel=0.003)
