"""Compare a network's distances with the exact geodesics of its walkable areas."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.geodesic import geodesic_feet
from routing.network.network import Network
from routing.search.walks import measure_walks, place_stops

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """Measured and exact walks on one level; both (n, n) in feet, inf if there is no walk."""

    measured: Floats
    exact: Floats

    @property
    def errors(self) -> Floats:
        """Relative error of each pair of distinct, connected places."""
        pairs = np.isfinite(self.exact) & (self.exact > 0)
        return np.asarray(np.abs(self.measured[pairs] / self.exact[pairs] - 1))

    @property
    def same_nearest(self) -> Floats:
        """Whether each place has the same nearest other place."""
        measured, exact = self.measured.copy(), self.exact.copy()
        np.fill_diagonal(measured, np.inf)
        np.fill_diagonal(exact, np.inf)
        return np.asarray(measured.argmin(axis=1) == exact.argmin(axis=1))


def compare_levels(network: Network) -> list[Comparison]:
    """Compare walks between the locations of each level, without leaving it."""
    compared = []
    levels = network.levels
    for level in network.level_numbers.tolist():
        own = np.flatnonzero((network.locations.levels == level) & network.locations.are_attached)
        if len(own) < 2:
            continue
        stops = place_stops(levels, network.locations.take(own))
        exact = geodesic_feet(levels.walkable_area(level), [(x, y) for x, y in stops.xy.tolist()])
        walks = measure_walks(levels, stops, stops) - stops.offset_feet[:, None] - stops.offset_feet
        compared.append(Comparison(walks, exact))
    return compared
