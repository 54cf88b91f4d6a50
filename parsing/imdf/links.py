"""IMDF relationships: which units are one lift, one flight of stairs, one escalator."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from parsing.drawing import NoteCollector
from parsing.errors import InvalidPlanError
from parsing.imdf.records import ImdfRecord

CONNECTOR_CATEGORIES: Final = frozenset({"elevator", "escalator", "ramp", "stairs", "steps"})
"""Categories of units that can lead from level to level."""
CONNECTOR_RELATIONSHIPS: Final = CONNECTOR_CATEGORIES | {"movingwalkway"}
TRAVERSAL_RELATIONSHIPS: Final = frozenset({"traversal", "traversal.path"})


def derive_connector_tags(
    records: Mapping[str, Mapping[str, ImdfRecord]],
    ordinals: Mapping[str, float],
    notebook: NoteCollector,
) -> dict[str, dict[str, str]]:
    """Tags for the units that relationships join, by unit id: a common `ref`, and for a directed
    one the way it moves between levels of these ordinals.

    Raises `InvalidPlan` for a reference to nothing.
    """
    units = records["unit"]
    leaders: dict[str, str] = {}
    moves: dict[str, str] = {}
    for relationship in records["relationship"].values():
        category = relationship.get_text("category")
        ends = list(_iter_units(relationship, units))
        joined = [unit for unit in ends if unit.get_text("category") in CONNECTOR_CATEGORIES]
        if category not in CONNECTOR_RELATIONSHIPS:
            _note_traversal(relationship, notebook)
        elif len(joined) < 2:
            notebook.add(f"{category} that joins no two units", relationship.id)
        else:
            _union([unit.id for unit in joined], leaders)
            if relationship.get_text("direction") == "directed":
                incline = _incline(joined[0], joined[-1], ordinals)
                moves |= {unit.id: incline for unit in joined}
    tags: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for unit_id in leaders:
        tags[unit_id]["ref"] = _find_root(unit_id, leaders)
    for unit_id, incline in moves.items():
        tags[unit_id] |= {"incline": incline}
        if units[unit_id].get_text("category") == "escalator":
            tags[unit_id]["conveying"] = "forward"
    return dict(tags)


def _iter_units(relationship: ImdfRecord, units: Mapping[str, ImdfRecord]) -> Iterator[ImdfRecord]:
    """From the origin by way of the intermediaries to the destination, as far as units."""
    properties = relationship.properties
    between = properties.get("intermediary")
    for reference in (
        properties.get("origin"),
        *(between if isinstance(between, list) else [between]),
        properties.get("destination"),
    ):
        if isinstance(reference, dict) and reference.get("feature_type") == "unit":
            yield _get_unit(reference.get("id"), relationship, units)


def _get_unit(
    unit_id: Any, relationship: ImdfRecord, units: Mapping[str, ImdfRecord]
) -> ImdfRecord:
    unit = units.get(unit_id) if isinstance(unit_id, str) else None
    if unit is None:
        raise InvalidPlanError(
            f"{relationship.name}: refers to unit {unit_id!r}, which unit.geojson does not have"
        )
    return unit


def _note_traversal(relationship: ImdfRecord, notebook: NoteCollector) -> None:
    category = relationship.get_text("category")
    if category not in TRAVERSAL_RELATIONSHIPS:
        notebook.add(f"relationship {category or 'without category'}", relationship.id)
    elif relationship.get_text("direction") == "directed":
        notebook.add("one-way traversal, read as one in both ways", relationship.id)
    elif not relationship.properties.get("intermediary"):
        notebook.add("traversal without an opening", relationship.id)


def _incline(origin: ImdfRecord, destination: ImdfRecord, ordinals: Mapping[str, float]) -> str:
    start, end = (ordinals.get(unit.get_text("level_id"), 0) for unit in (origin, destination))
    return "up" if start < end else "down"


def _union(unit_ids: list[str], leaders: dict[str, str]) -> None:
    """Union by least id, so that the result does not depend on the order."""
    found = [_find_root(unit_id, leaders) for unit_id in unit_ids]
    for unit_id in (*unit_ids, *found):
        leaders[unit_id] = min(found)


def _find_root(unit_id: str, leaders: Mapping[str, str]) -> str:
    while leaders.get(unit_id, unit_id) != unit_id:
        unit_id = leaders[unit_id]
    return unit_id
