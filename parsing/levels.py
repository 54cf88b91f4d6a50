"""The `level` tag of Simple Indoor Tagging: `0`, `-1;0`, `0-3`, `-2--1`, `0.5`."""

import math
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple

MOST_STOREYS: Final = 250
NUMBER: Final = r"[+-]?[0-9]{1,4}(?:\.[0-9]{1,3})?"
SPAN: Final = re.compile(rf"\s*({NUMBER})(?:\s*-\s*({NUMBER}))?\s*")


class Span(NamedTuple):
    """A level, or all from one to another."""

    lowest: float
    highest: float

    def members(self, known: Collection[float]) -> Iterator[float]:
        """Both ends, the whole numbers between them, and the known levels between them."""
        whole = map(float, range(math.ceil(self.lowest), math.floor(self.highest) + 1))
        between = (level for level in known if self.lowest < level < self.highest)
        yield from sorted({self.lowest, *whole, *between, self.highest})


class UnreadableLevel(ValueError):
    """A level tag that names no levels; the message says how one does."""


def parse_levels(text: str) -> tuple[Span, ...]:
    """The spans of a level tag. Raises `UnreadableLevel`."""
    matches = [SPAN.fullmatch(part) for part in text.split(";")]
    spans = [Span(float(match[1]), float(match[2] or match[1])) for match in matches if match]
    if len(spans) < len(matches):
        raise UnreadableLevel(f"level={text}; expected numbers such as 0, -1;0 or 0-3")
    ordered = tuple(Span(min(span), max(span)) for span in spans)
    if sum(high - low + 1 for low, high in ordered) > MOST_STOREYS:
        raise UnreadableLevel(f"level={text} spans more than {MOST_STOREYS} storeys")
    return ordered


def expand(
    spans: Iterable[Span], known: Collection[float] = (), absent: Collection[float] = ()
) -> tuple[float, ...]:
    """The levels that spans name, from the lowest; a range leaves out those that are `absent`."""
    levels = {
        level
        for span in spans
        for level in span.members(known)
        if span.lowest == span.highest or level not in absent
    }
    return tuple(sorted(levels))


def key_of(level: float) -> str:
    """A level as a tag writes it: 0, -1, 0.5."""
    return f"{level + 0:g}"
