"""Precomputed distances between all locations of a map, in as few bytes as exactness allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from routing.arrays import FloatArray, IntArray
from routing.costing import TravelMode
from routing.errors import WaypointError
from routing.network.network import LocationIds, Network
from routing.search.matrix import TravelMatrix, approach_portals, measure_routes

MAX_TABLE_LOCATIONS = 3_000
"""A larger table would take over 90 MB per mode; such maps are searched on each request."""
NO_PATH = 2**32 - 1
MAX_ROUNDING_FEET = 2.5e-7
"""Where steps would round lengths by more, as one is over 850 feet, they are stored in full."""
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

    def look_up(self, sources: Sequence[str], targets: Sequence[str]) -> TravelMatrix:
        """Return the distances between locations. Raises WaypointError for an unknown one."""
        index = self.location_ids.positions
        try:
            rows = [index[location_id] for location_id in sources]
            columns = [index[location_id] for location_id in targets]
        except KeyError as error:
            raise WaypointError(f"The map has no location {error.args[0]!r}.") from None
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
        """Whether only pairs with row <= column are there."""
        return len(self.steps) < len(self.location_ids) ** 2

    @cached_property
    def _row_starts(self) -> IntArray:
        """Where each row is, less the number of its first column."""
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
