"""What is asked for: one row per shape, the same requests for every peer."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from bench.directory import Directory

SEED = 7
SINGLE_UNITS = 500
"""Units asked for one by one, in turn."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One sort of request; `paths` are asked for in turn."""

    name: str
    title: str
    paths: Callable[[Directory], list[str]]


def _one_by_one(directory: Directory) -> list[str]:
    count = min(SINGLE_UNITS, len(directory.unit_ids))
    return [f"/v1/units/{id}" for id in random.Random(SEED).sample(directory.unit_ids, count)]


SHAPES = (
    Shape("units-1000", "1,000 units", lambda _: ["/v1/units?per-page=1000"]),
    Shape("unit", "one unit", _one_by_one),
)
