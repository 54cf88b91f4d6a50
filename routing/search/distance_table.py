"""Precomputed distances between all locations of a map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from routing.arrays import Float32Array
from routing.costing import TravelMode
from routing.errors import WaypointError
from routing.network.network import Network
from routing.search.matrix import TravelMatrix, measure_stops
from routing.search.stops import find_location_stop

MAX_TABLE_LOCATIONS = 3_000
"""A larger table would take over 72 MB per mode; such maps are searched on each request."""


@dataclass(frozen=True)
class DistanceTable:
    """Feet and seconds (n, n) of the fastest routes between `location_ids`; NaN if no path."""

    mode: TravelMode
    location_ids: tuple[str, ...]
    feet: Float32Array
    seconds: Float32Array

    @cached_property
    def index_by_id(self) -> dict[str, int]:
        return {location_id: index for index, location_id in enumerate(self.location_ids)}

    def look_up(self, sources: Sequence[str], targets: Sequence[str]) -> TravelMatrix:
        """Return the distances between locations. Raises WaypointError for an unknown one.

        >>> feet = np.array([[0, 30], [30, 0]], dtype=np.float32)
        >>> table = DistanceTable(TravelMode.FOOT, ("cafe", "kiosk"), feet, feet / 5)
        >>> table.look_up(["cafe"], ["kiosk"]).seconds.tolist()
        [[6.0]]
        """
        index = self.index_by_id
        try:
            rows = [index[location_id] for location_id in sources]
            columns = [index[location_id] for location_id in targets]
        except KeyError as error:
            raise WaypointError(f"The map has no location {error.args[0]!r}.") from None
        # The dtype is for empty lists, which numpy makes arrays of floats, and those are no
        # indexes.
        cells = np.array(rows, dtype=np.intp)[:, None], np.array(columns, dtype=np.intp)
        return TravelMatrix(self.feet[cells], self.seconds[cells])


def build_distance_table(network: Network) -> DistanceTable:
    """Return the table of a network."""
    ids = tuple(location.id for location in network.locations)
    stops = [find_location_stop(network, location_id) for location_id in ids]
    # Half the memory of doubles; 24 significant bits are exact to 0.001 ft up to three miles.
    feet = np.full((len(ids), len(ids)), np.nan, dtype=np.float32)
    seconds = feet.copy()
    levels = [
        np.array([i for i, stop in enumerate(stops) if stop.level == level], dtype=np.intp)
        for level in range(len(network.levels))
    ]
    # One pair of levels at a time limits memory.
    for rows in levels:
        for columns in levels:
            block = measure_stops(network, [stops[i] for i in rows], [stops[i] for i in columns])
            feet[np.ix_(rows, columns)] = block.feet
            seconds[np.ix_(rows, columns)] = block.seconds
    return DistanceTable(network.mode, ids, feet, seconds)
