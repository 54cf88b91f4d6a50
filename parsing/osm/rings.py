"""Join ways that share their end nodes into rings, for multipolygons drawn in pieces.

https://wiki.openstreetmap.org/wiki/Relation:multipolygon
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


class OpenRingError(ValueError):
    """Pieces that do not close; no other piece continues at the node `end`."""

    def __init__(self, end: object) -> None:
        super().__init__(f"the outline ends at {end}")
        self.end = end


def join_rings(pieces: Iterable[Sequence[Node]]) -> list[tuple[Node, ...]]:
    """Join pieces into rings of at least three nodes, the first of which is not repeated.

    Raises `OpenRingError`.

    >>> join_rings(["ab", "cb", "ca"])
    [('a', 'b', 'c')]
    """
    unused = dict(enumerate(piece for piece in pieces if len(piece) > 1))
    pieces_at: defaultdict[Node, list[int]] = defaultdict(list)
    for number, piece in unused.items():
        for end in {piece[0], piece[-1]}:
            pieces_at[end].append(number)
    # Iterators, which pass each piece that is used up only once.
    waiting_at = {node: iter(numbers) for node, numbers in pieces_at.items()}
    rings = []
    while unused:
        chain = list(unused.pop(next(iter(unused))))
        while chain[0] != chain[-1]:
            following = next((number for number in waiting_at[chain[-1]] if number in unused), None)
            if following is None:
                raise OpenRingError(chain[-1])
            piece = unused.pop(following)
            chain += piece[1:] if piece[0] == chain[-1] else piece[-2::-1]
        if len(chain) < 4:
            raise OpenRingError(chain[0])
        rings.append(tuple(chain[:-1]))
    return rings
