"""Tag connectors: IMDF relationships say which units form one lift, stairs or escalator."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from parsing.drawing import NoteCollector, ReadingFault
from parsing.errors import FaultyElementError
from parsing.imdf.records import ImdfRecord
from parsing.imdf.traversals import TRAVERSAL_CATEGORIES

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
            collector.add_fault(
                ReadingFault(
                    f"left out, {error.reason}",
                    error.message,
                    relationship.id,
                    relationship.file,
                    position=next((end.position for end in ends), None),
                    levels=tuple(end.get_text("level_id") for end in ends[:1]),
                )
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
            yield _get_unit(reference.get("id"), relationship, units)


def _get_unit(
    unit_id: Any, relationship: ImdfRecord, units: Mapping[str, ImdfRecord]
) -> ImdfRecord:
    unit = units.get(unit_id) if isinstance(unit_id, str) else None
    if unit is None:
        message = f"{relationship.id} refers to unit {unit_id!r}, which is not there"
        raise FaultyElementError("reference to nothing", message)
    return unit


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
