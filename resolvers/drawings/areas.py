"""Make valid areas of drawn rings, in bounded work."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely import MultiPolygon, Polygon
from shapely.geometry.base import BaseGeometry

from parsing.drawing import AreaGeometry, Coordinates
from parsing.svg.outlines import signed_area
from resolvers.plans.shapes import TooManyRingsError, to_shape

MAX_MEETING_EDGES: Final = 100_000
"""Pairs of edges with boxes that meet in the shapes that are repaired; the others get their hulls.

Where they cross, a pair takes up to 100 microseconds.
"""
MAX_UNION_WORK: Final = 20_000_000
"""Pairs of corners of shapes that are united; one takes half a microsecond."""
EDGES_PER_QUERY: Final = 200
MAX_UNITED: Final = 2_000
"""Shapes that are united to the outline of a level; of more, it is their hull."""

Area = Polygon | MultiPolygon
Rings = Sequence[Coordinates]


class AreaBuilder:
    """Builds areas; what they cost is bounded for all together, by two budgets.

    >>> builder = AreaBuilder()
    >>> [area] = builder.build([[((0, 0), (2, 2), (2, 0), (0, 2))]])
    >>> area.is_valid, area.area
    (True, 2.0)
    """

    def __init__(
        self, max_meeting_edges: int = MAX_MEETING_EDGES, max_union_work: int = MAX_UNION_WORK
    ) -> None:
        self.remaining_edges = max_meeting_edges
        self.remaining_union_work = max_union_work

    def build(self, shapes: Sequence[Rings], *, nonzero: bool = True) -> list[Area | None]:
        """Return what the rings of each shape fill; None for what has no area."""
        areas: list[Area | None] = [None] * len(shapes)
        simple = [
            index for index, rings in enumerate(shapes) if len(rings) == 1 and len(rings[0]) > 2
        ]
        polygons = _build_polygons([shapes[index][0] for index in simple])
        for index, polygon, is_valid in zip(
            simple, polygons.tolist(), shapely.is_valid(polygons).tolist(), strict=True
        ):
            areas[index] = polygon if is_valid else self._repair(polygon)
        for index, rings in enumerate(shapes):
            if len(rings) > 1:
                areas[index] = self._fill([ring for ring in rings if len(ring) > 2], nonzero)
        return areas

    def unite(self, areas: Sequence[Area]) -> Area | None:
        """Return the union of areas, or their hull if it would take too much work."""
        if not areas:
            return None
        if len(areas) <= MAX_UNITED:
            counts = shapely.get_num_coordinates(areas)
            one, other = shapely.STRtree(areas).query(areas)
            work = int((counts[one] * counts[other])[one != other].sum())
            if work <= self.remaining_union_work:
                self.remaining_union_work -= work
                return _keep_areas(shapely.union_all(areas))
        hull: BaseGeometry = shapely.convex_hull(shapely.GeometryCollection([*areas]))
        return _keep_areas(hull)

    def _may_repair(self, rings: Rings) -> bool:
        """Return whether rings have few enough edges that may cross, and count these."""
        pairs = _count_meeting_edges(rings, self.remaining_edges)
        if pairs > self.remaining_edges:
            return False
        self.remaining_edges -= pairs
        return True

    def _repair(self, polygon: Polygon) -> Area | None:
        if not self._may_repair([tuple((x, y) for x, y in polygon.exterior.coords[:-1])]):
            return _keep_areas(shapely.convex_hull(polygon))
        # This method fills as `nonzero` does, the other one as `evenodd`.
        repaired: BaseGeometry = shapely.make_valid(
            polygon, method="structure", keep_collapsed=False
        )
        return _keep_areas(repaired)

    def _fill(self, rings: Rings, nonzero: bool) -> Area | None:
        if not rings:
            return None
        if polygon := _with_holes(rings, nonzero):
            return polygon
        if self._may_repair(rings):
            try:
                filled = to_shape(AreaGeometry(tuple(rings), nonzero), 1.0)
            except TooManyRingsError:
                pass
            else:
                return _keep_areas(filled if filled.is_valid else shapely.make_valid(filled))
        return _keep_areas(shapely.MultiPoint(np.concatenate(rings)).convex_hull)


def _build_polygons(rings: Rings) -> NDArray[np.object_]:
    if not rings:
        return np.empty(0, dtype=object)
    positions = np.concatenate([np.asarray(ring, dtype=np.float64) for ring in rings])
    indices = np.repeat(np.arange(len(rings)), [len(ring) for ring in rings])
    return np.asarray(shapely.polygons(shapely.linearrings(positions, indices=indices)))


def _count_meeting_edges(rings: Rings, limit: int) -> int:
    """Return how many pairs of edges that are no neighbours have boxes that meet.

    Counting ends soon after the limit.
    """
    corners = [np.asarray(ring, dtype=np.float64) for ring in rings]
    edges = np.concatenate([np.stack((ring, np.roll(ring, -1, axis=0)), 1) for ring in corners])
    lows, highs = edges.min(axis=1), edges.max(axis=1)
    boxes = shapely.box(lows[:, 0], lows[:, 1], highs[:, 0], highs[:, 1])
    tree = shapely.STRtree(boxes)
    # Each pair is found from both sides; each edge finds itself and its two neighbours.
    found = -3 * len(boxes)
    for start in range(0, len(boxes), EDGES_PER_QUERY):
        found += tree.query(boxes[start : start + EDGES_PER_QUERY]).shape[1]
        if found > 2 * limit:
            break
    return max(found, 0) // 2


def _with_holes(rings: Rings, nonzero: bool) -> Polygon | None:
    """Return the largest ring with the others as its holes, if that is what they are."""
    areas = [signed_area(ring) for ring in rings]
    largest = max(range(len(rings)), key=lambda index: abs(areas[index]))
    others = [index for index in range(len(rings)) if index != largest]
    if nonzero and any(areas[index] * areas[largest] >= 0 for index in others):
        return None
    polygon = Polygon(rings[largest], [rings[index] for index in others])
    return polygon if polygon.is_valid else None


def _keep_areas(shape: BaseGeometry) -> Area | None:
    """Return the polygons of a shape; None if it has none."""
    if isinstance(shape, Polygon | MultiPolygon):
        return None if shape.is_empty else shape
    parts = [part for part in shapely.get_parts(shape, return_index=False).tolist()]
    areas = [part for part in parts if isinstance(part, Polygon) and not part.is_empty]
    return shapely.union_all(areas) if areas else None  # type: ignore[return-value]
