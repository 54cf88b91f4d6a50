"""Find the boxes of shapes, which transforms and gradients may refer to."""

from collections.abc import Mapping

from parsing.errors import InvalidMarkupError
from parsing.svg.geometry.clipping import MAX_CHORDS, MAX_TRACED
from parsing.svg.geometry.outlines import trace_shape
from parsing.svg.names import GEOMETRY_ATTRIBUTES
from parsing.svg.style.origins import ReferenceBox


class ShapeBoxes:
    """The boxes of the shapes of one document, each found once; when they get too many, no more."""

    def __init__(self) -> None:
        self._boxes: dict[tuple[object, ...], ReferenceBox | None] = {}
        self._traced = 0

    def find(
        self, kind: str, attributes: Mapping[str, str], tolerance: float
    ) -> ReferenceBox | None:
        """Return the box of a shape without its transform, or None if it is not known."""
        geometry = {name: attributes[name] for name in GEOMETRY_ATTRIBUTES & attributes.keys()}
        key = (kind, tolerance, *geometry.items())
        if key not in self._boxes:
            self._traced += 20 + sum(map(len, geometry.values()))
            if self._traced > MAX_TRACED:
                return None
            self._boxes[key] = self._trace(kind, geometry, tolerance)
        return self._boxes[key]

    def _trace(
        self, kind: str, geometry: Mapping[str, str], tolerance: float
    ) -> ReferenceBox | None:
        try:
            lines = trace_shape(kind, geometry, tolerance, MAX_CHORDS)
        except InvalidMarkupError:
            return None
        points = [point for line in lines for point in line.points]
        self._traced += len(points)
        if not points:
            return None
        xs, ys = zip(*points, strict=True)
        return ReferenceBox(min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys))
