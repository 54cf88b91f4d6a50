"""Draw the levels, units and hit areas of a parsed map as GeoJSON geometries.

The pool of processes for drawings runs this module, which a gateway does not import by itself.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

import numpy as np
import orjson
import shapely
from numpy.typing import NDArray
from shapely import MultiPolygon, Polygon
from shapely.geometry.base import BaseGeometry

from parsing.drawing import FEET_PER_METRE, AreaGeometry, Coordinate, Coordinates
from parsing.errors import DocumentRejectedError, InvalidMarkupError
from parsing.geo.projection import ECCENTRICITY_SQUARED, SEMI_MAJOR_METRES
from parsing.svg.floor_plan import CURVE_TOLERANCE_FEET
from parsing.svg.names import SHAPE_KINDS
from parsing.svg.outlines import signed_area, trace_shape
from parsing.svg.transforms import parse_transform
from resolvers.drawings import drawing_levels
from resolvers.plans.shapes import TooManyRingsError, to_shape
from storage.catalog import METRES_PER_PIXEL, Georeference

# Positions of a drawing in degrees of WGS 84.
#
# docs/decisions/parsing/markup.md says how large a drawing is, and which way it is turned.


DECIMALS: Final = 7
"""Degrees have so many, as RFC 7946 (section 11.2) advises: a centimetre."""
MAX_METRES: Final = 50_000.0
"""A drawing that reaches farther from its centre is no building, but has a wrong scale."""

Positions = NDArray[np.float64]
"""x and y, or longitude and latitude, in rows."""


class DrawingPlacement(NamedTuple):
    """The place of a drawing: the degrees of its centre, its scale, and its upward direction."""

    longitude: float
    latitude: float
    bearing: float
    feet_per_unit: float
    center_x: float
    center_y: float

    def has_near(self, positions: Iterable[Coordinate]) -> bool:
        """Return whether no position is too far from the centre of the drawing."""
        limit = MAX_METRES * FEET_PER_METRE / self.feet_per_unit
        return all(
            abs(x - self.center_x) <= limit and abs(y - self.center_y) <= limit
            for x, y in positions
        )

    def to_degrees(self, positions: Positions) -> Positions:
        """Return the longitudes and latitudes of positions of the drawing.

        The drawing lies on the plane that touches the ellipsoid at its centre, as in
        `parsing.geo.projection`. Longitudes go on beyond 180 degrees.
        """
        scale = self.feet_per_unit / FEET_PER_METRE
        right = (positions[:, 0] - self.center_x) * scale
        up = (self.center_y - positions[:, 1]) * scale
        sine, cosine = math.sin(math.radians(self.bearing)), math.cos(math.radians(self.bearing))
        east, north = right * cosine + up * sine, up * cosine - right * sine
        return _unproject(self.longitude, self.latitude, east, north)


def place_drawing(
    georeference: Georeference, feet_per_unit: float | None, width: float, height: float
) -> DrawingPlacement:
    """Return where a drawing with a canvas of this size is.

    Its scale is that of the map, or else that of the zoom.
    """
    if feet_per_unit is None:
        pixel = METRES_PER_PIXEL / 2**georeference.zoom
        feet_per_unit = pixel * math.cos(math.radians(georeference.latitude)) * FEET_PER_METRE
    return DrawingPlacement(
        georeference.longitude,
        georeference.latitude,
        georeference.bearing,
        feet_per_unit,
        width / 2,
        height / 2,
    )


def _unproject(
    longitude: float, latitude: float, east: NDArray[np.float64], north: NDArray[np.float64]
) -> Positions:
    """Return degrees of positions on the plane that touches the ellipsoid, in metres.

    A line at a right angle to the plane meets the ellipsoid `up` metres from it: the root of a
    quadratic equation.
    """
    sine, cosine = math.sin(math.radians(latitude)), math.cos(math.radians(latitude))
    flat = 1 - ECCENTRICITY_SQUARED
    normal = SEMI_MAJOR_METRES / math.sqrt(1 - ECCENTRICITY_SQUARED * sine * sine)
    # In a frame turned to the meridian of the centre: x through it at the equator, z to the north.
    x = normal * cosine - north * sine
    z = normal * flat * sine + north * cosine
    a = cosine**2 + sine**2 / flat
    b = x * cosine + z * sine / flat
    c = x**2 + east**2 + z**2 / flat - SEMI_MAJOR_METRES**2
    up = -c / (b + np.sqrt(np.maximum(b**2 - a * c, 0)))
    x, z = x + up * cosine, z + up * sine
    return np.column_stack(
        (
            longitude + np.degrees(np.arctan2(east, x)),
            np.degrees(np.arctan2(z, flat * np.hypot(x, east))),
        )
    )


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
        rings = [np.asarray(shapes[index][0], dtype=np.float64) for index in simple]
        owners = np.repeat(np.arange(len(rings)), [len(ring) for ring in rings])
        positions = np.concatenate([np.empty((0, 2)), *rings])
        polygons = np.asarray(shapely.polygons(shapely.linearrings(positions, indices=owners)))
        for index, polygon, is_valid in zip(
            simple, polygons.tolist(), shapely.is_valid(polygons).tolist(), strict=True
        ):
            areas[index] = polygon if is_valid else self._repair(polygon)
        for index, shape in enumerate(shapes):
            if len(shape) > 1:
                areas[index] = self._fill([ring for ring in shape if len(ring) > 2], nonzero)
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
    parts = shapely.get_parts(shape).tolist()
    areas = [part for part in parts if isinstance(part, Polygon) and not part.is_empty]
    return shapely.union_all(areas) if areas else None  # type: ignore[return-value]


MAX_POSITIONS: Final = 1_000_000
"""The shapes of a drawing that are traced have at most so many; those of curves count too."""
MAX_CHORDS_OF_CURVE: Final = 200

_KINDS: Final = {"Unit": drawing_levels.UNIT, "HitArea": drawing_levels.HIT_AREA}


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

    placement: DrawingPlacement
    levels: list[drawing_levels.ShownFloor]
    features: list[DrawnFeature]

    @property
    def size_bytes(self) -> int:
        """About how much memory they take."""
        return sum(300 + len(feature.geometry) for feature in self.features)


class _DrawnShape(NamedTuple):
    """A shape; that of the background of a level has no target."""

    level: int | None
    element: drawing_levels.Element
    attributes: drawing_levels.Element


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
    document: drawing_levels.Element = orjson.loads(content)
    placement = place_drawing(georeference, feet_per_unit, document["width"], document["height"])
    elements = [*drawing_levels.iter_level_elements(document["elements"])]
    levels = drawing_levels.find_floors(elements, floor_ids)
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
    elements: Sequence[drawing_levels.Element], level: int | None, numbers: dict[str, int]
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
    def __init__(self, placement: DrawingPlacement) -> None:
        self._placement = placement
        self._areas = AreaBuilder()
        self._positions = 0

    def build(
        self, levels: Sequence[drawing_levels.ShownFloor], shapes: Sequence[_DrawnShape]
    ) -> Iterator[DrawnFeature]:
        """Yield the levels, then units and hit areas in the order of the drawing."""
        targets = [shape for shape in shapes if shape.element["type"] in _KINDS]
        areas = self._areas.build([*map(self._trace, targets)])
        outlines = self._unite_levels(shapes, targets, areas)
        drawn = [
            (
                DrawnFeature(drawing_levels.LEVEL, levels[number].uid, number, None, None, ""),
                outline,
            )
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
        return rings if self._placement.has_near(chain(*rings)) else []

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
