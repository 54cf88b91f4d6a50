"""Tag one-way doors: a directed traversal of IMDF leads from a unit through an opening."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from parsing.drawing import AreaGeometry, Coordinate, LinesGeometry, NoteCollector
from parsing.geo.ground import FEET_PER_DEGREE
from parsing.imdf.records import ImdfRecord

TRAVERSAL_CATEGORIES: Final = frozenset({"traversal", "traversal.path"})
PROBE_FEET: Final = (0.5, 1.0, 2.0, 4.0)
"""How far beside an opening its origin is looked for: walls may be left out between units."""


def derive_door_tags(
    records: Mapping[str, Mapping[str, ImdfRecord]], collector: NoteCollector
) -> dict[str, dict[str, str]]:
    """Return the direction of one-way openings, by id, in degrees clockwise from north.

    An opening that is traversed both ways has none.
    """
    found: defaultdict[str, list[float | None]] = defaultdict(list)
    for traversal in records["relationship"].values():
        if traversal.get_text("category") not in TRAVERSAL_CATEGORIES:
            continue
        openings = [*_iter_openings(traversal, records["opening"])]
        if not openings:
            collector.add("traversal without an opening", traversal.id)
        origin = _find(traversal.properties.get("origin"), "unit", records["unit"])
        is_directed = traversal.get_text("direction") == "directed"
        for opening in openings:
            bearing = _find_bearing(opening, origin) if is_directed and origin else None
            if is_directed and bearing is None:
                collector.add("one-way traversal, read as one in both ways", traversal.id)
            found[opening.id].append(bearing)
    return {
        opening_id: {"oneway": "yes", "direction": f"{bearings[0]:.1f}"}
        for opening_id, bearings in found.items()
        if bearings[0] is not None and all(bearing == bearings[0] for bearing in bearings)
    }


def _iter_openings(
    traversal: ImdfRecord, openings: Mapping[str, ImdfRecord]
) -> Iterator[ImdfRecord]:
    references = traversal.properties.get("intermediary")
    for reference in references if isinstance(references, list) else [references]:
        opening = _find(reference, "opening", openings)
        if opening is not None:
            yield opening


def _find(reference: Any, kind: str, records: Mapping[str, ImdfRecord]) -> ImdfRecord | None:
    if not isinstance(reference, dict) or reference.get("feature_type") != kind:
        return None
    return records.get(str(reference.get("id")))


def _find_bearing(opening: ImdfRecord, origin: ImdfRecord) -> float | None:
    """Return the bearing of the walk from a unit through an opening on its edge."""
    if not isinstance(opening.geometry, LinesGeometry):
        return None
    if not isinstance(origin.geometry, AreaGeometry):
        return None
    [line, *_] = opening.geometry.lines
    (west, south), (east, north) = line[0], line[-1]
    middle = (west + east) / 2, (south + north) / 2
    degrees_per_foot = 1 / FEET_PER_DEGREE
    scale = math.cos(math.radians(middle[1])) or 1.0
    along = (east - west) * scale, north - south
    length = math.hypot(*along)
    if not length:
        return None
    across = -along[1] / length, along[0] / length  # to the east, to the north
    for feet in PROBE_FEET:
        step = feet * degrees_per_foot
        before, behind = (
            _contains(
                origin.geometry,
                (middle[0] + side * step * across[0] / scale, middle[1] + side * step * across[1]),
            )
            for side in (-1, 1)
        )
        if before != behind:
            side = 1 if before else -1
            return math.degrees(math.atan2(side * across[0], side * across[1])) % 360
    return None


def _contains(area: AreaGeometry, point: Coordinate) -> bool:
    """Return whether a point is inside the rings of an area, by the even-odd rule."""
    x, y = point
    is_inside = False
    for ring in area.rings:
        for (x1, y1), (x2, y2) in zip(ring, (*ring[1:], ring[0]), strict=True):
            if (y1 > y) != (y2 > y) and x < x1 + (y - y1) / (y2 - y1) * (x2 - x1):
                is_inside = not is_inside
    return is_inside
