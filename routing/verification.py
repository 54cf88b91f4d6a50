"""Check a sample of distances before a map is published, by other means than they were made.

A walk is right if its line stays on the floor and is as long as was measured, and if a search over
the corners of the floor finds no shorter one. The search looks only where a shorter walk could be,
within the ellipse around both ends, and uses neither the mesh nor the graph.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import shapely

from routing.arrays import ArrayTable, BoolArray, FloatArray, IntArray, join_tables
from routing.costing import TravelMode, cost_of
from routing.errors import VerificationError
from routing.network.levels import Levels, are_open
from routing.network.mesh import PUBLIC, SIGHT_TOLERANCE_FEET
from routing.network.network import Network, Stops
from routing.network.walk_graph import VertexWalks
from routing.plan import Polygonal
from routing.search.router import Router, find_route
from routing.search.walks import measure_walks, place_stops, trace_walk

MAX_ERROR_FEET = 1e-6
MAX_RELATIVE_ERROR = 1e-9
MAX_TIE_SECONDS = 1e-6
"""Rounding may choose either of two routes whose costs differ by less."""
SAMPLED_PAIRS = 40
"""So many pairs are checked on each level, and of the whole map in each mode."""
MAX_TESTED_LINES = 30_000
"""Half of them between corners, half in searches; all take about half a second."""
CLUSTER_CORNERS = 40
"""Corners near each other that are checked together."""
CLUSTERS = 10
"""So many clusters are checked on each level."""
LINES_PER_TEST = 32
SLACK_SINE = 0.02
"""A line that misses a wall by a smaller angle, about a degree, is still tested in a search."""
MIN_TURN_SINE = 1e-9
"""Walks surely bend at a corner with a larger angle."""
MIN_PASS_SINE = 1e-12
"""A line that surely passes a corner may cut it by a smaller angle."""
SEED = 11


@dataclass
class Verification:
    """Counts of what was checked, and of the lines of sight that it took."""

    corner_pairs: int = 0
    walks: int = 0
    routes: int = 0
    lines: int = 0


def verify_router(router: Router) -> Verification:
    """Check a sample of distances; return how many. Raises VerificationError."""
    found, random = Verification(), np.random.default_rng(SEED)
    levels = router.networks[TravelMode.FOOT].levels
    stops = join_tables([network.locations for network in router.networks.values()])
    order = random.permutation(len(levels)).tolist()
    try:
        for level in order:
            check_corners(levels, level, random, found)
        found.lines = 0
        for level in order:
            own = np.flatnonzero((stops.levels == level) & stops.are_attached)
            check_walks(levels, stops.take(own), random, found)
        for network in router.networks.values():
            check_routes(router, network, random, found)
    except VerificationError as error:
        raise VerificationError(
            f"A distance is wrong: {error}. Nothing was published; please report this plan."
        ) from None
    return found


def check_corners(
    levels: Levels, level: int, random: np.random.Generator, found: Verification
) -> None:
    """Check that corners which see each other are as far apart as the line between them.

    If all are between which a walk can lead straight, then all walks are shortest.
    """
    bends = find_bends(levels.walkable_area(level), MIN_TURN_SINE)
    sight_area = prepare_sight(levels.open_area(level))
    vertices = match_vertices(levels, level, bends.xy)
    is_public = levels.regions[vertices] == PUBLIC
    vertices, bends = vertices[is_public], bends.take(is_public)
    if not len(bends.xy):
        return
    for centre in bends.xy[random.permutation(len(bends.xy))[:CLUSTERS]]:
        near = np.argsort(np.hypot(*(bends.xy - centre).T))[:CLUSTER_CORNERS]
        first, second = np.triu_indices(len(near), k=1)
        walks = VertexWalks(levels.labels, vertices[near])
        feet = np.stack([walks.measure(vertices[[corner]], np.zeros(1)) for corner in near])
        measured, one, other = feet[first, second], near[first], near[second]
        lines = bends.xy[other] - bends.xy[one]
        straight = np.hypot(*lines.T)
        is_longer = measured > straight + MAX_ERROR_FEET + MAX_RELATIVE_ERROR * straight
        for corners in (one, other):
            is_longer &= bends.may_pass(corners, lines, MIN_PASS_SINE)
        longer = np.flatnonzero(is_longer)
        ends = np.stack((bends.xy[one[longer]], bends.xy[other[longer]]), axis=1)
        for index in np.flatnonzero(shapely.covers(sight_area, shapely.linestrings(ends))).tolist():
            at, (from_xy, to_xy) = longer[index], ends[index]
            raise VerificationError(
                f"the corners {format_xy(from_xy)} and {format_xy(to_xy)} on level "
                f"{levels.ids[level]!r} see each other at {straight[at]:.6f} ft, but the walk "
                f"between them was measured as {measured[at]:.6f} ft"
            )
        found.corner_pairs += len(first)
        found.lines += len(longer)
        if found.lines >= MAX_TESTED_LINES / 2:
            return


def match_vertices(levels: Levels, level: int, corners: FloatArray) -> IntArray:
    """Return the vertex of a level at each corner (n, 2)."""
    vertices = levels.vertices(level)
    places = map(tuple, levels.xy[vertices].tolist())
    at = dict(zip(places, vertices.tolist(), strict=True))
    try:
        return np.array([at[x, y] for x, y in corners.tolist()], dtype=np.int64)
    except KeyError as error:
        raise VerificationError(
            f"walks bend at {format_xy(np.array(error.args[0]))} on level {levels.ids[level]!r}, "
            "which is no vertex of the graph"
        ) from None


def draw_pairs(indexes: IntArray, random: np.random.Generator) -> IntArray:
    """Return at most SAMPLED_PAIRS random pairs (n, 2) of indexes."""
    count = SAMPLED_PAIRS if len(indexes) > 1 else 0
    return random.choice(indexes, (count, 2)) if count else np.empty((0, 2), dtype=np.int64)


def check_routes(
    router: Router, network: Network, random: np.random.Generator, found: Verification
) -> None:
    """Check that routes are as long as the matrix has them, and no shorter than straight lines."""
    for link in network.links:
        start, end = network.portals[link.start], network.portals[link.end]
        check_straight(start[2:4], end[2:4], link.cost.feet, f"ride {start} to {end}")
    ids, xy = network.location_ids, network.locations.xy
    for one, other in draw_pairs(np.arange(len(ids)), random).tolist():
        [[feet]], [[seconds]] = router.matrix([ids[one]], [ids[other]], network.mode)
        check_straight(xy[one], xy[other], feet, f"route from {ids[one]!r} to {ids[other]!r}")
        route = find_route(network, ids[one], ids[other])
        by_route = np.array((np.nan, np.nan) if route is None else (route.feet, route.seconds))
        by_matrix = np.array((feet, seconds))
        is_tie = abs(cost_of(*by_route[::-1]) - cost_of(seconds, feet)) <= MAX_TIE_SECONDS
        if not is_tie and not np.allclose(
            by_route, by_matrix, MAX_RELATIVE_ERROR, MAX_ERROR_FEET, equal_nan=True
        ):
            raise VerificationError(
                f"the route from {ids[one]!r} to {ids[other]!r} ({network.mode}) has "
                f"{by_route[0]:.6f} ft and {by_route[1]:.6f} s, the matrix {feet:.6f} ft and "
                f"{seconds:.6f} s"
            )
        found.routes += 1


def check_straight(start: Sequence[float], end: Sequence[float], feet: float, name: str) -> None:
    """Check that a way is as long as the straight line between its ends."""
    if feet + allowed_error(feet) < (straight := math.dist(start, end)):
        raise VerificationError(f"the {name} has {feet:.6f} ft, the straight line {straight:.6f}")


def check_walks(
    levels: Levels, stops: Stops, random: np.random.Generator, found: Verification
) -> None:
    """Check walks between some of the stops of one level."""
    pairs = draw_pairs(np.arange(len(stops)), random)
    if not len(pairs):
        return
    level = int(stops.levels[0])
    regions = levels.mesh.regions[stops.triangles]
    own: list[int] | None = None
    # The nearer two stops are, the fewer lines a search tests.
    apart = np.hypot(*(stops.near[pairs[:, 0]] - stops.near[pairs[:, 1]]).T)
    for pair in pairs[np.argsort(apart)]:
        if found.lines >= MAX_TESTED_LINES / 2:
            return
        if own is None or own != regions[pair].tolist():
            own = regions[pair].tolist()
            area = levels.open_area(level, own)
            bends, sight_area = find_bends(area, -SLACK_SINE), prepare_sight(area)
        one, other = (place_stops(levels, stops.take(pair[[end]])) for end in (0, 1))
        feet = float(measure_walks(levels, one, other)[0, 0])
        feet -= float(one.offset_feet[0] + other.offset_feet[0])
        ends = np.concatenate((one.xy, other.xy))
        name = f"from {format_xy(ends[0])} to {format_xy(ends[1])} on level {levels.ids[level]!r}"
        if not np.isfinite(feet):
            if share_part(area, ends):
                raise VerificationError(f"no walk was found {name}, although the floor joins them")
            continue
        limit_feet = feet - allowed_error(feet)
        shorter = find_shorter_walk(sight_area, bends, ends, limit_feet, found)
        if shorter is not None:
            raise VerificationError(
                f"the walk {name} was measured as {feet:.6f} ft, but one of {shorter:.6f} ft exists"
            )
        check_line(levels, level, trace_walk(levels, one, other), feet, name, own)
        if found.lines < MAX_TESTED_LINES / 2:
            found.walks += 1


def check_line(
    levels: Levels, level: int, line: FloatArray, feet: float, name: str, regions: list[int]
) -> None:
    """Check that a line (n, 2) stays on floor that it may use, and is as long as was measured."""
    length = float(np.hypot(*np.diff(line, axis=0).T).sum())
    if abs(length - feet) > allowed_error(feet):
        raise VerificationError(
            f"the walk {name} was measured as {feet:.6f} ft, but its line has {length:.6f} ft"
        )
    lines = np.stack((line[:-1], line[1:]), axis=1)
    is_open = are_open(levels.find_regions(level, lines), *regions)
    if not (is_open & levels.are_clear(level, line[:-1], line[1:])).all():
        raise VerificationError(f"the walk {name} leaves the floor")


def allowed_error(feet: float) -> float:
    return MAX_ERROR_FEET + MAX_RELATIVE_ERROR * feet


def share_part(area: Polygonal, ends: FloatArray) -> bool:
    """Return whether two points (2, 2) lie in one part of an area; parts may touch in a point."""
    parts = shapely.get_parts(area)
    is_inside = shapely.dwithin(parts[:, None], shapely.points(ends), SIGHT_TOLERANCE_FEET)
    return bool(is_inside.all(axis=1).any())


@dataclass(frozen=True)
class Bends(ArrayTable):
    """Corners `xy` (n, 2) at which walks can bend, and the corners before and after on the wall."""

    xy: FloatArray
    before: FloatArray
    after: FloatArray

    def may_pass(self, corners: IntArray, lines: FloatArray, slack_sine: float) -> BoolArray:
        """Return whether lines (n, 2) from or to corners may be part of a shortest walk.

        They leave both walls at the corner on one side, but for a small angle.
        """
        xy = self.xy[corners]
        one, other = (_sine(lines, at[corners] - xy) for at in (self.before, self.after))
        return np.asarray(np.maximum(np.minimum(one, other), -np.maximum(one, other)) > -slack_sine)


def find_bends(area: Polygonal, min_turn_sine: float) -> Bends:
    """Return the corners of an area around which walks bend, by more than a small angle."""
    parts = [(np.empty((0, 2)),) * 3]
    for ring in shapely.get_rings(shapely.get_parts(shapely.orient_polygons(area))):
        xy = shapely.get_coordinates(ring)[:-1]
        before, after = np.roll(xy, 1, axis=0), np.roll(xy, -1, axis=0)
        kept = _sine(xy - before, after - xy) < -min_turn_sine
        parts.append((xy[kept], before[kept], after[kept]))
    return Bends(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def find_shorter_walk(
    sight_area: Polygonal, bends: Bends, ends: FloatArray, limit_feet: float, found: Verification
) -> float | None:
    """Return the length of a walk of less than a limit between two points (2, 2), if one is found.

    A* in which lines are tested for sight only when they are the best that is left.
    """
    start, end = ends
    detours = np.hypot(*(bends.xy - start).T) + np.hypot(*(bends.xy - end).T)
    near = np.flatnonzero(detours < limit_feet)
    xy = np.concatenate((bends.xy[near], ends))
    to_end = np.hypot(*(xy - end).T)
    source, target = len(near), len(near) + 1
    walked = np.full(len(xy), np.inf)
    queue = [_Step(float(to_end[source]), 0.0, True, source, source)]
    while queue and found.lines < MAX_TESTED_LINES / 2:
        if not queue[0].is_clear:
            _test_steps(queue, sight_area, xy, walked, found)
            continue
        step = heapq.heappop(queue)
        if walked[step.end] < np.inf:
            continue
        if step.end == target:
            return step.feet
        walked[step.end] = step.feet
        lines = xy - xy[step.end]
        totals = step.feet + np.hypot(*lines.T)
        ends_left = np.flatnonzero((walked == np.inf) & (totals + to_end < limit_feet))
        if step.end != source:
            leaving = np.full(len(ends_left), near[step.end])
            ends_left = ends_left[bends.may_pass(leaving, lines[ends_left], SLACK_SINE)]
        corners = ends_left[ends_left < source]
        corners = corners[bends.may_pass(near[corners], lines[corners], SLACK_SINE)]
        for end in (*corners.tolist(), *ends_left[ends_left == target].tolist()):
            total = float(totals[end])
            heapq.heappush(queue, _Step(total + float(to_end[end]), total, False, step.end, end))
    return None


class _Step(NamedTuple):
    """A line on the way: the least length of all that follows, and of all up to its end."""

    least_feet: float
    feet: float
    is_clear: bool
    start: int
    end: int


def _test_steps(
    queue: list[_Step],
    sight_area: Polygonal,
    xy: FloatArray,
    walked: FloatArray,
    found: Verification,
) -> None:
    """Test the next lines for sight, and put back those that are clear."""
    steps: list[_Step] = []
    while queue and len(steps) < LINES_PER_TEST and not queue[0].is_clear:
        step = heapq.heappop(queue)
        if walked[step.end] == np.inf:
            steps.append(step)
    found.lines += len(steps)
    lines = shapely.linestrings(xy[[(step.start, step.end) for step in steps]].reshape(-1, 2, 2))
    for index in np.flatnonzero(shapely.covers(sight_area, lines)).tolist():
        heapq.heappush(queue, steps[index]._replace(is_clear=True))


def _sine(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return the sines of the angles from vectors (n, 2) to others, 0 if one has no length."""
    lengths = np.hypot(one[:, 0], one[:, 1]) * np.hypot(other[:, 0], other[:, 1])
    lengths[lengths == 0] = np.inf
    return np.asarray((one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0]) / lengths)


def prepare_sight(area: Polygonal) -> Polygonal:
    """Return the area in which lines surely stay in sight: half a tolerance wider, prepared."""
    sight_area = area.buffer(SIGHT_TOLERANCE_FEET / 2, join_style="mitre")
    shapely.prepare(sight_area)
    return sight_area


def format_xy(at: FloatArray) -> str:
    return f"({at[0]:.3f}, {at[1]:.3f})"
