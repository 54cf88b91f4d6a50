"""Networks of maps: meshes, views, walks in graphs, portals and stops."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from shapely import MultiPolygon, Point, Polygon, box
from shapely.affinity import scale

from routing.arrays import join_tables
from routing.costing import Costing, RideCost, TravelMode
from routing.network import levels, mesh, network, walk_graph
from routing.network import walk_graph as module
from routing.network.levels import NO_PORTAL, build_levels, draft_level
from routing.network.mesh import (
    OUTSIDE,
    Mesh,
    are_inside,
    build_grid,
    cross,
    find_corners,
    join_meshes,
    normalize,
    triangulate,
)
from routing.network.network import Network, Stops, attach, build_network
from routing.network.portals import Link, Portal, allows_rise, find_fastest_paths, list_links
from routing.network.views import SECTOR_SLACK_RADIANS, all_round, spread_views, tangent_sectors
from routing.network.walk_graph import (
    Edges,
    Labels,
    WalkGraph,
    WorkBudget,
    WorkExceededError,
    build_edges,
    build_labels,
    drop_compound_edges,
    label_components,
)
from routing.plan import (
    Connector,
    ConnectorKind,
    Direction,
    Door,
    Level,
    Plan,
    PlanLocation,
    Polygonal,
    Space,
    SpaceKind,
)
from routing.processing import ProcessedPlan, process_plan
from routing.search.matrix import compute_matrix
from routing.space.walkable import build_walkable_levels
from samples.buildings.generated_plans import build_comb, build_hall
from tests.routing.ascii_plans import draw_plan, process_drawing
from tests.routing.hard_areas import (
    WALLS,
    Walls,
    are_clear,
    build_area,
    places_in,
    process_demo,
    teeth,
)

TOWER = process_drawing(
    """
    #A#B#
    #n#+#
    #,,,e
    """,
    """
    #####
    ##C##
    #,,,e
    """,
)
FOOT, WHEELCHAIR = (TOWER.networks[mode] for mode in TravelMode)


def build(plan: Plan, mode: TravelMode, costing: Costing, foot: Network | None = None) -> Network:
    return build_network(plan, build_walkable_levels(plan)[0], mode, costing, foot)


def test_the_levels_have_all_edges() -> None:
    """The edges of the first corner of a level are among them."""
    levels = FOOT.levels
    of_levels = [levels.edges_of(number) for number in range(len(levels))]
    assert all(len(edges) for edges in of_levels)
    np.testing.assert_array_equal(np.concatenate(of_levels), levels.edges)


def test_a_connector_has_a_portal_on_each_level_where_floor_is_near() -> None:
    plan = draw_plan("A,,", "B,,", "C,,")
    lift = Connector(
        "lift", ConnectorKind.ELEVATOR, {"0": Point(6, 2), "1": Point(6, 50), "2": box(8, 0, 12, 4)}
    )
    network = process_plan(replace(plan, connectors=(lift,))).networks[TravelMode.FOOT]
    assert [portal.level for portal in network.portals] == [0, 2]
    assert [(link.start, link.end) for link in network.links] == [(0, 1), (1, 0)]
    levels = network.levels
    assert levels.portals.tolist() == [[0], [NO_PORTAL], [1]]
    assert len(levels.portal_vertices(1)) == 0
    assert np.isinf(levels.portal_feet[:, levels.vertices(1)]).all()


def test_a_wheelchair_shares_the_levels_where_it_passes_every_door() -> None:
    assert WHEELCHAIR.levels is FOOT.levels
    assert FOOT.level_numbers.tolist() == [0, 1]
    assert WHEELCHAIR.level_numbers.tolist() == [2, 1]
    assert (WHEELCHAIR.mode, FOOT.mode) == (TravelMode.WHEELCHAIR, TravelMode.FOOT)
    assert WHEELCHAIR.feet_per_second < FOOT.feet_per_second


def test_no_level_is_shared_if_the_portals_differ() -> None:
    """In a narrow door a lift is out of reach of wheelchairs, so all other portals have new
    numbers."""
    spaces = [
        Space(f"{kind.value} {level}", level, shape, kind)
        for level in "01"
        for kind, shape in (
            (SpaceKind.ROOM, box(0, 0, 40, 20)),
            (SpaceKind.CORRIDOR, box(0, 20, 40, 30)),
        )
    ]
    doors = (Door("narrow", "0", Point(10, 20), 2.0), Door("wide", "1", Point(10, 20), 3.0))
    in_door = Connector(
        "in door", ConnectorKind.ELEVATOR, {"0": Point(10, 19.975), "1": Point(10, 25)}
    )
    lift = Connector("lift", ConnectorKind.ELEVATOR, dict.fromkeys("01", Point(30, 25)))
    places = PlanLocation("below", "0", 5, 25), PlanLocation("above", "1", 5, 25)
    plan = Plan((Level("0", 0), Level("1", 1)), tuple(spaces), (), doors, (in_door, lift), places)
    costing = Costing(attach_feet=0.01)
    foot = build(plan, TravelMode.FOOT, costing)
    wheelchair = build(plan, TravelMode.WHEELCHAIR, costing, foot)
    assert (len(foot.portals), len(wheelchair.portals)) == (4, 3)
    assert wheelchair.level_numbers.tolist() == [2, 3]
    assert wheelchair.levels.portals[3].tolist() == [0, 2]
    assert compute_matrix(wheelchair, ["below"], ["above"]).feet[0, 0] == pytest.approx(25 + 25)


ROOMS = [Space("room", "0", box(0, 0, 20, 20)), Space("closet", "0", box(12, 12, 20, 20))]
"""A room, and a closet within it."""
ROOM_FLOOR = Polygon([(0, 0), (20, 0), (20, 11), (11, 11), (11, 20), (0, 20)])
FLOOR = MultiPolygon([ROOM_FLOOR, box(14, 14, 20, 20)])


def join(floor: Polygon | MultiPolygon, *places: tuple[float, float]) -> Stops:
    no_portals = np.empty(0, dtype=np.int64), np.empty((0, 2))
    [levels] = build_levels([draft_level(Level("0", 0), floor, ROOMS, [], *no_portals)])
    return attach(levels, np.zeros(len(places), dtype=np.int64), np.array(places), within_feet=6)


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ((5, 5), (5, 5, 0)),
        ((20, 5), (20, 5, 0)),  # on the edge
        ((25, 5), (20, 5, 5)),
        ((11.5, 15), (11, 15, 0.5)),  # in the room, by the closet's wall
        ((12.25, 16), (14, 16, 1.75)),  # in the closet, nearer to the room's floor
    ],
)
def test_a_place_joins_the_floor_of_its_own_room(
    place: tuple[float, float], expected: tuple[float, float, float]
) -> None:
    stop = join(FLOOR, place)
    assert (*stop.near[0].tolist(), stop.offset_feet[0]) == expected
    assert stop.are_attached.all()


def test_a_place_far_from_any_floor_is_not_attached() -> None:
    stop = join(FLOOR, (26.1, 5))
    assert (stop.near.tolist(), stop.offset_feet.tolist()) == ([[26.1, 5]], [0])
    assert not stop.are_attached.any()


def test_a_place_in_a_room_without_floor_joins_the_nearest_floor() -> None:
    stop = join(ROOM_FLOOR, (12.5, 16))
    assert (stop.near.tolist(), stop.offset_feet.tolist()) == ([[11, 16]], [1.5])
    assert not join(Polygon(), (12.5, 16)).are_attached.any()


def test_stops_keep_their_order() -> None:
    places = [(25.0, 5.0), (5.0, 5.0), (26.1, 5.0), (12.25, 16.0)]
    stops = join(FLOOR, *places)
    assert stops.xy.tolist() == [list(place) for place in places]
    assert stops.are_attached.tolist() == [True, True, False, True]
    again = join_tables([stops.take(np.array([2, 3])), stops.take(np.array([0]))])
    assert again.xy.tolist() == [list(places[index]) for index in (2, 3, 0)]
    assert len(again) == 3


PORTALS = [Portal(0, 0, 0, 0), Portal(1, 0, 0, 0), Portal(0, 1, 9, 0), Portal(1, 1, 9, 0)]


def links(mode: TravelMode, *connectors: Connector) -> set[tuple[int, int]]:
    found = list_links(PORTALS, connectors, [0.0, 1.0], mode, Costing())
    return {(link.start, link.end) for link in found}


def test_rides_join_the_levels_of_one_connector_in_its_direction() -> None:
    lift = Connector("lift", ConnectorKind.ELEVATOR, {})
    escalator = Connector("up", ConnectorKind.ESCALATOR, {}, direction=Direction.UP)
    assert links(TravelMode.FOOT, lift, escalator) == {(0, 1), (1, 0), (2, 3)}
    assert links(TravelMode.WHEELCHAIR, lift, escalator) == {(0, 1), (1, 0)}


@pytest.mark.parametrize(
    ("direction", "up", "down"),
    [(None, True, True), (Direction.UP, True, False), (Direction.DOWN, False, True)],
)
def test_a_direction_allows_one_rise(direction: Direction | None, up: bool, down: bool) -> None:
    assert (allows_rise(direction, 1), allows_rise(direction, -1)) == (up, down)


def test_fastest_paths_combine_walks_and_rides() -> None:
    walks = np.full((4, 4), np.inf)
    np.fill_diagonal(walks, 0)
    walks[0, 2] = walks[2, 0] = walks[1, 3] = walks[3, 1] = 8
    paths = find_fastest_paths(walks, [Link(2, 3, RideCost(feet=12, seconds=5))], feet_per_second=4)
    assert paths.seconds[0, 1] == 8 / 4 + 5 + 8 / 4
    assert paths.feet[0, 1] == 8 + 12 + 8
    assert paths.path(0, 1) == [0, 2, 3, 1]
    assert np.isinf(paths.seconds[1, 0]) and paths.next_portal[1, 0] == -1


def test_a_slow_ride_does_not_replace_a_walk() -> None:
    walks = np.array([[0.0, 8.0], [8.0, 0.0]])
    paths = find_fastest_paths(walks, [Link(0, 1, RideCost(100, 100))], feet_per_second=4)
    assert (paths.seconds[0, 1], paths.feet[0, 1]) == (2, 8)


def test_paths_are_the_fastest_whatever_order_links_have() -> None:
    random = np.random.default_rng(8)
    places, levels = random.uniform(0, 100, (30, 2)), random.integers(0, 4, 30)
    walks = np.linalg.norm(places[:, None] - places, axis=2)
    walks[levels[:, None] != levels] = np.inf
    ends = np.array([random.choice(30, 2, replace=False) for _ in range(40)])
    costs = random.uniform(0, 20, (40, 2)).tolist()
    links = [
        Link(start, end, RideCost(*cost))
        for (start, end), cost in zip(ends.tolist(), costs, strict=True)
    ]
    paths = find_fastest_paths(walks, links, feet_per_second=4)
    expected = walks / 4
    for start, end, cost in links:
        expected[start, end] = min(expected[start, end], cost.seconds)
    for via in range(30):
        expected = np.minimum(expected, expected[:, via, None] + expected[via])
    np.testing.assert_allclose(paths.seconds, expected, atol=1e-4)
    for start, end in np.argwhere(np.isfinite(expected)).tolist():
        legs = [*pairwise(paths.path(start, end))]
        assert paths.seconds[start, end] == pytest.approx(sum(paths.seconds[leg] for leg in legs))
        assert paths.feet[start, end] == pytest.approx(sum(paths.feet[leg] for leg in legs))


FRAMES = ((0.0, 0.0), (17.3, 1234.567891234567), (45.0, 1e6))


@pytest.mark.parametrize("walls", WALLS)
def test_a_place_sees_what_a_straight_line_reaches(walls: Walls) -> None:
    for jitter_feet, (degrees, offset_feet) in zip((0.0, 1e-9, 1e-3), FRAMES, strict=True):
        area = build_area(walls, jitter_feet, degrees, offset_feet)
        mesh, places = triangulate(area), places_in(area, 20)[0]
        views = spread_views(mesh, places, all_round(np.arange(len(places))))
        sights = views.sights(places, mesh.locate_cells(places))
        points = np.repeat(np.arange(len(places)), np.diff(sights.starts))
        first, second = np.indices((len(places), len(places))).reshape(2, -1)
        clear = are_clear(area, places[first], places[second])
        expected = set(zip(first[clear].tolist(), second[clear].tolist(), strict=True))
        assert set(zip(points.tolist(), sights.vertices.tolist(), strict=True)) == expected
        lines = places[points] - places[sights.vertices]
        np.testing.assert_allclose(sights.feet, np.hypot(*lines.T))


@pytest.mark.parametrize("walls", WALLS)
def test_corners_see_what_paths_around_them_lead_to_and_little_else(walls: Walls) -> None:
    area = build_area(walls, 0, 17.3, 0)
    corners, mesh, places = find_corners(area), triangulate(area), places_in(area, 200)[0]
    views = spread_views(mesh, corners.xy, tangent_sectors(corners))
    located = mesh.locate(places)
    sights = views.sights(places, mesh.cells[located])
    point, corner = np.repeat(np.arange(len(places)), np.diff(sights.starts)), sights.vertices
    first, second = np.indices((len(places), len(corners))).reshape(2, -1)
    clear = are_clear(area, places[first], corners.xy[second])
    clear &= corners.are_tangent(second, corners.xy[second] - places[first])
    seen = set(zip(point.tolist(), corner.tolist(), strict=True))
    assert seen >= set(zip(first[clear].tolist(), second[clear].tolist(), strict=True))
    # In the corner's own cell, everything is in sight.
    beyond = mesh.cells[located[point]] != mesh.cells[mesh.locate(corners.xy)][corner]
    lines = normalize(places[point] - corners.xy[corner])[beyond]
    sines = [cross(lines, side[corner[beyond]]) for side in (corners.before, corners.after)]
    assert (np.maximum(np.minimum(*sines), -np.maximum(*sines)) >= -2 * SECTOR_SLACK_RADIANS).all()


def test_the_end_of_a_thin_wall_sees_nearly_all_round() -> None:
    outline = [(0, 0), (19.99, 0), (20, 30), (20.01, 0), (40, 0), (40, 40), (0, 40)]
    area = Polygon(outline)
    corners, mesh = find_corners(area), triangulate(area)
    (tip,) = np.flatnonzero(corners.xy[:, 1] == 30)
    views = spread_views(mesh, corners.xy, tangent_sectors(corners))
    places = np.array([(1.0, 1.0), (39.0, 1.0), (1.0, 39.0), (39.0, 39.0), (18.0, 1.0)])
    sights = views.sights(places, mesh.locate_cells(places))
    for place in range(len(places)):
        assert tip in sights.vertices[sights.starts[place] : sights.starts[place + 1]]


def test_sectors_are_joined_in_order() -> None:
    both = join_tables([all_round(np.array([0])), all_round(np.array([1]))])
    assert both.origins.tolist() == [0, 0, 0, 1, 1, 1]


EDGES = Edges(np.array([0, 1, 2]), np.array([1, 2, 0]), np.array([3.0, 4.0, 9.0]))
GRAPH = WalkGraph(4, EDGES)


def pairs(edges: Edges) -> set[tuple[int, int]]:
    return set(zip(edges.first.tolist(), edges.second.tolist(), strict=True))


def test_distances_are_those_of_the_shortest_walks_in_either_direction() -> None:
    feet = GRAPH.distances(np.arange(4))
    assert feet[0].tolist() == [0, 3, 7, np.inf]
    np.testing.assert_array_equal(feet, feet.T)


def test_many_rows_are_computed_in_blocks() -> None:
    sources = np.resize(np.arange(4), walk_graph.MAX_BLOCK_ROWS + 3)
    np.testing.assert_array_equal(GRAPH.distances(sources)[-1], GRAPH.distances(sources[-1:])[0])


def test_the_shortest_walk_has_all_its_vertices() -> None:
    assert GRAPH.shortest_path(0, 2) == [0, 1, 2]


def test_a_part_of_a_graph_has_the_edges_between_its_vertices() -> None:
    part = GRAPH.restrict(np.array([0, 2, 3]))
    assert part.vertex_count == 3
    assert pairs(part.edges) == {(1, 0)}
    assert part.edges.feet.tolist() == [9]


def line_of(*x: float) -> tuple[NDArray[np.float64], Edges]:
    """Points on a line, each of which sees all others."""
    xy = np.array([(at, 0.0) for at in x])
    first, second = np.triu_indices(len(x), k=1)
    return xy, Edges(first, second, np.abs(xy[second, 0] - xy[first, 0]))


def test_an_edge_through_another_vertex_is_dropped() -> None:
    assert pairs(drop_compound_edges(*line_of(0, 3, 10, 12))) == {(0, 1), (1, 2), (2, 3)}


def test_an_edge_is_kept_if_the_way_through_the_vertex_is_a_hair_longer() -> None:
    xy, edges = line_of(0, 3, 10)
    longer = Edges(edges.first, edges.second, edges.feet + np.array([0, 0, 1e-9]))
    assert len(drop_compound_edges(xy, longer)) == 3


def test_vertices_at_one_place_do_not_replace_each_other() -> None:
    """Each of two edges to them would be made of the other and the edge of no length."""
    xy, edges = line_of(0, 10, 10)
    assert pairs(drop_compound_edges(xy, edges)) == {(0, 1), (0, 2), (1, 2)}


def test_without_compound_edges_the_distances_are_the_same() -> None:
    area = build_area(teeth, 0, 17.3, 0)
    corners, mesh = find_corners(area), triangulate(area)
    views = spread_views(mesh, corners.xy, tangent_sectors(corners))
    graph = WalkGraph(len(corners), build_edges(mesh, views, corners))
    sights = views.sights(views.xy, mesh.locate_cells(views.xy))
    points = np.repeat(np.arange(len(corners)), np.diff(sights.starts))
    other = points != sights.vertices
    everything = Edges(points[other], sights.vertices[other], sights.feet[other])
    assert len(graph.edges) < len(everything) / 4
    ids = np.arange(len(corners))
    np.testing.assert_allclose(
        graph.distances(ids), WalkGraph(len(ids), everything).distances(ids), rtol=1e-11
    )


def test_components_are_numbered() -> None:
    labels = label_components(4, np.array([[0, 1], [1, 2]]))
    assert labels[0] == labels[1] == labels[2] != labels[3]


Floats = NDArray[np.float64]


def distances_by(labels: Labels) -> Floats:
    """The least sum of two walks to the same hub, for each pair of vertices."""
    count = len(labels)
    to_hubs = np.full((count, count), np.inf)
    vertices = np.repeat(np.arange(count), np.diff(labels.starts))
    to_hubs[vertices, labels.hubs] = labels.feet
    return np.asarray((to_hubs[:, None] + to_hubs[None]).min(axis=2))


@given(st.integers(1, 12), st.data())
def test_labels_have_all_distances_of_a_graph(count: int, data: st.DataObject) -> None:
    vertex = st.integers(0, count - 1)
    drawn = data.draw(st.lists(st.tuples(vertex, vertex, st.integers(1, 50)), max_size=3 * count))
    first, second, feet = np.array(drawn, dtype=np.int64).reshape(-1, 3).T
    graph = WalkGraph(count, Edges(first, second, feet.astype(np.float64)))
    distances = graph.distances(np.arange(count))
    np.testing.assert_array_equal(distances_by(build_labels(graph)), distances)


@pytest.mark.parametrize("first_batch", [module.FIRST_BATCH, 1])
def test_labels_of_a_building_are_few(first_batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_BATCH", first_batch)
    levels = process_demo().networks[TravelMode.FOOT].levels
    graph = levels.graph_of(np.asarray(levels.vertices(0)))
    distances = graph.distances(np.arange(graph.vertex_count))
    labels = build_labels(graph)
    np.testing.assert_allclose(distances_by(labels), distances, rtol=1e-9)
    assert len(labels.hubs) < np.isfinite(distances).sum() / 4


@pytest.mark.parametrize("count", [0, 3])
def test_each_vertex_is_a_hub_of_its_own(count: int) -> None:
    none = np.empty(0, dtype=np.int64)
    labels = build_labels(WalkGraph(count, Edges(none, none, np.empty(0))))
    assert labels.hubs.tolist() == [*range(count)]
    assert labels.feet.tolist() == [0] * count


RING = Polygon(box(0, 0, 40, 40).exterior, [box(10, 10, 30, 30).exterior])
TWO = MultiPolygon([box(0, 0, 10, 10), box(20, 0, 30, 10)])


def shapes(mesh: Mesh) -> list[Polygon]:
    return [Polygon(corners) for corners in mesh.xy[mesh.triangles]]


@pytest.mark.parametrize(
    "area", [RING, TWO, *(build_area(walls, 1e-9, 17, 1e6) for walls in WALLS)]
)
def test_the_triangles_cover_the_area_and_no_more_than_a_hair_around_it(area: Polygonal) -> None:
    covered = shapely.union_all(shapes(triangulate(area)), grid_size=1e-9)
    assert covered.symmetric_difference(area).area < 1e-5 * area.length
    assert sum(shape.area for shape in shapes(triangulate(area))) == pytest.approx(area.area)


@pytest.mark.parametrize("walls", WALLS)
def test_neighbours_share_a_side(walls: Walls) -> None:
    mesh = triangulate(build_area(walls, 0, 17, 0))
    neighbours, sides = mesh.neighbours
    triangle, side = np.nonzero(neighbours != OUTSIDE)
    other, other_side = neighbours[triangle, side], sides[triangle, side]
    start, end = mesh.triangles[triangle, side], mesh.triangles[triangle, (side + 1) % 3]
    # From the other triangle, the side leads the other way.
    np.testing.assert_array_equal(mesh.triangles[other, other_side], end)
    np.testing.assert_array_equal(mesh.triangles[other, (other_side + 1) % 3], start)


def test_a_side_at_a_wall_has_no_neighbour() -> None:
    mesh = triangulate(TWO)
    assert (mesh.neighbours[0] == OUTSIDE).sum() == 8


@pytest.mark.parametrize("walls", WALLS)
def test_cells_are_convex_and_few(walls: Walls) -> None:
    mesh = triangulate(build_area(walls, 1e-9, 17, 1e6))
    assert mesh.cell_count < len(mesh)
    for cell in range(mesh.cell_count):
        own = shapely.union_all(shapely.polygons(mesh.xy[mesh.triangles[mesh.cells == cell]]))
        assert own.geom_type == "Polygon"
        assert own.convex_hull.area == pytest.approx(own.area, abs=1e-6)


def test_an_empty_area_has_no_triangles() -> None:
    mesh = triangulate(Polygon())
    assert len(mesh) == 0
    assert mesh.locate(np.array([(0.0, 0.0)])).tolist() == [OUTSIDE]


SLIVER = Polygon([(0, 0), (900, 700), (900, 700.01)])
"""Long, thin and aslant: its box has nearly all squares of the grid."""


def locate_slowly(mesh: Mesh, xy: np.ndarray) -> np.ndarray:
    corners = mesh.xy[mesh.triangles]
    inside = np.array([are_inside(corners, np.tile(place, (len(mesh), 1))) for place in xy])
    return np.asarray(inside.any(axis=1))


@pytest.mark.parametrize("walls", WALLS)
def test_positions_are_found_where_a_triangle_has_them(walls: Walls) -> None:
    for degrees, offset_feet in ((0, 0.0), (17.3, 1e6)):
        mesh = triangulate(build_area(walls, 1e-9, degrees, offset_feet))
        low, high = mesh.xy.min(axis=0) - 5, mesh.xy.max(axis=0) + 5
        anywhere = np.random.default_rng(1).uniform(low, high, (300, 2))
        middles = mesh.xy[mesh.triangles].mean(axis=1)
        on_sides = (mesh.xy[mesh.triangles] + np.roll(mesh.xy[mesh.triangles], 1, axis=1))[:, 0] / 2
        xy = np.concatenate((anywhere, middles, on_sides, mesh.xy))
        located = mesh.locate(xy)
        np.testing.assert_array_equal(located != OUTSIDE, locate_slowly(mesh, xy))
        assert (located[len(anywhere) :] != OUTSIDE).all()
        found = located != OUTSIDE
        assert are_inside(mesh.xy[mesh.triangles[located[found]]], xy[found]).all()


def test_each_level_has_a_grid_of_its_own() -> None:
    meshes = [triangulate(area) for area in (box(0, 0, 10, 10), Polygon(), box(100, 5, 900, 9))]
    joined = join_meshes(meshes)
    places = np.array([(5.0, 5.0), (5.0, 5.0), (5.0, 5.0), (500.0, 7.0)])
    located = joined.locate(places, np.array([0, 1, 2, 2]))
    assert (located == OUTSIDE).tolist() == [False, True, True, False]
    assert located[3] == meshes[2].locate(places[3:])[0] + len(meshes[0])


def test_a_long_thin_triangle_takes_squares_only_where_it_is() -> None:
    triangles = [shapely.Polygon([(x, 0), (x + 9, 0), (x, 9)]) for x in range(0, 900, 10)]
    corners = shapely.get_coordinates([SLIVER, *triangles]).reshape(-1, 4, 2)[:, :3]
    grid = build_grid(corners, np.array([0, len(corners)]))
    columns, rows = grid.shape[0].tolist()
    assert (grid.triangles == 0).sum() <= 2 * (columns + rows) < columns * rows / 2


def test_positions_far_from_everything_are_outside() -> None:
    mesh = triangulate(box(0, 0, 10, 10))
    assert mesh.locate(np.array([(1e300, -1e300), (-1e12, 5.0)])).tolist() == [OUTSIDE, OUTSIDE]


HALL_WORK = 1_000_000
"""Much less than a hall of 64 pillars takes, and more than a few rooms."""


def ring(count: int) -> WalkGraph:
    first = np.arange(count)
    return WalkGraph(count, Edges(first, (first + 1) % count, np.ones(count)))


def on_level(plan: Plan, level_id: str) -> Plan:
    return Plan(
        (Level(level_id, int(level_id)),),
        tuple(replace(space, level_id=level_id) for space in plan.spaces),
        tuple(replace(barrier, level_id=level_id) for barrier in plan.barriers),
        tuple(replace(door, level_id=level_id) for door in plan.doors),
        (),
        tuple(replace(at, level_id=level_id, id=f"{level_id} {at.id}") for at in plan.locations),
    )


def joined(*plans: Plan) -> Plan:
    columns = ("levels", "spaces", "barriers", "doors", "connectors", "locations")
    parts: list[Any] = [tuple(x for plan in plans for x in getattr(plan, name)) for name in columns]
    return Plan(*parts)


def tolerances(processed: ProcessedPlan, mode: TravelMode = TravelMode.FOOT) -> list[float]:
    network = processed.networks[mode]
    return [network.levels.tolerances_feet[number] for number in network.level_numbers]


def simplified(processed: ProcessedPlan) -> list[str | None]:
    groups = processed.report.to_dict()["groups"]
    return [
        problem["level_id"]
        for group in groups
        for problem in group["problems"]
        if group["cause"] == "level-simplified"
    ]


def test_walls_are_moved_by_half_an_inch_if_that_leaves_few_enough_corners() -> None:
    hall = box(-20, -20, 20, 20).difference(Point(0, 0).buffer(10, quad_segs=64))
    assert isinstance(hall, Polygon)
    coarse, tolerance_feet = mesh.coarsen(hall, 128)
    assert len(find_corners(hall)) == 256 and len(find_corners(coarse)) <= 128
    assert tolerance_feet == 0.05
    assert hall.symmetric_difference(coarse).area < tolerance_feet * hall.length
    assert mesh.coarsen(hall, 256) == (hall, 0.0)


def test_labels_stop_at_the_end_of_their_budget() -> None:
    build_labels(ring(300), WorkBudget(10_000_000))
    with pytest.raises(WorkExceededError):
        build_labels(ring(300), WorkBudget(100_000))


def test_the_costliest_level_is_simplified(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = joined(
        on_level(build_comb(10), "0"), on_level(build_hall(8), "1"), on_level(build_comb(10), "2")
    )
    assert tolerances(process_plan(plan)) == [0, 0, 0]
    monkeypatch.setattr(levels, "MAX_EXACT_WORK", HALL_WORK)
    processed = process_plan(plan)
    assert [feet > 0 for feet in tolerances(processed)] == [False, True, False]
    assert simplified(processed) == ["1"]


def test_a_simplified_level_that_still_takes_too_long_is_simplified_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(levels, "MAX_EXACT_WORK", HALL_WORK)
    [once] = tolerances(process_plan(build_hall(8)))
    monkeypatch.setattr(levels, "MAX_COARSE_WORK", HALL_WORK)
    monkeypatch.setattr(levels, "MIN_COARSE_WORK", HALL_WORK)
    [again] = tolerances(process_plan(build_hall(8)))
    assert 0 < once < again


def test_a_level_with_few_corners_is_never_simplified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "MAX_EXACT_WORK", 0)
    assert tolerances(process_plan(build_hall(3))) == [0]


def test_connectors_are_entered_where_simplified_walls_leave_floor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(network, "MAX_EXACT_CORNERS", 20)
    monkeypatch.setattr(mesh, "MAX_COARSE_CORNERS", 10)
    # At the ends of the teeth of a rounded comb, and near another that is no part of it.
    x = np.arange(101)
    tips = 23 - 3 * (x / 50 - 1) ** 2
    teeth = np.stack((x, np.where(x % 2, tips, tips - 1)), axis=1).tolist()
    comb = Polygon([(0, 0), *teeth, (100, 0)])
    combs = comb, scale(comb, 1, -1, origin=(0, 23.5))
    spaces = tuple(
        Space(f"{level}.{at}", level, shape, SpaceKind.CORRIDOR)
        for level in "01"
        for at, shape in enumerate(combs)
    )
    lifts = tuple(
        Connector(
            f"lift {at}", ConnectorKind.ELEVATOR, dict.fromkeys("01", Point(at, tips[at] - 0.01))
        )
        for at in range(1, 100, 14)
    )
    places = tuple(PlanLocation(level, level, 50, 5) for level in "01")
    levels = Level("0", 0), Level("1", 1)
    processed = process_plan(Plan(levels, spaces, (), (), lifts, places))
    assert all(tolerances(processed))
    portals = processed.networks[TravelMode.FOOT].portals
    area = processed.networks[TravelMode.FOOT].levels.walkable_area(0)
    assert len(portals) == 2 * len(lifts)
    assert all(area.distance(Point(at.x, at.y)) < 1e-6 and at.y < 23 for at in portals)
    assert processed.router.matrix(["0"], ["1"]).seconds[0, 0] < 60
