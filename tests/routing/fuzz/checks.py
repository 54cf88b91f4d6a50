"""What must hold for the distances of any building; compared with an oracle that shares no code."""

from itertools import combinations_with_replacement

import numpy as np
import shapely
from numpy.typing import NDArray

from routing.archive import deserialize_router, serialize_router
from routing.costing import TravelMode
from routing.directions.steps import build_steps
from routing.network.mesh import PUBLIC
from routing.network.network import SAME_WALL_FEET, Network
from routing.network.restrictions import Restrictions
from routing.plan import ConnectorKind, Plan
from routing.processing import process_plan
from routing.search.router import Position, Router, WalkLeg
from routing.space.plan_repair import extract_polygons
from routing.space.walkable import WalkableLevel
from tests.routing.geodesic import geodesic_feet, search
from tests.routing.hard_areas import restrict_networks

Floats = NDArray[np.float64]
ERROR_FEET = 1e-6
RELATIVE_ERROR = 1e-9
SAMPLED_ROUTES = 6
AREA_ERROR_FEET = 0.6
"""Areas end up to half a foot too early, and lines are simplified."""
MAX_OUTSIDE_SQUARE_FEET = 1e-3
MIN_PATCH_SQUARE_FEET = 0.05
HAIRLINE_FEET = 1e-3
MIN_PASSAGE_FEET = 0.68
"""A quarter of a metre as drawn, less the thickness of two walls and what simplifying moves."""


def check_building(plan: Plan, seed: int) -> None:
    """Check everything about one building; an AssertionError says what does not hold."""
    processed = process_plan(plan)
    check_floor(processed.walkable_levels)
    router, random = processed.router, np.random.default_rng(seed)
    stored = deserialize_router(serialize_router(router))
    for mode, network in router.networks.items():
        check_distances(network)
        check_laws(network)
        check_table(router, stored, mode)
        check_routes(router, network, random)
        check_area(router, network)
    if plan.locations:
        check_modes(router)
    check_restricted(router, draw_restrictions(plan, random), random)


def check_floor(levels: tuple[WalkableLevel, ...]) -> None:
    """Nothing leads through a gap: who needs a passage gets everywhere on a piece of floor."""
    for level in levels:
        for piece in level.floor.polygons:
            for part in extract_polygons(piece.buffer(-HAIRLINE_FEET)):
                wide = extract_polygons(part.buffer(HAIRLINE_FEET - MIN_PASSAGE_FEET / 2))
                assert sum(each.area > MIN_PATCH_SQUARE_FEET for each in wide) <= 1


def check_distances(network: Network) -> None:
    """Times of the fastest routes are those of a search over exact walks and rides."""
    ids = network.location_ids
    found = seconds_between(network)
    expected = search_seconds(network)
    allowed = (ERROR_FEET + RELATIVE_ERROR * 1e4) / network.feet_per_second
    reached = np.isfinite(expected)
    assert (np.isfinite(found) == reached).all(), (ids, found, expected)
    assert np.abs(found[reached] - expected[reached]).max(initial=0) <= allowed


def seconds_between(network: Network) -> Floats:
    """Seconds between all locations, searched; inf if there is no path."""
    ids = network.location_ids
    seconds = Router({network.mode: network}).matrix(ids, ids, network.mode).seconds
    return np.where(np.isnan(seconds), np.inf, seconds)


def search_seconds(network: Network) -> Floats:
    """Seconds between all locations, by a search over exact walks between them, and rides.

    Of private space, only that which they are in is there.
    """
    stops, count = network.locations, len(network.locations)
    regions = regions_of(network)
    seconds = np.full((count, count), np.inf)
    for one, other in combinations_with_replacement(np.unique(regions).tolist(), 2):
        rows, columns = regions == one, regions == other
        among = search_among(network, regions, {PUBLIC, one, other})
        seconds[np.ix_(rows, columns)] = among[np.ix_(rows, columns)]
        seconds[np.ix_(columns, rows)] = among[np.ix_(columns, rows)]
    same = (stops.xy[:, None] == stops.xy).all(axis=2) & (stops.levels[:, None] == stops.levels)
    seconds[same & stops.are_attached] = 0
    seconds[~stops.are_attached] = np.inf
    return seconds


def regions_of(network: Network) -> NDArray[np.int64]:
    """The guarded regions in which locations are."""
    return network.levels.mesh.regions[network.locations.triangles].astype(np.int64)


