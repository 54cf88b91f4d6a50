"""Types of the numpy arrays that routing passes around, and what many modules do with them.

Here are ranges of indexes, such as the entries of some rows of a ragged array, and lists of
polygons and of names that are packed into arrays.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely import GeometryCollection

from routing.plan import Polygonal

FloatArray: TypeAlias = NDArray[np.float64]
Float32Array: TypeAlias = NDArray[np.float32]
IntArray: TypeAlias = NDArray[np.integer]
"""They have 64 bits where they are computed, and as few as they need where they are stored."""
BoolArray: TypeAlias = NDArray[np.bool_]
Dataclass = TypeVar("Dataclass")
Table = TypeVar("Table", bound="ArrayTable")


@dataclass(frozen=True)
class ArrayTable:
    """A base of dataclasses with arrays as columns, which have a row for each thing."""

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    def take(self, rows: IntArray | BoolArray) -> Self:
        """Return some rows, by their indexes or a mask."""
        return type(self)(*(getattr(self, column.name)[rows] for column in fields(self)))


def join_tables(parts: Sequence[Table]) -> Table:
    """Return the rows of all parts, in their order."""
    names = [column.name for column in fields(parts[0])]
    columns = ([getattr(part, name) for part in parts] for name in names)
    return type(parts[0])(*map(np.concatenate, columns))


def shrink(array: NDArray[Any]) -> NDArray[Any]:
    """Return signed integers in as few bytes as they need, and other arrays as they are.

    >>> shrink(np.array([-1, 300])).dtype
    dtype('int16')
    """
    if array.dtype.kind != "i" or not array.size:
        return array
    # A negative number, as unsigned types would turn sums with signed ones into floats.
    return array.astype(np.min_scalar_type(min(array.min(), -1 - array.max())), copy=False)


def shrink_all(part: Dataclass) -> Dataclass:
    """Return a dataclass with its arrays, and those of the dataclasses in it, shrunk."""
    values: Any = {field.name: getattr(part, field.name) for field in fields(part)}  # type: ignore[arg-type]
    shrunk = {
        name: shrink(value) if isinstance(value, np.ndarray) else shrink_all(value)
        for name, value in values.items()
        if isinstance(value, np.ndarray) or is_dataclass(value)
    }
    return replace(part, **shrunk)  # type: ignore[type-var]


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


# Lists of polygons and of names, packed: they take far less memory than decoded ones.


@dataclass(frozen=True)
class PackedLists:
    """Lists as bytes. List i is `content[starts[i]:starts[i + 1]]`."""

    starts: IntArray
    content: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def packed(self, index: int) -> bytes:
        """Return one list, as it is packed."""
        return self.content[self.starts[index] : self.starts[index + 1]].tobytes()

    def take(self, index: int) -> PackedLists:
        """Return one list, as the only one."""
        start, end = self.starts[index], self.starts[index + 1]
        return PackedLists(np.array([0, end - start]), self.content[start:end])

    def shapes(self, index: int) -> tuple[Polygonal, ...]:
        """Return one list of polygons.

        >>> lists = pack_shapes([[], [shapely.box(0, 0, 2, 1)]])
        >>> [shape.area for shape in lists.shapes(1)]
        [2.0]
        """
        return unpack_shapes(self.packed(index))

    def rows(self, index: int) -> list[tuple[str, ...]]:
        """Return one list of tuples of texts.

        >>> pack_rows([[("r1", "Lobby")], []]).rows(0)
        [('r1', 'Lobby')]
        """
        return unpack_rows(self.packed(index))


def unpack_shapes(content: bytes) -> tuple[Polygonal, ...]:
    """Return one packed list of polygons."""
    # One collection keeps empty areas and MultiPolygons in their places.
    return tuple(shapely.get_parts(shapely.from_wkb(content)))


def unpack_rows(content: bytes) -> list[tuple[str, ...]]:
    """Return one packed list of tuples of texts."""
    return [tuple(row) for row in json.loads(content)]


def pack_shapes(lists: Iterable[Sequence[Polygonal]]) -> PackedLists:
    """Pack lists of polygons, as Well-Known Binary."""
    return _pack(shapely.to_wkb(GeometryCollection(list(shapes))) for shapes in lists)


def pack_rows(lists: Iterable[Sequence[tuple[str, ...]]]) -> PackedLists:
    """Pack lists of tuples of texts, as JSON."""
    return _pack(json.dumps(rows, separators=(",", ":")).encode() for rows in lists)


def join_lists(parts: Sequence[PackedLists]) -> PackedLists:
    """Return all lists of some parts in their order."""
    starts = join_starts([part.starts for part in parts])
    return PackedLists(starts, np.concatenate([part.content for part in parts]))


def _pack(contents: Iterable[bytes]) -> PackedLists:
    packed = [*contents]
    starts = np.cumsum([0, *map(len, packed)])
    return PackedLists(starts, np.frombuffer(b"".join(packed), dtype=np.uint8))
