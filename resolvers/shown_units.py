"""Parse the drawing of an imported map, and find the units that it shows.

Runs in a process of its own, which imports this module: it must import little.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from parsing.svg.report.warnings import ParseWarning
from parsing.svg.unit_map import parse_unit_map

MAX_WARNINGS = 10
"""Causes of warnings that an import notes for a drawing."""


def parse_with_units(svg: bytes, force: bool = False) -> tuple[bytes, list[str], list[str]]:
    """Return the JSON of a drawing, the ids of the units in it, and the warnings.

    Raises ParsingError, also for a drawing that is mostly an image, unless it is forced.
    """
    parsed = parse_unit_map(svg, force=force)
    unit_ids = sorted(find_unit_ids(parsed.to_dict()))
    return parsed.json, unit_ids, [*_summarize(parsed.warnings)]


def _summarize(warnings: Iterable[ParseWarning]) -> Iterator[str]:
    """Yield a sentence for each cause, with the first place and how many more there are."""
    mistakes = [warning for warning in warnings if not warning.is_note]
    yield from map(str, mistakes[:MAX_WARNINGS])
    if len(mistakes) > MAX_WARNINGS:
        yield f"{len(mistakes) - MAX_WARNINGS} more kinds of warnings; see floorgate parse --check"


def find_unit_ids(element: dict[str, Any]) -> set[str]:
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
