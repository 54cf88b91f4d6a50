"""Pauses in long work, so that no request holds the event loop for long."""

import asyncio
from collections.abc import Callable, Sequence
from itertools import chain
from time import perf_counter
from typing import TypeVar

T = TypeVar("T")
V = TypeVar("V")

OBJECTS_IN_PART = 500
"""Objects that are handled before a look at the clock."""
MAX_SLICE_SECONDS = 0.005
"""The longest that one request may hold the event loop before others get a turn."""


class _LastPause:
    """The time when others had a turn, whichever request it was that let them."""

    ended = 0.0
    objects_since = 0
    """Objects in lists of less than a part, since the last look at the clock."""


async def pause_if_due() -> None:
    """Let other requests run, if none has let others run for long enough."""
    if perf_counter() - _LastPause.ended > MAX_SLICE_SECONDS:
        await asyncio.sleep(0)
        _LastPause.ended = perf_counter()


async def build_in_parts(
    build: Callable[[Sequence[V]], Sequence[T]],
    values: Sequence[V],
    part_size: int = OBJECTS_IN_PART,
) -> list[T]:
    """Return what `build` makes of the values, and let other requests run in between."""
    if len(values) <= part_size:
        built = [*build(values)]
        _LastPause.objects_since += len(built)
        if _LastPause.objects_since >= OBJECTS_IN_PART:
            _LastPause.objects_since = 0
            await pause_if_due()
        return built
    parts = []
    for start in range(0, len(values), part_size):
        parts.append(build(values[start : start + part_size]))
        await pause_if_due()
    return [*chain.from_iterable(parts)]
