"""One region gives exact walks; a region per floor piece adds at most half of each door's width."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import HealthCheck, given, settings
from numpy.typing import NDArray
from shapely import LineString, MultiPolygon, Polygon, box

from bench.accuracy import Comparison
from bench.geodesic import geodesic_feet
from routing.costing import TravelMode
from routing.network.regions import (
    Region,
    attach,
    build_regions,
    edges_from_stops,
    edges_to_points,
    edges_within_regions,
)
from routing.network.visibility import find_corners
from routing.network.walk_graph import WalkGraph
from routing.plan import Barrier, Door, Level, Plan, Polygonal, Space, SpaceKind
from routing.processing import ProcessedPlan, process_plan
from routing.search.route import WalkLeg
from routing.search.router import Position
from routing.space.walkable import WalkableLevel
from tests.routing.ascii_plans import process_drawing
from tests.routing.buildings import process_demo
from tests.routing.random_plans import plans

Floats = NDArray[np.float64]
ROUNDING_FEET = 1e-6
MAX_PAIRS = 20
"""Routes are compared for the pairs with the largest errors."""
MEAN, P95 = 0.002, 0.01
"""Relative errors between the locations of a building, which stand away from doors."""
HALL = Space("hall", "0", box(0, 20, 60, 40), SpaceKind.CORRIDOR)
ROOM = Space("room", "0", box(0, 0, 60, 20))


def build(processed: ProcessedPlan, level: int = 0) -> tuple[WalkableLevel, Polygonal]:
    return processed.walkable_levels[level], processed.networks[TravelMode.FOOT].levels[
        level
    ].walkable_area


def coarse_feet(built: WalkableLevel, area: Polygonal, places: Floats) -> Floats:
    """Walks between places on a level that has a region for each floor piece."""
    regions, own = build_regions(built.floor, built.openings, area, max_corners=-1)
    ids = np.arange(len(own), len(own) + len(places))
    edges = edges_within_regions(regions, own) + edges_from_stops(regions, own, places, ids)
    return WalkGraph(len(own) + len(places), edges).distances(ids, ids)


def width_feet(door: Polygon) -> float:
    """The longer side of a door's shape, which lies along its wall."""
    corners = shapely.get_coordinates(shapely.oriented_envelope(door))
    return float(np.linalg.norm(np.diff(corners[:3], axis=0), axis=1).max())


def points_next_to_doors(built: WalkableLevel, area: Polygonal) -> Floats:
    """Places right next to the doors, where a detour to a point in the door is worst."""
    places = [
        (point.x, point.y)
        for opening in built.openings
        for reach_feet in (0.3, 1.0)
        for share in np.linspace(0, 1, 12, endpoint=False)
        for point in [opening.shape.buffer(reach_feet).exterior.interpolate(share, normalized=True)]
    ]
    xy = np.array(places).reshape(-1, 2)
    return xy[shapely.contains_xy(area, xy[:, 0], xy[:, 1])]


def check_bound(processed: ProcessedPlan, places: Floats) -> None:
    """Whether coarse walks are at most half a width longer for each door on the exact walk."""
    built, area = build(processed)
    positions = [Position("0", *place) for place in places.tolist()]
    coarse = coarse_feet(built, area, places)
    exact = geodesic_feet(area, [tuple(place) for place in places.tolist()])
    assert (np.isfinite(coarse) == np.isfinite(exact)).all()
    assert (coarse >= exact - ROUNDING_FEET).all()
    connected = np.isfinite(exact)
    extra = np.triu(np.subtract(coarse, exact, out=np.zeros_like(exact), where=connected))
    for at in np.argsort(extra, axis=None)[-MAX_PAIRS:]:
        one, other = np.unravel_index(at, extra.shape)
        if extra[one, other] <= ROUNDING_FEET:
            continue
        route = processed.router.route(positions[one], positions[other])
        assert route is not None
        (walk,) = route.legs
        assert isinstance(walk, WalkLeg)
        line = LineString(walk.points)
        doors = [door.shape for door in built.openings if door.shape.intersects(line)]
        assert extra[one, other] <= sum(map(width_feet, doors)) / 2, (places[one], places[other])


