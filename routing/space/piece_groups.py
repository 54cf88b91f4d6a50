"""Group a level's floor pieces by the openings that join them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

import numpy as np

from routing.space.doors import Opening
from routing.space.floor import FloorSurface

MIN_CORRIDOR_ROOMS = 2
"""Open floor that touches fewer rooms is a balcony or a niche."""


class PieceGroups:
    """Pieces that openings join, which of them are reached, and what each piece touches."""

    def __init__(
        self, floor: FloorSurface, openings: Collection[Opening], touch_feet: float
    ) -> None:
        self.floor = floor
        self._joined: dict[int, list[int]] = defaultdict(list)
        for opening in openings:
            one, other = opening.piece_indexes
            self._joined[one].append(other)
            self._joined[other].append(one)
        self._touching = self._find_touching(touch_feet)
        self._room_counts = {piece: self._count_rooms(piece) for piece in self._touching}
        self._reached: set[int] = set()
        self._main_parts = self._find_main_parts()

    def _find_touching(self, touch_feet: float) -> dict[int, list[int]]:
        touching: dict[int, list[int]] = defaultdict(list)
        tree = self.floor.piece_tree
        pairs = tree.query(tree.geometries, predicate="dwithin", distance=touch_feet)
        for one, other in sorted(pairs[:, pairs[0] != pairs[1]].T.tolist()):
            touching[one].append(other)
        return touching

    def _find_main_parts(self) -> dict[str, int]:
        # Walls drawn inside a room may cut it into several pieces.
        largest: dict[str, int] = {}
        areas = [polygon.area for polygon in self.floor.polygons]
        for index in np.argsort(areas, kind="stable").tolist():
            room = self.floor.pieces[index].room_id
            if room is not None:
                largest[room] = index
        return largest

    def is_main_part(self, piece: int) -> bool:
        """Return whether a piece is the largest of its room."""
        room = self.floor.pieces[piece].room_id
        return room is not None and self._main_parts[room] == piece

    def neighbours(self, piece: int) -> list[int]:
        """Return the pieces near enough for a door to lead there."""
        return self._touching.get(piece, [])

    def _count_rooms(self, piece: int) -> int:
        rooms = {self.floor.pieces[other].room_id for other in self._touching[piece]}
        return len(rooms - {None, self.floor.pieces[piece].room_id})

    def count_rooms(self, piece: int) -> int:
        """Return the number of rooms that a piece touches."""
        return self._room_counts.get(piece, 0)

    def is_corridor(self, piece: int) -> bool:
        """Return whether a piece is open floor to which several rooms may open."""
        is_open = self.floor.pieces[piece].room_id is None
        return is_open and self.count_rooms(piece) >= MIN_CORRIDOR_ROOMS

    @property
    def corridors(self) -> list[int]:
        """The corridors, and the largest open piece in any case."""
        pieces = [index for index, piece in enumerate(self.floor.pieces) if piece.room_id is None]
        largest = max(pieces, key=lambda index: self.floor.polygons[index].area, default=None)
        return [index for index in pieces if index == largest or self.is_corridor(index)]

    @property
    def by_neighbours(self) -> list[int]:
        """All pieces, those that touch most rooms first, and of these the largest."""
        indexes = range(len(self.floor.pieces))
        area = [polygon.area for polygon in self.floor.polygons]
        return sorted(indexes, key=lambda index: (-self.count_rooms(index), -area[index]))

    def is_joined(self, piece: int) -> bool:
        """Return whether a drawn door leads from a piece to another one."""
        return piece in self._joined

    def is_reached(self, piece: int) -> bool:
        return piece in self._reached

    def reach(self, pieces: Iterable[int]) -> list[int]:
        """Mark the groups of `pieces` as reached, and return the pieces that were not before."""
        return self._expand(pieces, self._reached)

    def members(self, room_ids: Collection[str]) -> set[int]:
        """Return the pieces of rooms and of their groups."""
        members: set[int] = set()
        pieces = enumerate(self.floor.pieces)
        self._expand((index for index, piece in pieces if piece.room_id in room_ids), members)
        return members

    def _expand(self, pieces: Iterable[int], seen: set[int]) -> list[int]:
        """Add the groups of `pieces` to `seen`, and return what is new in it."""
        pending, new = list(pieces), []
        while pending:
            piece = pending.pop()
            if piece not in seen:
                seen.add(piece)
                pending += self._joined.get(piece, [])
                new.append(piece)
        return new
