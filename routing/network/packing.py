"""Lists of polygons and of names, packed: they take far less memory than decoded ones."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely import GeometryCollection

from routing.arrays import IntArray
from routing.network.ranges import join_starts
from routing.plan import Polygonal


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
