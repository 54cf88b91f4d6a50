"""Parse the drawing of an imported map, and find the units that it shows.

Runs in a process of its own, which imports this module: it must import little.
"""

from typing import Any

from parsing.svg.unit_map import parse_unit_map


def parse_with_units(svg: bytes) -> tuple[bytes, list[str]]:
    """Return the JSON of a drawing and the ids of the units in it. Raises ParsingError."""
    parsed = parse_unit_map(svg)
    return parsed.json, sorted(_find_unit_ids(parsed.to_dict()))


def _find_unit_ids(element: dict[str, Any]) -> set[str]:
    """Return the units of a parsed map: those drawn, and the targets of hit areas."""
    unit_ids = set()
    pending = [element]
    while pending:
        current = pending.pop()
        pending += current.get("elements", ())
        if current["type"] == "Unit":
            unit_ids.add(current["id"])
        elif current["type"] == "HitArea" and current["target"]["type"] == "Unit":
            unit_ids.add(current["target"]["id"])
    return unit_ids
