"""Parse lengths as OpenStreetMap writes them: `0.9`, `90 cm`, `3'`, `2'6"` (wiki, Key:width)."""

import re
from typing import Final

from parsing.drawing import FEET_PER_METRE

FEET_BY_UNIT: Final = {
    "": FEET_PER_METRE,
    "m": FEET_PER_METRE,
    "cm": FEET_PER_METRE / 100,
    "mm": 1 / 304.8,
    "ft": 1.0,
    "'": 1.0,
    "in": 1 / 12,
    '"': 1 / 12,
}
NUMBER_PATTERN: Final = r"[0-9]{1,6}(?:\.[0-9]{1,6})?"
LENGTH_PATTERN: Final = re.compile(rf"({NUMBER_PATTERN})\s*(m|cm|mm|ft|in|'|\")?")
FEET_AND_INCHES: Final = re.compile(rf"([0-9]{{1,5}})\s*(?:'|ft)\s*({NUMBER_PATTERN})\s*(?:\"|in)")


def parse_feet(text: str) -> float | None:
    """Parse a length into feet, or return None; a number without unit is in metres.

    >>> parse_feet("3 ft"), parse_feet("wide")
    (3.0, None)
    """
    text = text.strip().lower()
    if both := FEET_AND_INCHES.fullmatch(text):
        return float(both[1]) + float(both[2]) / 12
    match = LENGTH_PATTERN.fullmatch(text)
    return float(match[1]) * FEET_BY_UNIT[match[2] or ""] if match else None