def search_among(network: Network, regions: NDArray[np.int64], open_ones: set[int]) -> Floats:
    """Seconds between all locations outside of other guarded regions than some."""
    stops, count = network.locations, len(network.locations)
    neighbours: list[list[tuple[int, float]]] = [[] for _ in range(count + len(network.portals))]
    for level in network.level_numbers.tolist():
        is_open = np.isin(regions, [*open_ones])
        own = np.flatnonzero((stops.levels == level) & stops.are_attached & is_open).tolist()
        portals = network.levels.portal_vertices(level)
        indexes = network.levels.portals[level, : len(portals)]
        is_open = np.isin(network.portal_regions[indexes], [*open_ones])
        portals, indexes = portals[is_open], indexes[is_open]
        xy = np.concatenate((stops.near[own], network.levels.xy[portals]))
        offsets = np.concatenate((stops.offset_feet[own], np.zeros(len(portals))))
        if not len(xy):
            continue
        walks = geodesic_feet(network.levels.open_area(level, [*open_ones]), xy.tolist())
        walks += offsets[:, None] + offsets
        ends = [*own, *(count + index for index in indexes.tolist())]
        for row, one in enumerate(ends):
            for column, other in enumerate(ends):
                seconds = walks[row, column] / network.feet_per_second
                neighbours[one].append((other, seconds))
    for link in network.links:
        if {*network.portal_regions[[link.start, link.end]].tolist()} <= open_ones:
            neighbours[count + link.start].append((count + link.end, link.cost.seconds))
    seconds = np.array([search(neighbours, start)[:count] for start in range(count)])
    return seconds.reshape(count, count)


def check_laws(network: Network) -> None:
    """No detour is faster, but for those by private space, and without one-way parts both
    directions take as long.

    No way is shorter than the straight line, over levels too.
    """
    ids, xy = network.location_ids, network.locations.xy
    feet, seconds = Router({network.mode: network}).matrix(ids, ids, network.mode)
    straight = np.hypot(*(xy[:, None] - xy).transpose(2, 0, 1))
    assert not (feet < straight - ERROR_FEET - RELATIVE_ERROR * straight).any()
    assert not (seconds < straight / network.feet_per_second - ERROR_FEET).any()
    seconds = seconds_between(network)
    links = {(link.start, link.end) for link in network.links}
    if all((end, start) in links for start, end in links):
        np.testing.assert_allclose(seconds, seconds.T, atol=1e-6)
    walked = ~(network.locations.offset_feet > 0)
    for via in np.flatnonzero(walked & (regions_of(network) == PUBLIC)).tolist():
        assert (seconds <= seconds[:, via, None] + seconds[via] + 1e-6).all()


def check_table(router: Router, stored: Router, mode: TravelMode) -> None:
    """The table has what a search finds, and both are the same once stored."""
    ids = router.networks[mode].location_ids
    table, searched = router.matrix(ids, ids, mode), Router(router.networks).matrix(ids, ids, mode)
    np.testing.assert_allclose(table.feet, searched.feet, atol=ERROR_FEET)
    again = stored.matrix(ids, ids, mode), Router(stored.networks).matrix(ids, ids, mode)
    for one, other in zip((table, searched), again, strict=True):
        np.testing.assert_array_equal(one.feet, other.feet)
        np.testing.assert_array_equal(one.seconds, other.seconds)


def check_routes(router: Router, network: Network, random: np.random.Generator) -> None:
    """Routes and their steps are as long as the matrix has them, and the nearest come first.

    Each walk is on the floor.
    """
    ids = network.location_ids
    for one, other in random.choice(ids, (SAMPLED_ROUTES, 2)).tolist() if ids else ():
        route = router.route(one, other, network.mode)
        [[feet]], [[seconds]] = router.matrix([one], [other], network.mode)
        assert (route is None) == np.isnan(feet)
        if route is None:
            continue
        np.testing.assert_allclose((route.feet, route.seconds), (feet, seconds), atol=1e-5)
        steps = build_steps(network, route)
        told = sum(step.feet for step in steps), sum(step.seconds for step in steps)
        np.testing.assert_allclose(told, (route.feet, route.seconds), atol=1e-5)
        for leg in route.legs:
            if isinstance(leg, WalkLeg) and len(leg.points) > 1:
                assert_on_floor(network, leg)
    if ids:
        start = ids[0]
        feet, seconds = (row[0] for row in router.matrix([start], ids, network.mode))
        nearest = [
            near.seconds
            for near in router.nearest_from_each([start], ids, len(ids), network.mode)[0]
        ]
        assert nearest == sorted(seconds[np.isfinite(seconds)].tolist())


