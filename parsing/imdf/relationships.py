"""Tag features with what IMDF's relationships say: connectors, and doors in one direction."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from parsing.drawing import AreaGeometry, Coordinate, LinesGeometry, NoteCollector
from parsing.errors import FaultyElementError
from parsing.geo.projection import FEET_PER_DEGREE
from parsing.imdf.records import ImdfRecord

# Tag one-way doors: a directed traversal of IMDF leads from a unit through an opening.

TRAVERSAL_CATEGORIES: Final = frozenset({"traversal", "traversal.path"})
PROBE_FEET: Final = (0.5, 1.0, 2.0, 4.0)
"""Distances beside an opening where its origin is looked for: walls may part it from units."""


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


# Tag connectors: IMDF relationships say which units form one lift, stairs or escalator.

CONNECTOR_CATEGORIES: Final = frozenset({"elevator", "escalator", "ramp", "stairs", "steps"})
"""Categories of units that can connect levels."""
CONNECTOR_RELATIONSHIPS: Final = CONNECTOR_CATEGORIES | {"movingwalkway"}


def derive_connector_tags(
    records: Mapping[str, Mapping[str, ImdfRecord]],
    ordinals: Mapping[str, float],
    collector: NoteCollector,
) -> dict[str, dict[str, str]]:
    """Return tags by unit id for the units that relationships join.

    Joined units share a `ref`; those of a directed relationship get the `incline` in which they
    move between levels. `ordinals` are those of the levels by id. A relationship that refers to a
    unit that does not exist is a fault.
    """
    units = records["unit"]
    parents: dict[str, str] = {}
    inclines: dict[str, str] = {}
    for relationship in records["relationship"].values():
        category = relationship.get_text("category")
        ends: list[ImdfRecord] = []
        try:
            ends.extend(_iter_units(relationship, units))
        except FaultyElementError as error:
            collector.leave_out(
                error.reason,
                error.message,
                relationship.id,
                relationship.file,
                position=next((end.position for end in ends), None),
                levels=tuple(end.get_text("level_id") for end in ends[:1]),
            )
            continue
        joined = [unit for unit in ends if unit.get_text("category") in CONNECTOR_CATEGORIES]
        if category not in CONNECTOR_RELATIONSHIPS:
            if category not in TRAVERSAL_CATEGORIES:
                collector.add(f"relationship {category or 'without category'}", relationship.id)
        elif len(joined) < 2:
            collector.add(f"{category} that joins no two units", relationship.id)
        else:
            _union([unit.id for unit in joined], parents)
            if relationship.get_text("direction") == "directed":
                incline = _incline(joined[0], joined[-1], ordinals)
                inclines |= {unit.id: incline for unit in joined}
    tags: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for unit_id in parents:
        tags[unit_id]["ref"] = _find_root(unit_id, parents)
    for unit_id, incline in inclines.items():
        tags[unit_id] |= {"incline": incline}
        if units[unit_id].get_text("category") == "escalator":
            tags[unit_id]["conveying"] = "forward"
    return dict(tags)


def _iter_units(relationship: ImdfRecord, units: Mapping[str, ImdfRecord]) -> Iterator[ImdfRecord]:
    """Iterate over the units from origin through intermediaries to destination."""
    properties = relationship.properties
    intermediaries = properties.get("intermediary")
    for reference in (
        properties.get("origin"),
        *(intermediaries if isinstance(intermediaries, list) else [intermediaries]),
        properties.get("destination"),
    ):
        if isinstance(reference, dict) and reference.get("feature_type") == "unit":
            unit_id = reference.get("id")
            unit = units.get(unit_id) if isinstance(unit_id, str) else None
            if unit is None:
                message = f"{relationship.id} refers to unit {unit_id!r}, which is not there"
                raise FaultyElementError("reference to nothing", message)
            yield unit


def _incline(origin: ImdfRecord, destination: ImdfRecord, ordinals: Mapping[str, float]) -> str:
    start, end = (ordinals.get(unit.get_text("level_id"), 0) for unit in (origin, destination))
    return "up" if start < end else "down"


def _union(unit_ids: list[str], parents: dict[str, str]) -> None:
    """Join sets in a union-find forest by least id, so that the result does not depend on order."""
    roots = [_find_root(unit_id, parents) for unit_id in unit_ids]
    for unit_id in (*unit_ids, *roots):
        parents[unit_id] = min(roots)


def _find_root(unit_id: str, parents: Mapping[str, str]) -> str:
    while parents.get(unit_id, unit_id) != unit_id:
        unit_id = parents[unit_id]
    return unit_id
