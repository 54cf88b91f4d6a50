"""Distance matrices between waypoints: feet and seconds of the fastest routes.

On one level the fastest walk is the shortest. Every other route enters a portal on the source's
level and leaves one on the target's; paths between portals are precomputed. So a matrix takes
the walks on each level that has both sources and targets, and two minima over portals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from routing.arrays import BoolArray, Float32Array, FloatArray, IntArray
from routing.costing import cost_of, seconds_of
from routing.network.levels import is_foreign
from routing.network.mesh import PUBLIC
from routing.network.network import Network
from routing.network.portals import PortalPaths
from routing.network.stops import Stops
from routing.search.walks import PlacedStops, measure_portal_walks, measure_walks, place_stops
from routing.search.waypoints import WaypointRef, find_stops

MAX_BLOCK_CELLS = 1 << 21
"""Cells per block of sums over portals; limits memory to about 50 MB."""


class TravelMatrix(NamedTuple):
    """Feet and seconds from each source (rows) to each target (columns); NaN if no path."""

    feet: FloatArray | Float32Array
    seconds: FloatArray | Float32Array


class PathCosts(NamedTuple):
    """Feet and costs from each source (rows) to each portal (columns); inf if no path."""

    feet: FloatArray
    costs: FloatArray


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
        via = distances_to_portals(network.portal_paths, start, end, rows, network.feet_per_second)
        total = via.costs[:, None, :] + end_costs[None]
        # argmin and not min: feet and costs must be those of the same route
        # (docs/decisions/routing/portals.md).
        portal = total.argmin(axis=2)
        least = np.take_along_axis(total, portal[..., None], axis=2)[..., 0]
        # On a tie the direct walk stays, as in `find_route`, so that both report the same feet.
        cheaper = least < costs[rows]
        portal_feet = np.take_along_axis(via.feet, portal, axis=1)
        route_feet = portal_feet + end.feet[np.arange(len(end.feet))[None, :], portal]
        costs[rows] = np.where(cheaper, least, costs[rows])
        feet[rows] = np.where(cheaper, route_feet, feet[rows])


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
) -> PathCosts:
    """Return the fastest paths from sources in `rows` to the portals near targets, or inf."""
    between = np.ix_(start.portals, end.portals)
    path_costs = cost_of(portal_paths.seconds[between], portal_paths.feet[between])
    start_feet = start.feet[rows]
    total = cost_of(start_feet / feet_per_second, start_feet)[:, :, None] + path_costs
    portal = total.argmin(axis=1)
    costs = np.take_along_axis(total, portal[:, None, :], axis=1)[:, 0, :]
    portal_feet = np.take_along_axis(start_feet, portal, axis=1)
    feet = portal_feet + portal_paths.feet[start.portals[portal], end.portals[None, :]]
    return PathCosts(feet, costs)


def find_coinciding(starts: Stops, ends: Stops) -> BoolArray:
    """Return whether starts (rows) and ends (columns) are at one place, which is attached."""
    same = (starts.levels[:, None] == ends.levels) & starts.are_attached[:, None]
    return np.asarray(same & (starts.xy[:, None] == ends.xy).all(axis=2))
