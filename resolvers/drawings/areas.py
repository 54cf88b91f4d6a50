"""Make valid areas of drawn rings, in bounded work."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely import MultiPolygon, Polygon
from shapely.geometry.base import BaseGeometry

from parsing.drawing import AreaGeometry, Coordinates
from parsing.svg.geometry.areas import signed_area
from resolvers.plans.shapes import TooManyRingsError, to_shape

MAX_REPAIR_WORK: Final = 20_000_000
"""Pairs of edges that may cross in the shapes that are repaired; the others get their hulls."""
MAX_UNITED: Final = 2_000
"""Shapes that are united to the outline of a level; of more, it is their hull."""

Area = Polygon | MultiPolygon
Rings = Sequence[Coordinates]


class AreaBuilder:
    """Builds areas; what they cost is bounded for all together.

    >>> builder = AreaBuilder()
    >>> [area] = builder.build([[((0, 0), (2, 2), (2, 0), (0, 2))]])
    >>> area.is_valid, area.area
    (True, 2.0)
    """

    def __init__(self, max_work: int = MAX_REPAIR_WORK) -> None:
        self.remaining_work = max_work

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
            if self._take(int((counts[one] * counts[other]).sum())):
                return _keep_areas(shapely.union_all(areas))
        hull: BaseGeometry = shapely.convex_hull(shapely.GeometryCollection([*areas]))
        return _keep_areas(hull)

    def _take(self, work: int) -> bool:
        """Return whether so much work may be done, and count it."""
        if work > self.remaining_work:
            return False
        self.remaining_work -= work
        return True

    def _repair(self, polygon: Polygon) -> Area | None:
        if not self._take(int(shapely.get_num_coordinates(polygon)) ** 2):
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
        corners = sum(map(len, rings))
        if self._take(corners**2):
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
