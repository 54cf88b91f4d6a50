"""Infer doors that a plan does not show, each with the confidence that it is where it is.

See docs/decisions/routing/door-inference.md for the figures.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from heapq import heappop, heappush

from routing.issues import IssueKind, PlanIssue, point_in
from routing.plan import Door
from routing.space.doors import (
    DEFAULT_DOOR_FEET,
    EXTENSION_STEPS_FEET,
    MAX_EXTENSION_FEET,
    DoorOrigin,
    Opening,
    fit_frame,
)
from routing.space.floor import WALL_FEET, FloorSurface
from routing.space.piece_groups import PieceGroups
from routing.space.shared_edges import SharedEdge, find_shared_edge, frame_on

MIN_DRAWN_SHARE = 0.5
"""If at least this share of a level's rooms has a drawn door, the plan shows its doors."""
MIN_DOOR_EDGE_FEET = 2.5
"""Spaces that share less seldom have a door between them."""
MIN_ENTERED_SQUARE_FEET = 8.0
"""Smaller rooms are shafts and ducts: the smallest lavatories have ten."""
MIN_CONFIDENCE = 0.2
"""Doors that are less likely than this are not opened."""
HUB_ROOMS = 12
"""A room that touches this many others is most likely a corridor drawn as a room."""

ONLY_CORRIDOR, WALL_OPENING = 0.9, 0.9
TO_HUB, ONE_OF_SEVERAL_CORRIDORS, BETWEEN_AREAS = 0.7, 0.6, 0.6
TO_ROOM, SHORT_EDGE = 0.5, 0.2
DOORS_ARE_SHOWN, WIDE_GAP, WITHOUT_WAY_IN = 0.5, 0.35, 0.6
"""Factors on the confidence: a level that shows its doors may show all of them, and so may a room
with a door that leads outside; a gap of over WIDE_GAP_FEET is a wall or a shaft; where neither
corridor nor door is drawn, any room may be the way in."""
WIDE_GAP_FEET = 1.0


@dataclass(frozen=True)
class RoomDoors:
    """What is known of a level's rooms, by id.

    `locked` rooms have a locked door, `closed` ones are shafts or utility rooms, and `shafts`
    are those of connectors, which always have an entrance. `landings` are the pieces, by index, on
    which a connector of several levels ends; `exits` are rooms with a door that leads outside.
    """

    locked: frozenset[str] = frozenset()
    closed: frozenset[str] = frozenset()
    shafts: frozenset[str] = frozenset()
    landings: frozenset[int] = frozenset()
    exits: frozenset[str] = frozenset()


def infer_doors(
    floor: FloorSurface, drawn: Collection[Opening], rooms: RoomDoors
) -> tuple[list[Opening], list[PlanIssue]]:
    """Return openings for what no drawn door joins to a corridor, and the issues found.

    Each group of pieces gets one, the likeliest, so that an inferred door never makes a route
    shorter. Rooms that no corridor reaches are joined to each other.
    """
    found = sorted(DoorInference(floor, drawn, rooms).iter_doors(), key=lambda door: door[0].piece)
    inferred = [opening for _, opening in found]
    entered = joined_rooms(floor, [*drawn, *inferred])
    issues = [inferred_door_issue(floor, *door) for door in found]
    issues += [
        enclosed_room_issue(floor, room.id, rooms) for room in floor.rooms if room.id not in entered
    ]
    return inferred, issues


def joined_rooms(floor: FloorSurface, openings: Iterable[Opening]) -> set[str]:
    """Return the ids of the rooms that `openings` join to something."""
    pieces = [floor.pieces[index] for opening in openings for index in opening.piece_indexes]
    return {piece.room_id for piece in pieces if piece.room_id is not None}


