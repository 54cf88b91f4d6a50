"""Straight-line distances on the plan, which ignore walls and floors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from routing.search.matrix import TravelMatrix

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
