"""The drawings of the maps in a bundle: where they are, and which units and floors they show."""

import base64
import binascii
import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from storage.bundles.names import parse_floor

DATA_URL_PREFIX = "data:image/svg+xml;base64,"
MAX_DRAWING_BYTES = 20 << 20


class SourceError(Exception):
    """The `source` of a map cannot be read or parsed."""


def read_source(source: str, directory: Path | None) -> bytes:
    """Return the content of a map's `source`. Raises SourceError."""
    if source.startswith("data:"):
        return _decode_data_url(source)
    if directory is None:
        raise SourceError("must be a data URL, because the bundle is not a file")
    try:
        path = (directory / source).resolve()
        if Path(source).is_absolute() or not path.is_relative_to(directory.resolve()):
            raise SourceError(f'"{source}" is outside the directory of the bundle')
        if path.exists() and not path.is_file():
            raise SourceError(f'"{source}" is not a file')
        if path.stat().st_size > MAX_DRAWING_BYTES:
            raise SourceError(f'"{source}" is larger than {MAX_DRAWING_BYTES:,} bytes')
        return path.read_bytes()
    except OSError as error:
        raise SourceError(f'"{source}" next to the bundle: {error.strerror}') from error


def to_data_url(content: bytes) -> str:
    """Return a drawing as a data URL.

    >>> to_data_url(b"<svg/>")
    'data:image/svg+xml;base64,PHN2Zy8+'
    """
    return DATA_URL_PREFIX + base64.b64encode(content).decode("ascii")


def _decode_data_url(source: str) -> bytes:
    if not source.startswith(DATA_URL_PREFIX):
        raise SourceError(f"a data URL of a drawing must begin with {DATA_URL_PREFIX}")
    try:
        content = base64.b64decode(source.removeprefix(DATA_URL_PREFIX), validate=True)
    except (binascii.Error, ValueError) as error:
        raise SourceError(f"the data URL is damaged: {error}") from error
    if len(content) > MAX_DRAWING_BYTES:
        raise SourceError(f"the drawing is larger than {MAX_DRAWING_BYTES:,} bytes")
    return content


STOREY_WORDS: Final = "level|lvl|floor|storey|story"
AROUND_STOREY: Final = re.compile(
    rf"\A(?:{STOREY_WORDS})(?:[\s_]+|-)?|[\s_-]*(?:{STOREY_WORDS})\Z", re.IGNORECASE
)
"""It matches what stands around the storey in names of Levels and ids of floors: `Level 2`."""


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
    """They are the index of the Level of each unit, None if it has none, or several."""


class ParsedSource(NamedTuple):
    """A parsed drawing: its JSON, the units and Levels in it, and warnings of the parse."""

    parsed: bytes
    shown: ShownParts = ShownParts()
    warnings: Sequence[str] = ()


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