class DoorInference:
    """Joins the groups of a level's pieces to its corridors, the likeliest door first."""

    def __init__(self, floor: FloorSurface, drawn: Collection[Opening], rooms: RoomDoors) -> None:
        self.floor = floor
        self.groups = PieceGroups(floor, drawn, MAX_EXTENSION_FEET)
        entered = joined_rooms(floor, drawn) | rooms.locked
        min_entered = MIN_DRAWN_SHARE * len({room.id for room in floor.rooms})
        self.shows_doors = len(entered) >= max(1, min_entered)
        self.rooms = rooms
        self.locked = self.groups.members(rooms.locked)
        self.queue: list[tuple[tuple[float, ...], int, SharedEdge]] = []
        self.pushed = 0
        self.has_way_in = True

    def iter_doors(self) -> Iterator[tuple[SharedEdge, Opening]]:
        """Yield the edges that get a door, and its opening, from the corridors inwards."""
        self.reach([*self.groups.corridors, *filter(self.is_entered, sorted(self.rooms.landings))])
        yield from self.join_queued()
        for hub in self.groups.by_neighbours:
            if not self.groups.is_reached(hub) and self.may_enter(hub):
                self.has_way_in = self.groups.is_joined(hub)
                self.reach([hub])
                yield from self.join_queued()

    def is_entered(self, landing: int) -> bool:
        """Return whether a connector leads on from its landing, which a closed shaft does not."""
        return self.floor.pieces[landing].room_id is None or self.groups.is_joined(landing)

    def may_enter(self, piece: int) -> bool:
        """Return whether a door may be inferred into a piece."""
        room = self.floor.pieces[piece].room_id
        is_small = self.floor.polygons[piece].area < MIN_ENTERED_SQUARE_FEET
        if room is None:
            return not is_small
        if not self.groups.is_main_part(piece):
            return False
        is_closed = self.shows_doors and (is_small or room in self.rooms.closed)
        return room in self.rooms.shafts or not (is_closed or piece in self.locked)

    def may_join(self, piece: int, reached: int) -> bool:
        """Return whether a piece may be joined to a reached one; areas only join other areas."""
        if self.groups.is_reached(piece) or not self.may_enter(piece):
            return False
        one, other = self.floor.pieces[piece], self.floor.pieces[reached]
        # No door is guessed through the wall beside a gap that was closed.
        return one.whole is not other.whole and (one.room_id is not None or other.room_id is None)

    def reach(self, pieces: Iterable[int]) -> None:
        """Mark pieces and their groups as reached, and queue the doors to what they touch."""
        for piece in self.groups.reach(pieces):
            for other in self.groups.neighbours(piece):
                if not self.may_join(other, piece):
                    continue
                if edge := find_shared_edge(self.floor, other, piece):
                    self.pushed += 1
                    heappush(self.queue, (self.rank(edge), self.pushed, edge))

    def rank(self, edge: SharedEdge) -> tuple[float, ...]:
        """Return a key that sorts the likeliest door first: most lead to a corridor."""
        is_corridor = self.groups.is_corridor(edge.neighbour)
        return (
            -edge.is_wall_opening,
            -(edge.length_feet >= MIN_DOOR_EDGE_FEET),
            -is_corridor,
            -self.groups.count_rooms(edge.neighbour),
            -edge.length_feet,
        )

    def join_queued(self) -> Iterator[tuple[SharedEdge, Opening]]:
        """Yield doors in the queued edges until nothing more is reached."""
        while self.queue:
            _, _, edge = heappop(self.queue)
            confidence = self.rate(edge)
            if self.groups.is_reached(edge.piece) or confidence < MIN_CONFIDENCE:
                continue
            if opening := fit_inferred_door(self.floor, edge, confidence):
                yield edge, opening
                self.reach([edge.piece])

    def rate(self, edge: SharedEdge) -> float:
        """Return how likely there is a door in an edge, as measured on plans that show theirs."""
        confidence = self.rate_neighbour(edge)
        has_exit = self.floor.pieces[edge.piece].room_id in self.rooms.exits
        if (self.shows_doors or has_exit) and not edge.is_wall_opening:
            confidence *= DOORS_ARE_SHOWN
        if edge.gap_feet > WIDE_GAP_FEET:
            confidence *= WIDE_GAP
        if not self.has_way_in:
            confidence *= WITHOUT_WAY_IN
        return round(confidence, 2)

    def rate_neighbour(self, edge: SharedEdge) -> float:
        if edge.is_wall_opening:
            return WALL_OPENING
        if edge.length_feet < MIN_DOOR_EDGE_FEET:
            return SHORT_EDGE
        if self.floor.pieces[edge.piece].room_id is None:
            return BETWEEN_AREAS
        if self.floor.pieces[edge.neighbour].room_id is None:
            others = set(self.groups.neighbours(edge.piece)) - {edge.neighbour}
            is_only = not any(map(self.groups.is_corridor, others))
            return ONLY_CORRIDOR if is_only else ONE_OF_SEVERAL_CORRIDORS
        return TO_HUB if self.groups.count_rooms(edge.neighbour) >= HUB_ROOMS else TO_ROOM


def fit_inferred_door(floor: FloorSurface, edge: SharedEdge, confidence: float) -> Opening | None:
    """Return an opening in the middle of the longest stretch where one fits."""
    room = floor.pieces[edge.piece].room_id
    name = f"inferred:{room}" if room is not None else f"inferred:area {edge.piece}"
    joined = {edge.piece, edge.neighbour}
    for stretch in edge.stretches:
        # Open floor has no wall: all of the edge is passable.
        width_feet = DEFAULT_DOOR_FEET if room is not None else stretch.length
        half_width = min(width_feet / 2, stretch.length / 2 - WALL_FEET)
        frame = frame_on(stretch, stretch.length / 2, half_width)
        door = Door(name, floor.level.id, stretch, width_feet)
        for reach_feet in EXTENSION_STEPS_FEET:
            opening = fit_frame(floor, frame, reach_feet, door)
            if opening is not None and set(opening.piece_indexes) == joined:
                return replace(opening, origin=DoorOrigin.INFERRED, confidence=confidence)
    return None


def inferred_door_issue(floor: FloorSurface, edge: SharedEdge, opening: Opening) -> PlanIssue:
    """Return the issue that says where a door was inferred, for the plan's owner to draw it."""
    message = (
        f"a door was inferred between {floor.describe_piece(edge.piece)} and "
        f"{floor.describe_piece(edge.neighbour)} with confidence {opening.confidence:g}; draw the "
        "real one"
    )
    part = floor.pieces[edge.piece].room_id or floor.level.id
    at = point_in(opening.shape.centroid)
    return PlanIssue(IssueKind.DOOR_INFERRED, part, message, floor.level.id, at)


def enclosed_room_issue(floor: FloorSurface, room_id: str, rooms: RoomDoors) -> PlanIssue:
    """Return the issue of a room that stays enclosed."""
    if room_id in rooms.locked:
        message = f"room {room_id!r} has only locked doors and is cut off"
    elif room_id in rooms.closed:
        message = f"room {room_id!r} is a shaft or utility room without a door; draw one if it has"
    else:
        message = f"room {room_id!r} has no door and is cut off; draw a door into it"
    return PlanIssue(IssueKind.ROOM_ENCLOSED, room_id, message, floor.level.id)
