"""Infer doors that a plan does not show, each with the confidence that it is where it is.

See docs/decisions/routing/space.md for the figures.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from heapq import heappop, heappush

import numpy as np
import shapely
from shapely import LineString, Point

from routing.issues import IssueKind, PlanIssue, point_in
from routing.plan import Door
from routing.space.doors import (
    DEFAULT_DOOR_FEET,
    EXTENSION_STEPS_FEET,
    MAX_EXTENSION_FEET,
    DoorFrame,
    DoorOrigin,
    Opening,
    fit_frame,
    misfit_issue,
)
from routing.space.floor import WALL_FEET, FloorSurface

MIN_EDGE_FEET = 1.0
"""Pieces that meet along less than this meet at a corner."""
GAP_TOLERANCE_FEET = 0.5
"""The gap between two outlines drawn by hand may become so much wider than it is at first."""
WALL_CLEARANCE_FEET = 0.3
"""A door stands this far from the end of a wall."""
MAX_WALL_OPENING_FEET = 8.0
"""A gap in a drawn wall up to this wide is a door: a double one has six feet."""


@dataclass(frozen=True)
class SharedEdge:
    """The stretches of `piece`'s outline along `neighbour`, the longest first.

    `is_wall_opening` is True if the longest is a gap in a wall that is drawn along the edge.
    """

    piece: int
    neighbour: int
    stretches: tuple[LineString, ...]
    gap_feet: float
    is_wall_opening: bool

    @property
    def length_feet(self) -> float:
        """Length of the longest stretch."""
        return float(self.stretches[0].length)


def find_shared_edge(floor: FloorSurface, piece: int, neighbour: int) -> SharedEdge | None:
    """Return the edge that two pieces share, None if they share none, or a wall is all along."""
    polygon = floor.polygons[piece]
    left, top, right, bottom = polygon.bounds
    margin = 2 * MAX_EXTENSION_FEET
    box = (left - margin, top - margin, right + margin, bottom + margin)
    # Only what is near: a corridor along hundreds of rooms has thousands of corners.
    near = shapely.clip_by_rect(floor.polygons[neighbour], *box)
    gap_feet = float(polygon.distance(near))
    if not gap_feet <= MAX_EXTENSION_FEET:
        return None
    reach_feet = min(gap_feet + GAP_TOLERANCE_FEET, MAX_EXTENSION_FEET)
    along = shapely.intersection(np.array(floor.sides(piece)), near.buffer(reach_feet, 2))
    clear = along
    walls = floor.walls.query(polygon, predicate="dwithin", distance=reach_feet)
    if len(walls):
        blocked = shapely.union_all(floor.walls.geometries[walls])
        clear = shapely.difference(along, blocked.buffer(gap_feet + WALL_CLEARANCE_FEET))
    parts = [part for part in shapely.get_parts(clear) if part.length >= MIN_EDGE_FEET]
    if not parts:
        return None
    parts.sort(key=lambda part: -part.length)
    is_interrupted = shapely.length(along).sum() > shapely.length(clear).sum() + MIN_EDGE_FEET
    is_wall_opening = bool(is_interrupted and parts[0].length <= MAX_WALL_OPENING_FEET)
    return SharedEdge(piece, neighbour, tuple(parts), gap_feet, is_wall_opening)


def frame_on(stretch: LineString, at_feet: float, half_width: float) -> DoorFrame:
    """Return the frame of a door at a distance along a straight stretch."""
    (x0, y0), (x1, y1) = stretch.coords
    centre = stretch.interpolate(at_feet)
    along = ((x1 - x0) / stretch.length, (y1 - y0) / stretch.length)
    return DoorFrame((centre.x, centre.y), along, half_width)


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
    """Knowledge of the doors of a level's rooms, by id.

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
    # The report says why a room is enclosed.
    issues += [
        PlanIssue(IssueKind.ROOM_ENCLOSED, room.id, "", floor.level.id)
        for room in floor.rooms
        if room.id not in entered
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
    for stretch in edge.stretches:
        # Open floor has no wall: all of the edge is passable.
        width_feet = DEFAULT_DOOR_FEET if room is not None else stretch.length
        half_width = min(width_feet / 2, stretch.length / 2 - WALL_FEET)
        frame = frame_on(stretch, stretch.length / 2, half_width)
        door = Door(name, floor.level.id, stretch, width_feet)
        if opening := fit_between(floor, edge, frame, door):
            return replace(opening, origin=DoorOrigin.INFERRED, confidence=confidence)
    return None


def fit_between(
    floor: FloorSurface, edge: SharedEdge, frame: DoorFrame, door: Door
) -> Opening | None:
    """Return the opening of a frame with the least extension that joins the pieces of an edge."""
    for reach_feet in EXTENSION_STEPS_FEET:
        opening = fit_frame(floor, frame, reach_feet, door)
        if opening is not None and set(opening.piece_indexes) == {edge.piece, edge.neighbour}:
            return opening
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


MAX_MOVE_FEET = 3.0
"""A door farther from a wall than a door is wide does not stand beside it."""
MIN_ADVANTAGE_FEET = 0.5
"""The door must be so much nearer to the wall than to that of any other such room."""
MOVED_CONFIDENCE = 0.8


def move_doors(
    floor: FloorSurface, misfits: Iterable[Door], entered: Iterable[str]
) -> tuple[list[Opening], list[PlanIssue]]:
    """Move doors that fit no wall to the nearest one of a room that no other door enters.

    Returns their openings, and an issue for each door.
    """
    openings: list[Opening] = []
    issues: list[PlanIssue] = []
    known = set(entered)
    for door in misfits:
        opening = move_door(floor, door, known)
        if opening is None:
            issues.append(misfit_issue(floor, door, known))
            continue
        openings.append(opening)
        issues.append(moved_door_issue(floor, door, opening))
        known |= {room for i in opening.piece_indexes if (room := floor.pieces[i].room_id)}
    return openings, issues


def move_door(floor: FloorSurface, door: Door, entered: set[str]) -> Opening | None:
    """Return the opening of a door in the nearest wall of a room without one, if it is certain."""
    if door.geometry.is_empty:
        return None
    middle = door.geometry.centroid
    around = [
        index
        for index in floor.pieces_within(middle, MAX_MOVE_FEET + MAX_EXTENSION_FEET)
        if floor.polygons[index].area >= MIN_ENTERED_SQUARE_FEET
    ]
    near = [
        index
        for index in around
        if (room := floor.pieces[index].room_id) is not None and room not in entered
    ]
    pairs = [(piece, other) for piece in near for other in around if other != piece]
    edges = filter(None, (find_shared_edge(floor, *pair) for pair in pairs))
    by_distance = sorted(edges, key=lambda edge: distance_to(edge, middle))
    if not by_distance or distance_to(by_distance[0], middle) > MAX_MOVE_FEET:
        return None
    nearest = by_distance[0]
    limit_feet = distance_to(nearest, middle) + MIN_ADVANTAGE_FEET
    rivals = {edge.piece for edge in by_distance if distance_to(edge, middle) < limit_feet}
    # The two sides of one wall are rivals only in name.
    if rivals - {nearest.piece, nearest.neighbour}:
        return None
    return fit_at(floor, nearest, middle, door)


def distance_to(edge: SharedEdge, middle: Point) -> float:
    return float(shapely.distance(edge.stretches, middle).min())


def fit_at(floor: FloorSurface, edge: SharedEdge, middle: Point, door: Door) -> Opening | None:
    """Return the opening of a door at the place on an edge that is nearest to it."""
    stretch = min(edge.stretches, key=middle.distance)
    half_width = min((door.width_feet or DEFAULT_DOOR_FEET) / 2, stretch.length / 2)
    # Within the edge with all of its width.
    at = min(max(stretch.project(middle), half_width), stretch.length - half_width)
    frame = frame_on(stretch, at, half_width)
    opening = fit_between(floor, edge, frame, door)
    return opening and replace(opening, origin=DoorOrigin.REPAIRED, confidence=MOVED_CONFIDENCE)


def moved_door_issue(floor: FloorSurface, door: Door, opening: Opening) -> PlanIssue:
    """Return the issue of a door that was moved into a wall."""
    feet = door.geometry.centroid.distance(opening.shape.centroid)
    one, other = map(floor.describe_piece, opening.piece_indexes)
    message = (
        f"stands in no wall; moved by {feet:.1f} ft to join {one} and {other}, as the room has no "
        "other door: draw it in the wall"
    )
    return PlanIssue(IssueKind.DOOR_MOVED, door.id, message, door.level_id)
