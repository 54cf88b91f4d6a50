"""Leave out what crosses itself or other features so often that no plan is meant.

Wherever lines cross, shapes get a corner when they are repaired and joined: a few thousand lines
can have millions of crossings, and take all memory.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

import numpy as np
import shapely
from numpy.typing import NDArray

from parsing.drawing import (
    Coordinate,
    Coordinates,
    Drawing,
    Feature,
    LinesGeometry,
    NoteCollector,
    PointGeometry,
    ReadingFault,
)
from parsing.errors import InvalidPlanError
from resolvers.plans.tag_classification import get_space_kind

MAX_CROSSINGS: Final = 20_000
"""On a level. Of 35 plans that others have published, the most have 1,378."""
MAX_BLOCK_PAIRS: Final = 2_000_000
"""Pairs of segments that are compared together; limits memory."""
CAUSE: Final = "left out, crosses itself or other features too often"

Segments = NDArray[np.float64]
"""Starts and ends (n, 2, 2)."""


def leave_out_tangles(
    drawing: Drawing, is_used: Callable[[Feature], bool], *, strict: bool = False
) -> Drawing:
    """Return a drawing in which used features cross at most MAX_CROSSINGS times on each level.

    The others become faults, or an InvalidPlanError if `strict`. Spaces go first, then what is
    drawn first.
    """
    levels: defaultdict[str, list[Feature]] = defaultdict(list)
    for feature in sorted(filter(is_used, drawing.features), key=lambda f: not get_space_kind(f)):
        if not isinstance(feature.geometry, PointGeometry):
            for level in feature.levels:
                levels[level].append(feature)
    collector = NoteCollector()
    left_out: set[int] = set()
    for level, features in levels.items():
        for index, position in find_tangled([_to_segments(f) for f in features]).items():
            feature = features[index]
            left_out.add(id(feature))
            message = (
                f"{feature.id!r} crosses itself or what is drawn before it so often that level "
                f"{level!r} would have more than {MAX_CROSSINGS:,} crossings"
            )
            collector.add_fault(
                ReadingFault(CAUSE, message, feature.id, position=position, levels=(level,))
            )
    if not left_out:
        return drawing
    if strict:
        raise InvalidPlanError(collector.describe_faults())
    return replace(
        drawing,
        features=tuple(feature for feature in drawing.features if id(feature) not in left_out),
        notes=(*drawing.notes, *collector.notes()),
        faults=(*drawing.faults, *collector.faults),
    )


def find_tangled(shapes: Sequence[Segments]) -> dict[int, Coordinate]:
    """Return which shapes to leave out so that MAX_CROSSINGS remain, each with a point of it.

    >>> find_tangled([np.array([[(0, 0), (2, 2)]]), np.array([[(0, 2), (2, 0)]])])
    {}
    """
    segments = np.concatenate([np.empty((0, 2, 2)), *shapes])
    owners = np.repeat(np.arange(len(shapes)), [len(shape) for shape in shapes])
    lines = np.asarray(shapely.linestrings(segments))
    tree = shapely.STRtree(lines)
    is_kept, tangled = np.ones(len(shapes), dtype=bool), {}
    total, of_owner = 0, np.zeros(len(shapes), dtype=np.int64)
    size = max(1, MAX_BLOCK_PAIRS // max(1, len(lines)))
    for first in range(0, len(lines), size):
        block = np.arange(first, min(first + size, len(lines)))
        block = block[is_kept[owners[block]]]
        found, earlier = tree.query(lines[block])
        later = block[found]
        compared = (earlier < later) & is_kept[owners[earlier]]
        later, earlier = later[compared], earlier[compared]
        crossing = _are_crossing(segments[later], segments[earlier])
        later, earlier = later[crossing], earlier[crossing]
        for own in _group(owners[later]):
            owner = int(owners[later[own][0]])
            count = int(np.count_nonzero(is_kept[owners[earlier[own]]]))
            total, of_owner[owner] = total + count, of_owner[owner] + count
            if total > MAX_CROSSINGS:
                total -= int(of_owner[owner])
                is_kept[owner] = False
                x, y = segments[later[own][0], 0].tolist()
                tangled[owner] = (x, y)
    return tangled


def _group(owners: NDArray[Any]) -> Iterator[slice]:
    """Yield where each owner stands in an ascending array."""
    bounds = np.flatnonzero(np.diff(owners, prepend=-1, append=-1)).tolist()
    for start, end in pairwise(bounds):
        yield slice(start, end)


def _are_crossing(one: Segments, other: Segments) -> NDArray[np.bool_]:
    """Return whether segments cross within both, not only touch."""
    return _are_apart(one, other) & _are_apart(other, one)


def _are_apart(segments: Segments, others: Segments) -> NDArray[np.bool_]:
    """Return whether the ends of the others lie on either side of the segments' lines."""
    along = segments[:, 1] - segments[:, 0]
    sides = [_cross(along, others[:, end] - segments[:, 0]) for end in (0, 1)]
    return np.asarray(np.sign(sides[0]) * np.sign(sides[1]) < 0)


def _cross(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0])


def _to_segments(feature: Feature) -> Segments:
    match feature.geometry:
        case PointGeometry():
            return np.empty((0, 2, 2))
        case LinesGeometry(lines):
            return _join(lines)
        case area:
            return _join([(*ring, ring[0]) for ring in area.rings])


def _join(lines: Sequence[Coordinates]) -> Segments:
    ends = [np.array(line, dtype=np.float64) for line in lines]
    return np.concatenate([np.stack((xy[:-1], xy[1:]), axis=1) for xy in ends])
