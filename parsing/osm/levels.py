"""Parse the `level` tag of Simple Indoor Tagging: `0`, `-1;0`, `0-3`, `-2--1`, `0.5`.

Other ways to write it are normalized first: `0,5`, `0,1,2`, `from 0 to 3`, `0~3`, `EG`, `B1`.
"""

import math
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple

LEVEL_KEYS: Final = ("level", "level_name", "floor", "levels", "level_id")
"""The tag `level`, and those that may have the level of a feature without it."""
MAX_STOREYS: Final = 250
LEVEL_NUMBER: Final = r"[+-]?[0-9]{1,4}(?:\.[0-9]{1,3})?"
LEVEL_SPAN: Final = re.compile(rf"\s*({LEVEL_NUMBER})(?:\s*-\s*({LEVEL_NUMBER}))?\s*")
WORDY_SPAN: Final = re.compile(
    rf"(?:from\s+)?({LEVEL_NUMBER})\s*(?:to|~|\.\.)\s*({LEVEL_NUMBER})", re.IGNORECASE
)
DECIMAL_COMMA: Final = re.compile(r"([+-]?[0-9]{1,3}),(25|5|50|75)")
# A level in the name of a file, folder or floor: E_-1, floor_2, level-3, 1F, L2, B2, 3, ground.
NAMED_LEVEL: Final = re.compile(
    r"(?:.*[ _.])?(-?[0-9]{1,2})|.*(?:ebene|etage|floor|geschoss|level|niveau|stock|story|storey)"
    r"[ _-]?([0-9]{1,2})|(?:.*[ _-])?(?:f|l|og)?([0-9]{1,2})(?:f|st|nd|rd|th)?"
    r"(?:[ _-]?(?:floor|level))?|(?:.*[ _-])?(?:b|ug)([0-9]{1,2})f?"
    r"|(?:.*[ _-])?(?:gf|ground|eg|erdgeschoss|rdc)",
    re.IGNORECASE,
)

# A level in a tag, in the words of the names of files: EG, G, 2F, L3, B1, 2. OG, UG.
LEVEL_WORD: Final = re.compile(
    r"(?P<ground>e\.?g\.?|g\.?f\.?|g|ground(?:[ _-]?floor)?|erdgeschoss|parterre|rdc)"
    r"|(?P<below>u\.?g|basement|(?:b|ug) ?(?:[0-9]{1,2})|[0-9]{1,2}\.? ?ug)"
    r"|(?P<above>o\.?g|(?:l|og|floor|level)[ _-]?[0-9]{1,2}|[0-9]{1,2}(?:f|\.? ?og|\. ?stock))",
    re.IGNORECASE,
)


class LevelSpan(NamedTuple):
    """A range of levels, both ends included; a single level has equal ends."""

    lowest: float
    highest: float

    def iter_levels(self, known: Collection[float]) -> Iterator[float]:
        """Iterate upwards over both ends, and the whole numbers and `known` levels between them."""
        whole = map(float, range(math.ceil(self.lowest), math.floor(self.highest) + 1))
        between = (level for level in known if self.lowest < level < self.highest)
        yield from sorted({self.lowest, *whole, *between, self.highest})


class UnreadableLevelError(ValueError):
    """A level tag that cannot be parsed; the message shows valid ones."""


def normalize_levels(text: str, known: Collection[str] = ()) -> str:
    """Return a level tag with semicolons, points, hyphens and numbers for other signs and words.

    One comma is a decimal one if a half or a quarter follows, unless that is one of the `known`
    levels; other commas separate levels.

    >>> normalize_levels("0,5"), normalize_levels("0,5", {"5"}), normalize_levels("UG;EG")
    ('0.5', '0;5', '-1;0')
    """
    parts = (part.strip() for part in text.split(";"))
    return ";".join(_normalize_part(part, known) for part in parts if part)


def _normalize_part(part: str, known: Collection[str]) -> str:
    if span := WORDY_SPAN.fullmatch(part):
        return span[1] if span[1] == span[2] else f"{span[1]}-{span[2]}"
    if word := LEVEL_WORD.fullmatch(part):
        number = re.search("[0-9]+", part)
        storey = 0 if word["ground"] else int(number[0]) if number else 1
        return f"{-storey if word['below'] else storey}"
    decimal = DECIMAL_COMMA.fullmatch(part)
    if decimal and decimal[2] not in known:
        return f"{decimal[1]}.{decimal[2]}"
    if "," in part:
        levels = (level.strip() for level in part.split(","))
        return ";".join(_normalize_part(level, known) for level in levels if level)
    return part


def find_level_in_name(path: str) -> str:
    """Return the level that the name of a file or of its innermost folder ends with, or "".

    >>> [find_level_in_name(name) for name in ("E_-1.geojson", "B2/rooms.json", "plan.json")]
    ['-1', '-2', '']
    """
    *folders, name = path.split("/")
    for part in (name.partition(".geo")[0].partition(".json")[0], *reversed(folders)):
        if match := NAMED_LEVEL.fullmatch(part):
            basement, storey = match[4], match[1] or match[2] or match[3]
            return f"-{int(basement)}" if basement else f"{int(storey or 0)}"
    return ""


def parse_levels(text: str) -> tuple[LevelSpan, ...]:
    """Parse a level tag into spans. Raises `UnreadableLevelError`.

    >>> expand_spans(parse_levels("-1;1-3"))
    (-1.0, 1.0, 2.0, 3.0)
    """
    matches = [LEVEL_SPAN.fullmatch(part) for part in text.split(";")]
    spans = [LevelSpan(float(match[1]), float(match[2] or match[1])) for match in matches if match]
    if len(spans) < len(matches):
        raise UnreadableLevelError(f"level={text}; expected numbers such as 0, -1;0 or 0-3")
    ordered = tuple(LevelSpan(min(span), max(span)) for span in spans)
    if sum(high - low + 1 for low, high in ordered) > MAX_STOREYS:
        raise UnreadableLevelError(f"level={text} spans more than {MAX_STOREYS} storeys")
    return ordered


def expand_spans(
    spans: Iterable[LevelSpan], known: Collection[float] = (), absent: Collection[float] = ()
) -> tuple[float, ...]:
    """Return the levels of spans from the lowest.

    Ranges include the `known` levels between their ends and leave out the `absent` ones; a level
    named by itself always counts.
    """
    levels = {
        level
        for span in spans
        for level in span.iter_levels(known)
        if span.lowest == span.highest or level not in absent
    }
    return tuple(sorted(levels))


def format_level(level: float) -> str:
    """Format a level as in a tag: 0, -1, 0.5."""
    return f"{level + 0:g}"
