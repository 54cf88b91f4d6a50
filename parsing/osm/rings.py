"""Ways that share their ends -> rings, for multipolygons drawn in pieces."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

N = TypeVar("N", bound=Hashable)


class OpenRingError(ValueError):
    """Pieces that surround nothing; `end` is where they do not go on."""

    def __init__(self, end: object) -> None:
        super().__init__(f"the outline ends at {end}")
        self.end = end


def join_rings(pieces: Iterable[Sequence[N]]) -> list[tuple[N, ...]]:
    """Rings of at least three points, the first not repeated. Raises `OpenRing`."""
    left = dict(enumerate(piece for piece in pieces if len(piece) > 1))
    at_end: defaultdict[N, list[int]] = defaultdict(list)
    for number, piece in left.items():
        for end in {piece[0], piece[-1]}:
            at_end[end].append(number)
    rings = []
    while left:
        chain = list(left.pop(next(iter(left))))
        while chain[0] != chain[-1]:
            following = next((number for number in at_end[chain[-1]] if number in left), None)
            if following is None:
                raise OpenRingError(chain[-1])
            piece = left.pop(following)
            chain += piece[1:] if piece[0] == chain[-1] else piece[-2::-1]
        if len(chain) < 4:
            raise OpenRingError(chain[0])
        rings.append(tuple(chain[:-1]))
    return rings
