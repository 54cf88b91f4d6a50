"""Distance matrices between waypoints: feet and seconds of the fastest routes.

On one level the fastest walk is the shortest. Every other route enters a portal on the source's
level and leaves one on the target's; paths between portals are precomputed. So a matrix takes
the walks on each level that has both sources and targets, and two minima over portals.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from routing.arrays import Float32Array, FloatArray, IntArray
from routing.network.network import Network
from routing.network.portals import PortalPaths
from routing.search.stops import Stop, WaypointRef, find_stop
from routing.search.walks import measure_walks

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


def compute_matrix(
    network: Network, sources: Sequence[WaypointRef], targets: Sequence[WaypointRef]
) -> TravelMatrix:
    """Return the matrix of waypoints. Raises WaypointError for an unknown location."""
    starts = [find_stop(network, waypoint) for waypoint in sources]
    ends = [find_stop(network, waypoint) for waypoint in targets]
    return measure_stops(network, starts, ends)


def measure_stops(network: Network, starts: Sequence[Stop], ends: Sequence[Stop]) -> TravelMatrix:
    """Return the matrix of stops."""
    feet = np.full((len(starts), len(ends)), np.inf)
    start_portal_feet = known_portal_feet(network, starts)
    end_portal_feet = known_portal_feet(network, ends)
    for level, (rows, columns) in group_attached_by_level(starts, ends).items():
        level_starts = [starts[index] for index in rows]
        level_ends = [ends[index] for index in columns]
        stops = [*level_starts, *level_ends]
        # Walks from locations to portals are precomputed; without pairs there is nothing else.
        if all(stop.vertex >= 0 for stop in stops) and not (rows and columns):
            continue
        walks = measure_walks(network.levels[level], level_starts, level_ends)
        offsets = np.array([stop.offset_feet for stop in stops])
        pair_offsets = offsets[: len(rows), None] + offsets[None, len(rows) :]
        feet[np.ix_(rows, columns)] = walks.feet + pair_offsets
        portals = network.levels[level].portal_indexes
        portal_feet = walks.portal_feet + offsets[:, None]
        start_portal_feet[np.array(rows, dtype=int)[:, None], portals] = portal_feet[: len(rows)]
        end_portal_feet[np.array(columns, dtype=int)[:, None], portals] = portal_feet[len(rows) :]
    seconds = feet / network.feet_per_second
    relax_through_portals(
        network,
        reachable_portals(start_portal_feet),
        reachable_portals(end_portal_feet),
        feet,
        seconds,
    )
    # Else a waypoint off the floor would be twice its offset away from itself.
    same = coinciding_pairs(starts, ends)
    feet[same] = seconds[same] = 0
    no_path = ~np.isfinite(seconds)
    feet[no_path] = seconds[no_path] = np.nan
    return TravelMatrix(feet, seconds)


def known_portal_feet(network: Network, stops: Sequence[Stop]) -> FloatArray:
    """Return precomputed walks from stops (rows) to portals (columns); inf for positions."""
    feet = np.full((len(stops), len(network.portals)), np.inf)
    rows = [row for row, stop in enumerate(stops) if stop.location_index >= 0]
    feet[rows] = network.location_portal_feet[[stops[row].location_index for row in rows]]
    return feet


def group_attached_by_level(
    starts: Sequence[Stop], ends: Sequence[Stop]
) -> dict[int, tuple[list[int], list[int]]]:
    """Return the indexes of attached starts and of attached ends for each level."""
    groups: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side, stops in enumerate((starts, ends)):
        for index, stop in enumerate(stops):
            if stop.is_attached:
                groups[stop.level][side].append(index)
    return groups


def reachable_portals(feet: FloatArray) -> PortalApproach:
    """Return the portals that any stop reaches, and the walks to them."""
    portals = np.flatnonzero(np.isfinite(feet).any(axis=0))
    return PortalApproach(portals, feet[:, portals])


def relax_through_portals(
    network: Network,
    start: PortalApproach,
    end: PortalApproach,
    feet: FloatArray,
    seconds: FloatArray,
) -> None:
    """Lower `seconds` and set `feet`, in place, where a route through portals is faster."""
    if not len(start.portals) or not len(end.portals):
        return
    for rows in iter_row_blocks(start, end):
        # Minimising over the first portal and then over the last avoids testing all pairs of
        # portals for each pair of stops.
        via = distances_to_portals(network.portal_paths, start, end, rows, network.feet_per_second)
        total = via.seconds[:, None, :] + end.feet[None] / network.feet_per_second
        # argmin and not min: feet and seconds must be those of the same route
        # (docs/decisions/routing/portals.md).
        portal = total.argmin(axis=2)
        fastest = np.take_along_axis(total, portal[..., None], axis=2)[..., 0]
        # On a tie the direct walk stays, as in `find_route`, so that both report the same feet.
        faster = fastest < seconds[rows]
        portal_feet = np.take_along_axis(via.feet, portal, axis=1)
        route_feet = portal_feet + end.feet[np.arange(len(end.feet))[None, :], portal]
        seconds[rows] = np.where(faster, fastest, seconds[rows])
        feet[rows] = np.where(faster, route_feet, feet[rows])


def iter_row_blocks(start: PortalApproach, end: PortalApproach) -> Iterator[slice]:
    """Yield blocks of source rows; the sums of a block fit MAX_BLOCK_CELLS."""
    per_row = len(end.portals) * max(len(start.portals), len(end.feet))
    rows = max(1, MAX_BLOCK_CELLS // per_row)
    for first in range(0, len(start.feet), rows):
        yield slice(first, first + rows)


def distances_to_portals(
    portal_paths: PortalPaths,
    start: PortalApproach,
    end: PortalApproach,
    rows: slice,
    feet_per_second: float,
) -> TravelMatrix:
    """Return the fastest paths from sources in `rows` to the portals near targets, or inf."""
    between = np.ix_(start.portals, end.portals)
    total = start.feet[rows, :, None] / feet_per_second + portal_paths.seconds[between][None]
    portal = total.argmin(axis=1)
    seconds = np.take_along_axis(total, portal[:, None, :], axis=1)[:, 0, :]
    portal_feet = np.take_along_axis(start.feet[rows], portal, axis=1)
    feet = portal_feet + portal_paths.feet[start.portals[portal], end.portals[None, :]]
    return TravelMatrix(feet, seconds)


def coinciding_pairs(starts: Sequence[Stop], ends: Sequence[Stop]) -> tuple[IntArray, IntArray]:
    """Return rows and columns of attached stops at the same position, which are 0 feet apart."""
    columns_at: dict[tuple[int, float, float], list[int]] = {}
    for column, stop in enumerate(ends):
        columns_at.setdefault((stop.level, stop.x, stop.y), []).append(column)
    pairs = [
        (row, column)
        for row, stop in enumerate(starts)
        if stop.is_attached
        for column in columns_at.get((stop.level, stop.x, stop.y), ())
    ]
    indexes = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return indexes[:, 0], indexes[:, 1]
