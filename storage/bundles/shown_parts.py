"""What a drawing shows of the catalog: units, and Levels, each of which is a floor of the asset."""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from storage.bundles.reading.tables.floors import parse_floor

STOREY_WORDS: Final = "level|lvl|floor|storey|story"
AROUND_STOREY: Final = re.compile(
    rf"\A(?:{STOREY_WORDS})(?:[\s_]+|-)?|[\s_-]*(?:{STOREY_WORDS})\Z", re.IGNORECASE
)
"""What names of Levels and ids of floors have around the storey, as in `Level 2`."""


class ShownLevel(NamedTuple):
    """A Level; `floor_id` is the value of its tag `floor`, if it has one.

    The name of one that is numbered is its place in the drawing, which says nothing of its storey.
    """

    name: str
    floor_id: str | None = None
    is_numbered: bool = False


class ShownParts(NamedTuple):
    """The ids of the units in a drawing, and its Levels."""

    unit_ids: Sequence[str] = ()
    levels: Sequence[ShownLevel] = ()
    unit_levels: Sequence[int | None] = ()
    """For each unit the index of its Level, None if it has none, or several."""


class MisplacedUnit(NamedTuple):
    """A unit that a drawing shows on another floor than it is on."""

    unit_id: str
    drawn_on: str
    floor_id: str


def find_floor_id(
    level: ShownLevel, floor_ids: Collection[str], *, is_only_level: bool = False
) -> str | None:
    """Return which of the floors of an asset a Level shows, or None if it does not say so.

    Its name is the id of the floor, or that of the only one of the same storey.

    >>> find_floor_id(ShownLevel("Level 2"), {"1", "2"})
    '2'
    >>> find_floor_id(ShownLevel("2nd Floor"), {"elm-place-floor-1", "elm-place-floor-2"})
    'elm-place-floor-2'
    """
    if level.floor_id:
        return level.floor_id if level.floor_id in floor_ids else None
    if is_only_level and len(floor_ids) == 1:
        return next(iter(floor_ids))
    if level.is_numbered:
        return None
    if level.name in floor_ids:
        return level.name
    storey = _find_storey(level.name)
    storeys = {floor_id: _find_storey(floor_id) for floor_id in floor_ids} if storey else {}
    same = [floor_id for floor_id, other in storeys.items() if other == storey]
    # Ids that are derived from names begin with that of the asset.
    same = same or [floor_id for floor_id, other in storeys.items() if other.endswith(f"-{storey}")]
    return same[0] if len(same) == 1 else None


@lru_cache(maxsize=10_000)
def _find_storey(name: str) -> str:
    return parse_floor(AROUND_STOREY.sub("", name).strip()).slug or ""


def find_unmatched_levels(levels: Sequence[ShownLevel], floor_ids: Collection[str]) -> list[str]:
    """Return the names of the Levels that show none of the floors.

    Without floors these are none: a map that is only looked at needs no floors.
    """
    is_only = len(levels) == 1
    return [
        level.name
        for level in levels
        if floor_ids and find_floor_id(level, floor_ids, is_only_level=is_only) is None
    ]


def find_misplaced_units(
    shown: ShownParts, floors_by_unit: Mapping[str, str | None], floor_ids: Collection[str]
) -> list[MisplacedUnit]:
    """Return the units of which the Level shows another of the floors than they are on.

    >>> shown = ShownParts(["101"], [ShownLevel("Level 1")], [0])
    >>> find_misplaced_units(shown, {"101": "f3"}, ["level-1", "f3"])
    [MisplacedUnit(unit_id='101', drawn_on='level-1', floor_id='f3')]
    """
    is_only = len(shown.levels) == 1
    drawn = [find_floor_id(each, floor_ids, is_only_level=is_only) for each in shown.levels]
    misplaced = []
    for unit_id, level in zip(shown.unit_ids, shown.unit_levels, strict=False):
        drawn_on = drawn[level] if level is not None else None
        floor_id = floors_by_unit.get(unit_id)
        if drawn_on and floor_id and drawn_on != floor_id in floor_ids:
            misplaced.append(MisplacedUnit(unit_id, drawn_on, floor_id))
    return misplaced
