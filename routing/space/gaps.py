"""Find gaps that are too narrow to pass; see docs/decisions/routing/narrow-gaps.md."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import shapely
from shapely import MultiPolygon, Polygon, STRtree
from shapely.geometry.base import BaseGeometry

from routing.space.plan_repair import extract_polygons
from routing.units import FEET_PER_METRE

Shapes = npt.NDArray[np.object_]

MIN_GAP_METRES = 0.25
MIN_GAP_FEET = MIN_GAP_METRES * FEET_PER_METRE
ROUNDING_FEET, HAIRLINE_FEET = 0.002, 1e-4
"""What is narrower by that, because of rounding, is no gap, and neither is a hairline."""
MIN_WIDE_FEET = 0.8 * MIN_GAP_FEET
"""Floor on which people can stand is at least so wide between walls that were given a thickness."""
SEAL_FEET, NEAR_FEET = 0.02, 0.005
"""Half the thickness of what closes a gap, also its depth in the walls; and what touches it."""
CHUNK_CORNERS, MAX_PAIRS = 256, 5_000_000
"""Pairs of a corner and a side near it: a floor with more is hostile, or simplified anyway."""


def find_gaps(walls: BaseGeometry, floor: list[Polygon]) -> tuple[Shapes, Shapes]:
    """Return the shape of each gap between `walls`, lines as drawn, and the line across it.

    A gap leads from wide floor to wide floor: a niche stays as it is.
    """
    lines = find_narrows(walls, MultiPolygon(floor))
    if not len(lines):
        return lines, lines
    seals = shapely.union_all(shapely.buffer(lines, SEAL_FEET, cap_style="square"))
    pieces = [piece for whole in floor for piece in extract_polygons(whole.difference(seals))]
    parts = np.array(pieces, dtype=object)
    is_wide = ~shapely.is_empty(shapely.buffer(parts, -MIN_WIDE_FEET / 2))
    narrow = shapely.union_all([seals, *shapely.buffer(parts[~is_wide], NEAR_FEET)])
    mouths = narrow.buffer(NEAR_FEET).intersection(shapely.union_all(parts[is_wide]))
    gaps = np.array(extract_polygons(narrow), dtype=object)
    gap, _ = STRtree(extract_polygons(mouths)).query(gaps, "dwithin", NEAR_FEET)
    passages = gaps[np.bincount(gap, minlength=len(gaps)) > 1]
    passage, line = STRtree(lines).query(passages, "intersects")
    order = np.lexsort((line, passage))
    own, first = np.unique(passage[order], return_index=True)
    return passages[own], lines[line[order][first]]


def find_narrows(walls: BaseGeometry, floor: MultiPolygon) -> Shapes:
    """Return lines from corners across floor that is too narrow, the shortest first.

    The circle around each touches walls at its ends only, so nothing is narrower there.
    """
    xy, wall = shapely.get_coordinates(shapely.get_parts(walls), return_index=True)
    sides = shapely.linestrings(np.stack((xy[:-1], xy[1:]), axis=1)[wall[1:] == wall[:-1]])
    tree, corners = STRtree(sides), np.asarray(shapely.points(np.unique(xy, axis=0)))
    shapely.prepare(floor)
    found, pairs = [np.empty(0, dtype=object)], 0
    for start in range(0, len(corners), CHUNK_CORNERS):
        own = corners[start : start + CHUNK_CORNERS]
        corner, side = tree.query(own, "dwithin", MIN_GAP_FEET - ROUNDING_FEET)
        lines = shapely.shortest_line(own[corner], sides[side])
        lines = lines[shapely.length(lines) > 2 * HAIRLINE_FEET]
        middles, half_feet = shapely.centroid(lines), shapely.length(lines) / 2
        _, clear_feet = tree.query_nearest(middles, return_distance=True, all_matches=False)
        is_inside = shapely.dwithin(floor, middles, half_feet - HAIRLINE_FEET / 2)
        found.append(lines[(clear_feet > 0.9998 * half_feet) & is_inside])
        pairs += len(corner)
        if pairs > MAX_PAIRS:
            break
    lines = np.concatenate(found)
    return lines[np.argsort(shapely.length(lines), kind="stable")]
