"""The direction in which a one-way door is passed, from its tags."""

import math
from typing import Final

from parsing.drawing import Tags

POINTS: Final = (
    "N", "NNE", "NE", "ENE", "E", "ESE", "SE", "SSE", "S", "SSW", "SW", "WSW", "W", "WNW", "NW",
    "NNW",
)  # fmt: skip
"""Of the compass, clockwise."""


def is_one_way(tags: Tags) -> bool:
    """Return whether a door is tagged as passable in one direction only."""
    return tags.get("oneway") in ("yes", "-1") or tags.get("oneway:foot") in ("yes", "-1")


def parse_direction(tags: Tags) -> tuple[float, float] | None:
    """Return the direction of a one-way door, a unit vector; None without a readable one.

    `direction` is in degrees clockwise from north, or a point of the compass; in a drawing, north
    is up. `oneway=-1` is against it. x is to the east, y to the south.

    >>> parse_direction({"oneway": "yes", "direction": "E"})
    (1.0, 0.0)
    """
    text = tags.get("direction", "").strip().upper()
    if text in POINTS:
        degrees = POINTS.index(text) * 360 / len(POINTS)
    else:
        try:
            degrees = float(text.removesuffix("°"))
        except ValueError:
            return None
    if not math.isfinite(degrees):
        return None
    sign = -1.0 if "-1" in (tags.get("oneway"), tags.get("oneway:foot")) else 1.0
    east, north = math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
    # Adding 0 turns -0.0 into 0.0.
    return round(sign * east, 9) + 0.0, round(-sign * north, 9) + 0.0
