"""Parse the drawing of an imported map, and find the units and Levels that it shows.

Runs in a process of its own, which imports this module: it must import little.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import count, islice
from typing import Any

from parsing.svg.floor_plan import read_level
from parsing.svg.outcome import ParseWarning
from parsing.svg.unit_map import parse_unit_map
from storage.bundles.drawings import ShownLevel, ShownParts

MAX_WARNINGS = 10
"""Causes of warnings that an import notes for a drawing."""
MAX_LEVELS = 1_000
"""Levels of a drawing that are compared with floors."""
MAX_LEVEL_CHARACTERS = 256
"""Characters of the name of such a Level, more than the id of a floor may have."""


def parse_with_units(svg: bytes, force: bool = False) -> tuple[bytes, ShownParts, list[str]]:
    """Return the JSON of a drawing, the units and Levels in it, and the warnings.

    Raises ParsingError, also for a drawing that is mostly an image, unless it is forced.
    """
    parsed = parse_unit_map(svg, force=force)
    return parsed.json, find_shown_parts(parsed.to_dict()), [*_summarize(parsed.warnings)]


def _summarize(warnings: Iterable[ParseWarning]) -> Iterator[str]:
    """Yield a sentence for each cause, with the first place and how many more there are."""
    mistakes = [warning for warning in warnings if not warning.is_note]
    yield from map(str, mistakes[:MAX_WARNINGS])
    if len(mistakes) > MAX_WARNINGS:
        yield f"{len(mistakes) - MAX_WARNINGS} more kinds of warnings; see floorgate parse --check"


def find_shown_parts(parsed_map: dict[str, Any]) -> ShownParts:
    """Return the units of a parsed map, those drawn and the targets of hit areas, and its Levels.

    Levels are those that processing would see.
    """
    unit_levels: dict[str, set[str | None]] = defaultdict(set)
    levels: dict[str, ShownLevel] = {}
    level_numbers = count(1)
    pending: list[tuple[dict[str, Any], str | None]] = [(parsed_map, None)]
    while pending:
        current, level_id = pending.pop()
        if current["type"] == "Unit":
            unit_levels[current["id"]].add(level_id)
        elif current["type"] == "HitArea" and current["target"]["type"] == "Unit":
            unit_levels[current["target"]["id"]].add(level_id)
        elif current["type"] == "Level":
            tags = current.get("tags")
            level = read_level(current.get("id", ""), tags, next(level_numbers))
            name, level_id = level.name[:MAX_LEVEL_CHARACTERS], level.id
            levels.setdefault(level.id, ShownLevel(name, level.floor_id, level.is_numbered))
        pending += [(each, level_id) for each in reversed(current.get("elements", ()))]
    kept = {level_id: index for index, level_id in enumerate(islice(levels, MAX_LEVELS))}
    unit_ids = sorted(unit_levels)
    indexes = [_find_index(unit_levels[unit_id], kept) for unit_id in unit_ids]
    return ShownParts(unit_ids, [*levels.values()][:MAX_LEVELS], indexes)


def _find_index(level_ids: Collection[str | None], kept: Mapping[str, int]) -> int | None:
    """Return the index of the Level of a unit, None if there are several or it is not kept."""
    (level_id, *others) = level_ids
    return None if others or level_id is None else kept.get(level_id)
