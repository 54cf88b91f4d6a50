"""Express `stroke-dashoffset` by the lengths of the dashes themselves (SVG 2, section 13.5.6)."""

import math
import re
from collections.abc import Sequence
from typing import Final

from parsing.svg.geometry.lengths import format_number

SEPARATOR: Final = re.compile(r"[\s,]+")
MAX_DASHES: Final = 1_000


def split_dashes(text: str) -> list[str]:
    """Return the lengths of a `stroke-dasharray`, none for `none`."""
    parts = [part for part in SEPARATOR.split(text.strip()) if part]
    return [] if parts == ["none"] or len(parts) > MAX_DASHES else parts


def dashed_share(dashes: Sequence[float], length: float) -> float:
    """Return the share of a line of this length that dashes and not the gaps between them cover.

    >>> dashed_share([2, 3], 4)
    0.5
    """
    lengths = list(dashes) * (1 + len(dashes) % 2)
    total = sum(lengths)
    if total <= 0 or min(lengths) < 0 or not 0 < length < math.inf:
        return 1.0
    left = length % total
    covered = (length - left) / total * sum(lengths[::2])
    for number, part in enumerate(lengths):
        covered += min(part, left) if number % 2 == 0 else 0.0
        left = max(left - part, 0.0)
    return covered / length


def shift_dashes(dashes: Sequence[float], offset: float) -> str:
    """Return the `stroke-dasharray` that begins `offset` into the pattern of these dashes.

    A dash or gap in which the pattern begins is split into its end and its beginning.

    >>> shift_dashes([10, 20], 4)
    '6 20 4 0'
    >>> shift_dashes([10, 20], 14)
    '0 16 10 4'
    """
    lengths = list(dashes) * (1 + len(dashes) % 2)
    total = sum(lengths)
    if total <= 0 or min(lengths) < 0:
        return "none"
    offset %= total
    first = 0
    while offset >= lengths[first]:
        offset -= lengths[first]
        first = (first + 1) % len(lengths)
    rotated = lengths[first:] + lengths[:first]
    is_gap = first % 2 == 1
    shifted = [rotated[0] - offset, *rotated[1:], offset]
    shifted = [0.0, *shifted] if is_gap else [*shifted, 0.0]
    return " ".join(map(format_number, shifted))
