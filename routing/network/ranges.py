"""Ranges of indexes, such as the entries of some rows of a ragged array."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from routing.arrays import IntArray


def expand_ranges(begin: IntArray, end: IntArray) -> tuple[IntArray, IntArray]:
    """Return all members of the ranges from `begin` to before `end`, and which range each is of.

    >>> [part.tolist() for part in expand_ranges(np.array([4, 0, 7]), np.array([6, 0, 8]))]
    [[0, 0, 2], [4, 5, 7]]
    """
    counts = end - begin
    ranges = np.repeat(np.arange(len(counts)), counts)
    shifts = np.repeat(begin - (np.cumsum(counts) - counts), counts)
    return ranges, np.arange(len(ranges)) + shifts


def find_span(indexes: IntArray) -> slice:
    """Return the slice from the least index to the greatest.

    >>> find_span(np.array([4, 2, 3]))
    slice(2, 5, None)
    """
    return slice(int(indexes.min()), int(indexes.max()) + 1) if indexes.size else slice(0, 0)


def shift(indexes: IntArray, by: int) -> IntArray:
    """Return indexes that are moved on; stored ones may have too few bits for it."""
    return indexes.astype(np.int64) + by


def shift_and_join(parts: Sequence[IntArray], shifts: IntArray) -> IntArray:
    """Return arrays of indexes, one after another, each moved on by its shift."""
    return np.concatenate(
        [shift(part, by) for part, by in zip(parts, shifts.tolist(), strict=False)]
    )


def join_starts(parts: Sequence[IntArray]) -> IntArray:
    """Return where the rows of ragged arrays begin after these are joined; the end comes last.

    >>> join_starts([np.array([0, 2, 3]), np.array([0, 4])]).tolist()
    [0, 2, 3, 7]
    """
    return np.concatenate([np.zeros(1, dtype=np.int64), *map(np.diff, parts)]).cumsum()
