"""Lengths as OpenStreetMap writes them: `0.9`, `90 cm`, `3'`, `2'6"` (wiki, Key:width)."""

import re
from typing import Final

FEET_BY_UNIT: Final = {
    "": 1 / 0.3048,
    "m": 1 / 0.3048,
    "cm": 1 / 30.48,
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
    """A length in feet, None for what is none; a number without unit is in metres."""
    text = text.strip().lower()
    if both := FEET_AND_INCHES.fullmatch(text):
        return float(both[1]) + float(both[2]) / 12
    match = LENGTH_PATTERN.fullmatch(text)
    return float(match[1]) * FEET_BY_UNIT[match[2] or ""] if match else None
