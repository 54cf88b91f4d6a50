"""Lists of polygons in Well-Known Binary, which takes far less memory than decoded ones."""

from __future__ import annotations

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
class PackedShapes:
    """Lists of polygons. List i is `wkb[starts[i]:starts[i + 1]]`, a GeometryCollection."""

    starts: IntArray
    wkb: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def content(self, index: int) -> bytes:
        """Return one list, as it is packed."""
        return self.wkb[self.starts[index] : self.starts[index + 1]].tobytes()

    def unpack(self, index: int) -> tuple[Polygonal, ...]:
        """Return one list, decoded.

        >>> lists = pack_shapes([[], [shapely.box(0, 0, 2, 1)]])
        >>> [shape.area for shape in lists.unpack(1)]
        [2.0]
        """
        return unpack_shapes(self.content(index))


def unpack_shapes(content: bytes) -> tuple[Polygonal, ...]:
    """Return one list, decoded."""
    # One collection keeps empty areas and MultiPolygons in their places.
    return tuple(shapely.get_parts(shapely.from_wkb(content)))


def pack_shapes(lists: Iterable[Sequence[Polygonal]]) -> PackedShapes:
    """Return lists of polygons, packed."""
    contents = [shapely.to_wkb(GeometryCollection(list(shapes))) for shapes in lists]
    starts = np.cumsum([0, *map(len, contents)])
    return PackedShapes(starts, np.frombuffer(b"".join(contents), dtype=np.uint8))


def join_shapes(parts: Sequence[PackedShapes]) -> PackedShapes:
    """Return all lists of some parts in their order."""
    starts = join_starts([part.starts for part in parts])
    return PackedShapes(starts, np.concatenate([part.wkb for part in parts]))
