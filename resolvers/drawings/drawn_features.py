"""Draw the levels, units and hit areas of a parsed map as GeoJSON geometries.

Runs in a process of its own, which imports this module.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import orjson
import shapely

from parsing.drawing import Coordinates
from parsing.errors import DocumentRejectedError, InvalidMarkupError
from parsing.svg.floor_plan import CURVE_TOLERANCE_FEET
from parsing.svg.names import SHAPE_KINDS
from parsing.svg.outlines import trace_shape
from parsing.svg.transforms import parse_transform
from resolvers.drawings.areas import MAX_UNITED, Area, AreaBuilder
from resolvers.drawings.drawing_levels import (
    HIT_AREA,
    LEVEL,
    UNIT,
    Element,
    ShownFloor,
    find_floors,
    iter_level_elements,
)
from resolvers.drawings.georeferencing import DECIMALS, Placement, place_drawing
from storage.catalog import Georeference

MAX_POSITIONS: Final = 1_000_000
"""Of the shapes of a drawing that are traced; those of curves count too."""
MAX_CHORDS_OF_CURVE: Final = 200

_KINDS: Final = {"Unit": UNIT, "HitArea": HIT_AREA}


class DrawnFeature(NamedTuple):
    """A part of a drawing with its GeoJSON geometry; `level` is the index of its Level."""

    feature_type: str
    uid: str
    level: int | None
    target_id: str | None
    target_type: str | None
    geometry: str


class DrawnFeatures(NamedTuple):
    """The Levels of a drawing, and features on some or all of them."""

    placement: Placement
    levels: list[ShownFloor]
    features: list[DrawnFeature]

    @property
    def size_bytes(self) -> int:
        """About how much memory they take."""
        return sum(300 + len(feature.geometry) for feature in self.features)


class _DrawnShape(NamedTuple):
    """A shape; that of the background of a level has no target."""

    level: int | None
    element: Element
    attributes: Element


def draw_features(
    content: bytes,
    georeference: Georeference,
    feet_per_unit: float | None,
    floor_ids: Collection[str],
    level: str | None,
) -> DrawnFeatures:
    """Return the features of a parsed map, or of the levels that are called `level`.

    Raises DocumentRejectedError if they have too many positions.
    """
    document: Element = orjson.loads(content)
    placement = place_drawing(georeference, feet_per_unit, document["width"], document["height"])
    elements = [*iter_level_elements(document["elements"])]
    levels = find_floors(elements, floor_ids)
    numbers = {
        element["uid"]: number
        for number, (element, shown) in enumerate(zip(elements, levels, strict=True))
        if level is None or shown.is_called(level)
    }
    shapes = [
        shape
        for shape in _iter_shapes(document["elements"], None, numbers)
        if level is None or shape.level is not None
    ]
    features = [*_FeatureBuilder(placement).build(levels, shapes)]
    return DrawnFeatures(placement, levels, features)


def _iter_shapes(
    elements: Sequence[Element], level: int | None, numbers: dict[str, int]
) -> Iterator[_DrawnShape]:
    for element in elements:
        kind = element["type"]
        if kind == "Level":
            if element["uid"] in numbers:
                yield from _iter_shapes(element["elements"], numbers[element["uid"]], numbers)
        elif kind in _KINDS:
            yield _DrawnShape(level, element, element["shape"])
        elif kind in SHAPE_KINDS:
            yield _DrawnShape(level, element, element)
        else:
            yield from _iter_shapes(element.get("elements", ()), level, numbers)


class _FeatureBuilder:
    def __init__(self, placement: Placement) -> None:
        self._placement = placement
        self._areas = AreaBuilder()
        self._positions = 0

    def build(
        self, levels: Sequence[ShownFloor], shapes: Sequence[_DrawnShape]
    ) -> Iterator[DrawnFeature]:
        """Yield the levels, then units and hit areas in the order of the drawing."""
        targets = [shape for shape in shapes if shape.element["type"] in _KINDS]
        areas = self._areas.build([*map(self._trace, targets)])
        outlines = self._unite_levels(shapes, targets, areas)
        drawn = [
            (DrawnFeature(LEVEL, levels[number].uid, number, None, None, ""), outline)
            for number, outline in sorted(outlines.items())
        ]
        drawn += [
            (_describe(shape), area)
            for shape, area in zip(targets, areas, strict=True)
            if area is not None
        ]
        geometries = self._to_geojson([area for _, area in drawn])
        for (feature, _), geometry in zip(drawn, geometries, strict=True):
            if geometry is not None:
                yield feature._replace(geometry=geometry)

    def _unite_levels(
        self,
        shapes: Sequence[_DrawnShape],
        targets: Sequence[_DrawnShape],
        areas: Sequence[Area | None],
    ) -> dict[int, Area]:
        """Return the outlines of levels: of all that is filled on them, of their units."""
        parts: dict[int, list[Area]] = {}
        for shape, area in zip(targets, areas, strict=True):
            if shape.level is not None and area is not None:
                parts.setdefault(shape.level, []).append(area)
        painted: dict[int, list[_DrawnShape]] = {}
        for shape in shapes:
            if shape.level is not None and shape.attributes is shape.element and _is_filled(shape):
                of_level = painted.setdefault(shape.level, [])
                if len(of_level) < MAX_UNITED:
                    of_level.append(shape)
        for number, backgrounds in painted.items():
            for nonzero in (True, False):
                chosen = [each for each in backgrounds if _is_nonzero(each) is nonzero]
                built = self._areas.build([*map(self._trace, chosen)], nonzero=nonzero)
                parts.setdefault(number, []).extend(filter(None, built))
        united = ((number, self._areas.unite(each)) for number, each in parts.items())
        return {number: outline for number, outline in united if outline is not None}

    def _trace(self, shape: _DrawnShape) -> list[Coordinates]:
        """Return the rings of a shape; none if it cannot be traced, or is too far away."""
        attributes = shape.attributes
        try:
            matrix = parse_transform(str(attributes.get("transform", "")))
            scale = self._placement.feet_per_unit * matrix.max_scale
            tolerance = CURVE_TOLERANCE_FEET / scale if scale else 1.0
            lines = trace_shape(attributes["type"], attributes, tolerance, MAX_CHORDS_OF_CURVE)
        except (InvalidMarkupError, DocumentRejectedError):
            return []
        self._positions += sum(len(line.points) for line in lines)
        if self._positions > MAX_POSITIONS:
            raise DocumentRejectedError(
                f"the shapes have over {MAX_POSITIONS:,} positions; ask for one level"
            )
        rings = [tuple(map(matrix.apply, line.points)) for line in lines]
        placement, limit = self._placement, self._placement.max_units
        is_near = all(
            abs(x - placement.center_x) <= limit and abs(y - placement.center_y) <= limit
            for ring in rings
            for x, y in ring
        )
        return rings if is_near else []

    def _to_geojson(self, areas: Sequence[Area]) -> list[str | None]:
        """Return areas in degrees: valid, and the right-hand rule holds (RFC 7946, 3.1.6)."""
        if not areas:
            return []
        exact = shapely.transform(np.array(areas, dtype=object), self._placement.to_degrees)
        rounded = shapely.transform(exact, _round)
        broken = ~shapely.is_valid(rounded)
        # Slivers collapse when they are rounded; this leaves them out.
        snapped = shapely.set_precision(exact[broken], 10.0**-DECIMALS)
        rounded[broken] = shapely.transform(snapped, _round)
        texts = shapely.to_geojson(shapely.orient_polygons(rounded))
        is_kept = ~shapely.is_empty(rounded) & shapely.is_valid(rounded)
        return [
            text if kept else None
            for text, kept in zip(texts.tolist(), is_kept.tolist(), strict=True)
        ]


def _round(positions: Any) -> Any:
    return np.round(positions, DECIMALS)


def _describe(shape: _DrawnShape) -> DrawnFeature:
    element = shape.element
    target = element.get("target", {"id": element["id"], "type": "Unit"})
    return DrawnFeature(
        _KINDS[element["type"]], element["uid"], shape.level, target["id"], target["type"], ""
    )


def _is_filled(shape: _DrawnShape) -> bool:
    return str(shape.attributes.get("fill", "black")).strip() not in ("none", "transparent")


def _is_nonzero(shape: _DrawnShape) -> bool:
    return shape.attributes.get("fill-rule") != "evenodd"
