"""Parse the `level` tag of Simple Indoor Tagging: `0`, `-1;0`, `0-3`, `-2--1`, `0.5`."""

import math
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple

MAX_STOREYS: Final = 250
LEVEL_NUMBER: Final = r"[+-]?[0-9]{1,4}(?:\.[0-9]{1,3})?"
LEVEL_SPAN: Final = re.compile(rf"\s*({LEVEL_NUMBER})(?:\s*-\s*({LEVEL_NUMBER}))?\s*")


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