@pytest.mark.slow
@given(plans(max_levels=1))
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_coarse_walk_is_at_most_half_a_width_longer_for_each_door(plan: Plan) -> None:
    processed = process_plan(plan)
    beside = points_next_to_doors(*build(processed))
    places = [(place.x, place.y) for place in plan.locations]
    check_bound(processed, np.concatenate((places, beside[:: max(1, len(beside) // 30)])))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("room", "barriers", "door"),
    [
        (ROOM.polygon, [], Door("door", "0", box(10, 19, 30, 21))),
        # the width that is stated is less than what is drawn
        (ROOM.polygon, [], Door("door", "0", box(10, 19, 30, 21), width_feet=1)),
        # the room is behind a part of the door only
        (box(0, 0, 12, 20), [], Door("door", "0", box(10, 19, 22, 21))),
        # something stands in front of a part of the door
        (ROOM.polygon, [box(10, 17, 16, 19.7)], Door("door", "0", box(10, 19, 22, 21))),
        (
            ROOM.polygon,
            [box(10, 17, 20, 19.7), box(12, 20.3, 22, 23)],
            Door("door", "0", box(10, 19, 22, 21)),
        ),
        # the wall is slanted
        (Polygon([(0, 0), (60, 0), (60, 20), (0, 15)]), [], Door("door", "0", box(10, 14, 22, 21))),
        # the same piece is on both sides, as the wall ends inside it
        (ROOM.polygon, [box(20, 25, 20.1, 40)], Door("door", "0", box(19, 30, 21, 33))),
        # the door is not in the middle of the wall
        (ROOM.polygon, [], Door("door", "0", box(10, 17, 22, 20.2))),
    ],
)
def test_the_bound_holds_for_a_door_that_is_blocked_or_askew(
    room: Polygon, barriers: list[Polygon], door: Door
) -> None:
    spaces = (HALL, Space("room", "0", room))
    walls = tuple(Barrier("0", barrier) for barrier in barriers)
    processed = process_plan(Plan((Level("0", 0),), spaces, walls, (door,)))
    assert processed.walkable_levels[0].openings[0].door_id == "door"
    check_bound(processed, points_next_to_doors(*build(processed)))


def test_next_to_a_wide_door_the_bound_is_nearly_reached() -> None:
    """So no share of the distance would be a bound."""
    door = Door("door", "0", box(10, 19.9, 30, 20.1))
    processed = process_plan(Plan((Level("0", 0),), (HALL, ROOM), (), (door,)))
    places = np.array([(15.0, 19.5), (15.0, 20.5)])
    assert coarse_feet(*build(processed), places)[0, 1] == pytest.approx(10.05, abs=0.1)
    assert 0.4 * 20 < coarse_feet(*build(processed), places)[0, 1] - 1 <= 0.5 * 20


@pytest.mark.slow
def test_between_the_locations_of_a_building_the_error_is_small() -> None:
    processed = process_demo()
    for index in range(2):
        network = processed.networks[TravelMode.FOOT].levels[index]
        places = network.xy[network.portal_vertices[-1] + 1 :]
        coarse = coarse_feet(*build(processed, index), places)
        exact = geodesic_feet(network.walkable_area, [tuple(at) for at in places.tolist()])
        compared = Comparison(coarse, exact)
        assert (np.isfinite(coarse) == np.isfinite(exact)).all()
        assert (coarse >= exact - ROUNDING_FEET).all()
        assert compared.errors.mean() <= MEAN
        assert np.percentile(compared.errors, 95) <= P95


OFFICE = process_drawing(
    """
    ###########
    #A..#..B..#
    #.#.#.###.#
    #...+.....#
    ##+####+###
    #,,,,,,,,,#
    """
)


def test_a_level_is_one_region_up_to_the_limit_and_one_per_piece_above_it() -> None:
    built, area = build(OFFICE)
    (whole,), xy = build_regions(built.floor, built.openings, area)
    assert len(whole.point_ids) == 0 and whole.door_filter is not None
    np.testing.assert_array_equal(xy[whole.corner_ids], whole.corners.xy)
    count = len(whole.corners)
    assert len(build_regions(built.floor, built.openings, area, count)[0]) == 1
    assert len(build_regions(built.floor, built.openings, area, count - 1)[0]) == 3


def test_a_region_of_a_piece_has_its_doors_and_their_points() -> None:
    built, area = build(OFFICE)
    regions, xy = build_regions(built.floor, built.openings, area, max_corners=0)
    for index, (region, piece) in enumerate(zip(regions, built.floor.polygons, strict=True)):
        own = [door.shape for door in built.openings if index in door.piece_indexes]
        assert region.area.equals(shapely.union_all([piece, *own]))
        assert len(region.point_ids) == 3 * len(own)
        points = shapely.points(xy[region.point_ids])
        assert shapely.intersects(shapely.MultiPolygon(own), points).all()
        np.testing.assert_array_equal(xy[region.corner_ids], region.corners.xy)
    own_ids = np.concatenate([region.corner_ids for region in regions])
    points = np.unique(np.concatenate([region.point_ids for region in regions]))
    assert sorted([*own_ids, *points]) == list(range(len(xy)))  # no vertex is of two corners


def test_a_place_in_a_door_sees_both_pieces_of_a_coarse_level() -> None:
    """Half-way through the door, it is in both regions, and its walks are exact."""
    built, area = build(OFFICE)
    x, y = 10.0, 18.0  # in the door of the first room
    places = np.array([(x, y), (6.0, 6.0), (30.0, 22.0)])
    exact = geodesic_feet(area, [tuple(at) for at in places.tolist()])
    np.testing.assert_allclose(coarse_feet(built, area, places)[0], exact[0], atol=ROUNDING_FEET)


def test_a_level_without_doors_or_floor_can_be_coarse() -> None:
    for storey, regions in ((",,#..", 2), ("###", 0)):
        built, area = build(process_drawing("A", storey), 1)
        found, xy = build_regions(built.floor, built.openings, area, max_corners=-1)
        assert (len(found), xy.shape) == (regions, (0, 2))


def test_edges_join_places_that_see_each_other_in_a_region() -> None:
    area = Polygon([(0, 0), (10, 0), (10, 10), (6, 10), (6, 4), (4, 4), (4, 10), (0, 10)])
    corners, no_points = find_corners(area), np.empty(0, dtype=np.int64)
    region = Region(area, corners, np.array([0, 1]), no_points)
    stops, ids = np.array([(1.0, 9.0), (9.0, 9.0), (1.0, 1.0), (50.0, 1.0)]), np.arange(7, 11)
    (edges,) = edges_to_points([region], stops[:1], ids[:1], stops[1:], ids[1:])
    assert list(zip(edges.first, edges.second, edges.feet, strict=True)) == [(7, 9, 8.0)]
    to_corners, among_stops, _ = edges_from_stops([region], corners.xy, stops, ids)
    assert list(zip(among_stops.first, among_stops.second, strict=True)) == [(7, 9)]
    assert {*to_corners.first.tolist()} == {7, 8, 9}  # the fourth is not in the region


ROOMS = [box(0, 0, 20, 20), box(12, 12, 20, 20)]
"""A room, and a closet within it."""
ROOM_FLOOR = Polygon([(0, 0), (20, 0), (20, 11), (11, 11), (11, 20), (0, 20)])
FLOOR = MultiPolygon([ROOM_FLOOR, box(14, 14, 20, 20)])


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ((5, 5), (5, 5, 0)),
        ((20, 5), (20, 5, 0)),  # on the edge
        ((25, 5), (20, 5, 5)),
        ((26.1, 5), None),
        ((11.5, 15), (11, 15, 0.5)),  # in the room, by the closet's wall
        ((12.25, 16), (14, 16, 1.75)),  # in the closet, nearer to the room's floor
    ],
)
def test_a_place_joins_the_floor_of_its_own_room(
    place: tuple[float, float], expected: tuple[float, float, float] | None
) -> None:
    assert attach(FLOOR, ROOMS, *place, within_feet=6) == expected


@pytest.mark.parametrize(("floor", "expected"), [(ROOM_FLOOR, (11, 16, 1.5)), (Polygon(), None)])
def test_a_place_in_a_room_without_floor_joins_the_nearest_floor(
    floor: Polygon, expected: tuple[float, float, float] | None
) -> None:
    assert attach(floor, ROOMS, 12.5, 16, within_feet=6) == expected
