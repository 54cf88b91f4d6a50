"""Distance matrices between waypoints: feet and seconds of the fastest routes.

On one level the fastest walk is the shortest. Every other route enters a portal on the source's
level and leaves one on the target's; paths between portals are precomputed. So a matrix takes
the walks on each level that has both sources and targets, and two minima over portals. Between the
locations of a map, distances are precomputed in a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from routing.arrays import BoolArray, Float32Array, FloatArray, IntArray, join_tables
from routing.costing import TravelMode, cost_of, seconds_of
from routing.errors import WaypointError
from routing.network.levels import is_foreign
from routing.network.mesh import PUBLIC
from routing.network.network import UNKNOWN_LEVEL, LocationIds, Network, Stops
from routing.search.walks import PlacedStops, measure_portal_walks, measure_walks, place_stops
from routing.values import Position as Position
from routing.values import WaypointRef as WaypointRef


def find_stops(network: Network, waypoints: Sequence[WaypointRef]) -> Stops:
    """Return the stops of waypoints; those of an unknown level are on UNKNOWN_LEVEL.

    Raises WaypointError for an unknown location, or a position that is not finite.
    """
    ids = [waypoint for waypoint in waypoints if isinstance(waypoint, str)]
    positions = [waypoint for waypoint in waypoints if not isinstance(waypoint, str)]
    by_id, placed = find_location_stops(network, ids), place_positions(network, positions)
    if not positions or not ids:
        return by_id if ids else placed
    is_id = np.array([isinstance(waypoint, str) for waypoint in waypoints])
    order = np.argsort(np.argsort(~is_id, kind="stable"))
    return join_tables([by_id, placed]).take(order)


def find_location_stops(network: Network, location_ids: Sequence[str]) -> Stops:
    """Return the stops of locations. Raises WaypointError for an unknown one."""
    index = network.location_index
    try:
        chosen = [index[location_id] for location_id in location_ids]
    except KeyError as error:
        raise WaypointError(f"The map has no location {error.args[0]!r}.") from None
    return network.locations.take(np.array(chosen, dtype=np.int64))


def place_positions(network: Network, positions: Sequence[Position]) -> Stops:
    """Return the stops of positions. Raises WaypointError for one that is not finite."""
    xy = np.array([(x, y) for _, x, y in positions], dtype=np.float64).reshape(-1, 2)
    for x, y in xy[~np.isfinite(xy).all(axis=1)]:
        raise WaypointError(f"({x}, {y}) is not a position; give finite numbers, in feet.")
    index = network.level_index
    levels = [index.get(position.level_id, UNKNOWN_LEVEL) for position in positions]
    return network.attach(np.array(levels, dtype=np.int64), xy)


MAX_BLOCK_CELLS = 1 << 21
"""Cells per block of sums over portals; limits memory to about 50 MB."""


class TravelMatrix(NamedTuple):
    """Feet and seconds from each source (rows) to each target (columns); NaN if no path."""

    feet: FloatArray | Float32Array
    seconds: FloatArray | Float32Array


class PortalApproach(NamedTuple):
    """Walks in feet between stops (rows) and `portals` (columns); inf to those of other levels."""

    portals: IntArray
    feet: FloatArray


@dataclass(frozen=True)
class Approaches:
    """Stops, and the walks from them to all portals (n, p).

    Those with the indexes `attached` are `placed` on the walkable area.
    """

    stops: Stops
    attached: IntArray
    placed: PlacedStops
    portal_feet: FloatArray


def compute_matrix(
    network: Network, sources: Sequence[WaypointRef], targets: Sequence[WaypointRef]
) -> TravelMatrix:
    """Return the matrix of waypoints. Raises WaypointError for an unknown location."""
    starts, ends = find_stops(network, sources), find_stops(network, targets)
    return measure_routes(
        network, approach_portals(network, starts), approach_portals(network, ends)
    )


def approach_portals(network: Network, stops: Stops) -> Approaches:
    """Place stops on their levels, and measure the walks to the portals there."""
    by_level = np.argsort(stops.levels, kind="stable")
    attached = by_level[stops.are_attached[by_level]]
    placed = place_stops(network.levels, stops.take(attached))
    # Levels with fewer portals than others have NO_PORTAL, which is the last column.
    portal_feet = np.full((len(stops), len(network.portals) + 1), np.inf)
    portals = network.levels.portals[placed.levels]
    portal_feet[attached[:, None], portals] = measure_portal_walks(network.levels, placed)
    return Approaches(stops, attached, placed, portal_feet[:, :-1])


def measure_routes(network: Network, starts: Approaches, ends: Approaches) -> TravelMatrix:
    """Return the matrix of stops."""
    feet = np.full((len(starts.stops), len(ends.stops)), np.inf)
    walks = measure_walks(network.levels, starts.placed, ends.placed)
    feet[np.ix_(starts.attached, ends.attached)] = walks
    costs = cost_of(feet / network.feet_per_second, feet)
    # Who neither begins nor ends in a room with stairs does not ride there.
    inside = network.portal_regions
    for start, rows in group_by_region(starts, inside):
        for end, columns in group_by_region(ends, inside):
            block, usable = np.ix_(rows, columns), ~is_foreign(inside, start, end)
            own_feet, own_costs = feet[block], costs[block]
            relax_through_portals(
                network,
                reachable_portals(network.link_starts, usable, starts.portal_feet[rows]),
                reachable_portals(network.link_ends, usable, ends.portal_feet[columns]),
                own_feet,
                own_costs,
            )
            feet[block], costs[block] = own_feet, own_costs
    seconds = seconds_of(costs, feet)
    # Else a waypoint off the floor would be twice its offset away from itself.
    same = find_coinciding(starts.stops, ends.stops)
    feet[same] = seconds[same] = 0
    no_path = ~np.isfinite(seconds)
    feet[no_path] = seconds[no_path] = np.nan
    return TravelMatrix(feet, seconds)


def group_by_region(stops: Approaches, regions: IntArray) -> Iterator[tuple[int, IntArray]]:
    """Yield stops by their region, if it is among `regions`; all others are PUBLIC."""
    of_stops = np.full(len(stops.stops), PUBLIC)
    of_stops[stops.attached] = stops.placed.regions
    of_stops[~np.isin(of_stops, regions)] = PUBLIC
    for region in np.unique(of_stops).tolist():
        yield region, np.flatnonzero(of_stops == region)


def reachable_portals(portals: IntArray, usable: BoolArray, feet: FloatArray) -> PortalApproach:
    """Return which of some usable portals any stop reaches, and the walks to them.

    Paths worth taking begin and end with a link, as walks between portals are no shorter than
    others.
    """
    portals = portals[usable[portals] & np.isfinite(feet[:, portals]).any(axis=0)]
    return PortalApproach(portals, feet[:, portals])


def relax_through_portals(
    network: Network,
    start: PortalApproach,
    end: PortalApproach,
    feet: FloatArray,
    costs: FloatArray,
) -> None:
    """Lower `costs` and set `feet`, in place, where a route through portals costs less."""
    if not len(start.portals) or not len(end.portals):
        return
    end_costs = cost_of(end.feet / network.feet_per_second, end.feet)
    for rows in iter_row_blocks(start, end):
        # Minimising over the first portal and then over the last avoids testing all pairs of
        # portals for each pair of stops.
        via_feet, via_costs = measure_to_portals(network, start, end, rows)
        total = via_costs[:, None, :] + end_costs[None]
        # argmin and not min: feet and costs must be those of the same route
        # (docs/decisions/routing/search.md).
        portal = total.argmin(axis=2)
        least = np.take_along_axis(total, portal[..., None], axis=2)[..., 0]
        # On a tie the direct walk stays, as in `find_route`, so that both report the same feet.
        cheaper = least < costs[rows]
        portal_feet = np.take_along_axis(via_feet, portal, axis=1)
        route_feet = portal_feet + end.feet[np.arange(len(end.feet))[None, :], portal]
        costs[rows] = np.where(cheaper, least, costs[rows])
        feet[rows] = np.where(cheaper, route_feet, feet[rows])


def iter_row_blocks(start: PortalApproach, end: PortalApproach) -> Iterator[slice]:
    """Yield blocks of source rows; the sums of a block fit MAX_BLOCK_CELLS."""
    per_row = len(end.portals) * max(len(start.portals), len(end.feet))
    rows = max(1, MAX_BLOCK_CELLS // per_row)
    for first in range(0, len(start.feet), rows):
        yield slice(first, first + rows)


def measure_to_portals(
    network: Network, start: PortalApproach, end: PortalApproach, rows: slice
) -> tuple[FloatArray, FloatArray]:
    """Return the fastest paths from sources in `rows` to the portals near targets.

    They are feet and costs, both inf if there is no path.
    """
    portal_paths, between = network.portal_paths, np.ix_(start.portals, end.portals)
    path_costs = cost_of(portal_paths.seconds[between], portal_paths.feet[between])
    start_feet = start.feet[rows]
    start_costs = cost_of(start_feet / network.feet_per_second, start_feet)
    total = start_costs[:, :, None] + path_costs
    portal = total.argmin(axis=1)
    costs = np.take_along_axis(total, portal[:, None, :], axis=1)[:, 0, :]
    portal_feet = np.take_along_axis(start_feet, portal, axis=1)
    feet = portal_feet + portal_paths.feet[start.portals[portal], end.portals[None, :]]
    return feet, costs


def find_coinciding(starts: Stops, ends: Stops) -> BoolArray:
    """Return whether starts (rows) and ends (columns) are at one place, which is attached."""
    same = (starts.levels[:, None] == ends.levels) & starts.are_attached[:, None]
    return np.asarray(same & (starts.xy[:, None] == ends.xy).all(axis=2))


PlanPoint = tuple[float, float]


def euclidean_distances(
    sources: Sequence[PlanPoint], targets: Sequence[PlanPoint], feet_per_second: float
) -> TravelMatrix:
    """Return the straight-line distances in feet, and the times to walk as far.

    Heights are ignored, because plans do not state them: points above each other are 0 feet apart.

    >>> euclidean_distances([(0, 0)], [(3, 4)], feet_per_second=5).feet.tolist()
    [[5.0]]
    """
    starts, ends = np.array(sources).reshape(-1, 2), np.array(targets).reshape(-1, 2)
    feet = np.linalg.norm(ends[None, :] - starts[:, None], axis=2)
    return TravelMatrix(feet, feet / feet_per_second)


MAX_TABLE_LOCATIONS = 3_000
"""A larger table would take over 90 MB per mode; such maps are searched on each request."""
NO_PATH = 2**32 - 1
MAX_ROUNDING_FEET = 2.5e-7
"""If steps would round lengths by more, as one is over 850 feet, they are stored in full."""
SECONDS_DECIMALS = 6
"""Rides whose times differ by less are stored as one."""


@dataclass(frozen=True)
class DistanceTable:
    """The fastest routes between `location_ids`, by pair.

    `steps` are their lengths in steps of the largest one divided by 2^32, and NO_PATH if there is
    none; or in feet, and NaN, if such steps are too large. `rides` are indexes into `ride_seconds`:
    how much longer they take than to walk as far at `feet_per_second`.

    All pairs are in the order of rows and columns. If all routes have the same length in both
    directions, only pairs with row <= column are there.
    """

    mode: TravelMode
    location_ids: LocationIds
    feet_per_second: float
    step_feet: float
    steps: NDArray[np.uint32] | FloatArray
    rides: IntArray
    ride_seconds: FloatArray

    def look_up(
        self, sources: Sequence[WaypointRef], targets: Sequence[WaypointRef]
    ) -> TravelMatrix:
        """Return the distances between locations by id, all of which must be in the table."""
        index: Mapping[Any, int] = self.location_ids.positions
        rows = [index[location_id] for location_id in sources]
        columns = [index[location_id] for location_id in targets]
        # The dtype is for empty lists, which numpy makes arrays of floats, and those are no
        # indexes.
        row, column = np.array(rows, dtype=np.intp)[:, None], np.array(columns, dtype=np.intp)
        if self._is_both_ways:
            row, column = np.minimum(row, column), np.maximum(row, column)
        pairs = self._row_starts[row] + column
        steps = self.steps[pairs]
        feet = steps * self.step_feet
        no_path = steps == NO_PATH
        if no_path.any():
            feet[no_path] = np.nan
        return TravelMatrix(
            feet, feet / self.feet_per_second + self.ride_seconds[self.rides[pairs]]
        )

    @property
    def _is_both_ways(self) -> bool:
        """True if only pairs with row <= column are there."""
        return len(self.steps) < len(self.location_ids) ** 2

    @cached_property
    def _row_starts(self) -> IntArray:
        """The index at which each row begins, less the number of its first column."""
        count = len(self.location_ids)
        row = np.arange(count, dtype=np.int64)
        # Each row is one shorter than the row before it.
        return row * (2 * count - row - 1) // 2 if self._is_both_ways else row * count


def build_distance_table(network: Network) -> DistanceTable:
    """Return the table of a network."""
    stops, count = network.locations, len(network.location_ids)
    feet = np.full((count, count), np.nan)
    seconds = feet.copy()
    # One pair of levels at a time limits memory.
    parts = [np.flatnonzero(stops.levels == level) for level in network.level_numbers]
    blocks = [(own, approach_portals(network, stops.take(own))) for own in parts]
    for rows, starts in blocks:
        for columns, ends in blocks:
            block = measure_routes(network, starts, ends)
            feet[np.ix_(rows, columns)] = block.feet
            seconds[np.ix_(rows, columns)] = block.seconds
    links = {(link.start, link.end) for link in network.links}
    if all((end, start) in links for start, end in links):
        both_ways = np.triu_indices(count)
        feet, seconds = feet[both_ways], seconds[both_ways]
    return compress_table(network, feet.ravel(), seconds.ravel())


def compress_table(network: Network, feet: FloatArray, seconds: FloatArray) -> DistanceTable:
    """Return the table of all pairs; NaN if no path."""
    speed = network.feet_per_second
    reached = np.isfinite(feet)
    steps: NDArray[np.uint32] | FloatArray
    step_feet = max(float(feet[reached].max(initial=0)), 1.0) / (NO_PATH - 1)
    if step_feet / 2 > MAX_ROUNDING_FEET:
        steps, step_feet = feet, 1.0
    else:
        steps = np.full(len(feet), NO_PATH, dtype=np.uint32)
        steps[reached] = np.rint(feet[reached] / step_feet)
    rides = np.zeros(len(feet), dtype=np.int64)
    beyond_walking = (seconds - feet / speed)[reached].round(SECONDS_DECIMALS)
    ride_seconds, rides[reached] = np.unique(beyond_walking, return_inverse=True)
    if not len(ride_seconds):
        ride_seconds = np.zeros(1)
    return DistanceTable(
        network.mode, network.location_ids, speed, step_feet, steps, rides, ride_seconds
    )