def check_area(router: Router, network: Network) -> None:
    """Exactly the locations within reach of the first one are in the area, which is floor."""
    ids, stops = network.location_ids, network.locations
    [seconds] = router.matrix(ids[:1], ids, network.mode).seconds if ids else [np.array([])]
    if not np.isfinite(seconds).any():
        return
    limit = float(np.nanmedian(seconds))
    isochrone = router.isochrone(ids[0], limit, network.mode)
    slack = AREA_ERROR_FEET / network.feet_per_second
    on_floor = ~(stops.offset_feet > 0)
    for level in network.level_numbers.tolist():
        level_id = network.levels.ids[level]
        reached = level_id in isochrone.level_ids
        area = isochrone.area(level_id) if reached else shapely.MultiPolygon()
        assert area.is_valid
        assert area.difference(network.levels.walkable_area(level)).area < MAX_OUTSIDE_SQUARE_FEET
        own = on_floor & (stops.levels == level)
        feet = shapely.distance(area, shapely.points(stops.near[own]))
        times = np.where(np.isnan(seconds[own]), np.inf, seconds[own])
        assert (feet[times <= limit - slack] <= 0.1).all()
        is_inside = feet <= 0  # NaN where there is no area
        assert not is_inside[times > limit + 0.05 / network.feet_per_second].any()


def assert_on_floor(network: Network, leg: WalkLeg) -> None:
    """A walk leaves the floor only to its ends beside it, and through one-way doors."""
    level = network.level_index[leg.level_id]
    beside = network.costing.attach_feet + 1
    doors = [door.buffer(0.5) for door in network.levels.doors.shapes(level)]
    floor = shapely.union_all([network.levels.walkable_area(level).buffer(1e-3), *doors])
    off = shapely.LineString(leg.points).difference(floor)
    ends = shapely.MultiPoint([leg.points[0], leg.points[-1]])
    assert off.is_empty or shapely.hausdorff_distance(off, ends) <= max(
        beside, off.hausdorff_distance(ends)
    )
    assert off.length <= 2 * beside


def check_modes(router: Router) -> None:
    """A wheelchair is nowhere faster, and goes nowhere else."""
    foot, wheelchair = (seconds_between(router.networks[mode]) for mode in TravelMode)
    offsets = router.networks[TravelMode.WHEELCHAIR].locations.offset_feet
    same = offsets == router.networks[TravelMode.FOOT].locations.offset_feet
    assert (foot <= wheelchair + 1e-6)[np.ix_(same, same)].all()


def draw_restrictions(plan: Plan, random: np.random.Generator) -> Restrictions:
    """Close some doors, a space and a connector, and avoid a kind."""
    doors = [door.id for door in plan.doors if random.random() < 0.15]
    spaces = [space.id for space in plan.spaces if random.random() < 0.05]
    connectors = [connector.id for connector in plan.connectors if random.random() < 0.2]
    kinds = [kind for kind in ConnectorKind if random.random() < 0.1]
    return Restrictions(
        frozenset(connectors), frozenset(doors), frozenset(spaces), frozenset(kinds)
    )


def check_restricted(
    router: Router, restrictions: Restrictions, random: np.random.Generator
) -> None:
    """What is left after closures is measured as exactly, and no closure makes a path faster."""
    for mode, network in restrict_networks(router.networks, restrictions).items():
        check_distances(network)
        own = Router({network.mode: network})
        check_routes(own, network, random)
        check_area(own, network)
        whole, kept = router.networks[mode], network.locations.are_attached
        near, before = network.locations.near[kept], whole.locations.near[kept]
        np.testing.assert_allclose(near, before, rtol=0, atol=SAME_WALL_FEET)
        slack_seconds = 10 * SAME_WALL_FEET / network.feet_per_second
        assert (seconds_between(network) >= seconds_between(whole) - slack_seconds).all()
        places = [
            Position(network.levels.ids[level], *xy)
            for level, xy in zip(
                network.locations.levels.tolist(), network.locations.xy.tolist(), strict=True
            )
        ]
        if places:
            found = own.matrix(places, places, network.mode)
            by_id = seconds_between(network)
            np.testing.assert_allclose(
                np.where(np.isnan(found.seconds), np.inf, found.seconds), by_id, atol=1e-6
            )
