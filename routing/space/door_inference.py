"""Infer doors that a plan does not show, where a room shares an edge with its neighbour."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

import numpy as np
import shapely
from shapely import LineString

from routing.issues import IssueKind, PlanIssue
from routing.plan import Door
from routing.space.doors import (
    DEFAULT_DOOR_FEET,
    EXTENSION_STEPS_FEET,
    MAX_EXTENSION_FEET,
    DoorFrame,
    DoorOrigin,
    Opening,
    fit_frame,
    ring_segments,
)
from routing.space.floor import WALL_FEET, FloorPiece, FloorSurface

MIN_DRAWN_SHARE = 0.5
"""If at least this share of a level's rooms has a drawn door, the plan shows all doors."""
MIN_SHARED_EDGE_FEET = 1.0


def is_open_floor(piece: FloorPiece) -> bool:
    """Return whether a piece is a corridor or area."""
    return piece.room_id is None


def infer_doors(
    floor: FloorSurface, drawn: list[Opening], required_rooms: Iterable[str]
) -> tuple[list[Opening], list[PlanIssue]]:
    """Return openings for rooms without a door, and an issue for each room that stays enclosed.

    On a level that shows its doors, only `required_rooms` get one: the shafts of lifts and stairs.
    A room opens to the corridor or area with the longest shared edge; if it has none, to a room
    that has an opening itself.
    """
    entered = joined_rooms(floor, drawn)
    doorless = [room.id for room in floor.rooms if room.id not in entered]
    pending = doorless
    if has_drawn_doors(floor, entered):
        required = set(required_rooms)
        pending = [room for room in doorless if room in required]

    def may_enter(piece: FloorPiece) -> bool:
        return piece.room_id in entered

    inferred: list[Opening] = []
    openings = infer_openings(floor, pending, is_open_floor)
    while openings:
        inferred += openings
        entered |= joined_rooms(floor, openings)
        pending = [room for room in pending if room not in entered]
        # Once a room has an opening, the rooms behind it can have one in the next round.
        openings = infer_openings(floor, pending, may_enter)
    return inferred, [enclosed_room_issue(floor, room) for room in doorless if room not in entered]


def has_drawn_doors(floor: FloorSurface, entered: Collection[str]) -> bool:
    """Return whether so many rooms have a drawn door that rooms without one are enclosed."""
    return len(entered) >= MIN_DRAWN_SHARE * len({room.id for room in floor.rooms})


def joined_rooms(floor: FloorSurface, openings: Iterable[Opening]) -> set[str]:
    """Return the ids of the rooms that `openings` join to something."""
    pieces = [floor.pieces[index] for opening in openings for index in opening.piece_indexes]
    return {piece.room_id for piece in pieces if piece.room_id is not None}


def infer_openings(
    floor: FloorSurface, room_ids: Iterable[str], may_join: Callable[[FloorPiece], bool]
) -> list[Opening]:
    """Return an opening for each room that has an edge with a piece that it may join."""
    return [opening for room in room_ids if (opening := infer_door(floor, room, may_join))]


def infer_door(
    floor: FloorSurface, room_id: str, may_join: Callable[[FloorPiece], bool]
) -> Opening | None:
    """Return an opening in the longest edge that a room shares with a piece that it may join."""
    own = [index for index, piece in enumerate(floor.pieces) if piece.room_id == room_id]
    if not own:
        return None
    polygons = floor.polygons
    # Walls that are drawn inside a room may cut it into several pieces.
    largest = max(own, key=lambda index: polygons[index].area)
    room = polygons[largest]
    near = [
        polygons[other]
        for other in floor.pieces_within(room, MAX_EXTENSION_FEET)
        if other not in own and may_join(floor.pieces[other])
    ]
    if not near:
        return None
    reach = shapely.union_all(near).buffer(MAX_EXTENSION_FEET, cap_style="flat", join_style="mitre")
    shared = shapely.intersection(np.array(ring_segments(room)), reach)
    edges = [part for part in shapely.get_parts(shared) if isinstance(part, LineString)]
    for edge in sorted(edges, key=lambda part: -part.length):
        # Those that follow are shorter still.
        if edge.length < MIN_SHARED_EDGE_FEET:
            return None
        opening = fit_inferred_door(floor, largest, edge, f"inferred:{room_id}", may_join)
        if opening is not None:
            return opening
    return None


def fit_inferred_door(
    floor: FloorSurface,
    room_piece: int,
    edge: LineString,
    door_id: str,
    may_join: Callable[[FloorPiece], bool],
) -> Opening | None:
    """Return an opening in the middle of `edge` that joins `room_piece`, None if none fits."""
    (x0, y0), (x1, y1) = edge.coords
    middle, length = ((x0 + x1) / 2, (y0 + y1) / 2), edge.length
    half_width = min(DEFAULT_DOOR_FEET / 2, length / 2 - WALL_FEET)
    frame = DoorFrame(middle, ((x1 - x0) / length, (y1 - y0) / length), half_width)
    door = Door(door_id, floor.level.id, edge, DEFAULT_DOOR_FEET)
    for reach_feet in EXTENSION_STEPS_FEET:
        opening = fit_frame(floor, frame, reach_feet, door)
        if opening is not None and room_piece in opening.piece_indexes:
            # A piece may be on both sides of a wall that ends inside it.
            [other] = set(opening.piece_indexes) - {room_piece} or {room_piece}
            if may_join(floor.pieces[other]):
                return replace(opening, origin=DoorOrigin.INFERRED)
    return None


def enclosed_room_issue(floor: FloorSurface, room_id: str) -> PlanIssue:
    message = f"room {room_id!r} has no door and is cut off; draw a door into it"
    return PlanIssue(IssueKind.ROOM_ENCLOSED, room_id, message, floor.level.id)
