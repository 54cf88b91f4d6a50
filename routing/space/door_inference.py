"""Doors that a plan does not show, inferred where a room shares an edge with its neighbour."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
"""A plan that gives at least this share of a level's rooms a door shows all its doors."""
MIN_SHARED_EDGE_FEET = 1.0


def is_open_floor(piece: FloorPiece) -> bool:
    return piece.room_id is None


def infer_doors(
    floor: FloorSurface, drawn: list[Opening], required_rooms: Iterable[str]
) -> tuple[list[Opening], list[PlanIssue]]:
    """Openings for rooms without one, and the rooms that stay enclosed.

    Where most rooms of a level have a door, one without is enclosed. `always` are rooms that must
    be entered all the same: the shafts of lifts and stairs. A room opens to the corridor or area
    along which its longest shared edge runs; without one, to a room that is itself entered.
    """
    entered = {room for opening in drawn for room in joined_rooms(floor, opening)}
    without = [room.id for room in floor.rooms if room.id not in entered]
    shown = has_drawn_doors(floor, drawn)
    wanted = [room for room in without if room in set(required_rooms)] if shown else without
    found = [
        opening
        for room in wanted
        if (opening := infer_door(floor, room, is_open_floor)) is not None
    ]
    entered |= {room for opening in found for room in joined_rooms(floor, opening)}
    while chained := infer_doors_to_entered(
        floor, [r for r in wanted if r not in entered], entered
    ):
        found += chained
        entered |= {room for opening in chained for room in joined_rooms(floor, opening)}
    return found, [enclosed_room_issue(floor, room) for room in without if room not in entered]


def has_drawn_doors(floor: FloorSurface, drawn: Iterable[Opening]) -> bool:
    """Whether enough rooms of a level have a drawn door for one without to be enclosed."""
    entered = {room for opening in drawn for room in joined_rooms(floor, opening)}
    return len(entered) >= MIN_DRAWN_SHARE * len({room.id for room in floor.rooms})


def joined_rooms(floor: FloorSurface, opening: Opening) -> set[str]:
    rooms = {floor.pieces[index].room_id for index in opening.piece_indexes}
    return {room for room in rooms if room is not None}


def infer_doors_to_entered(
    floor: FloorSurface, rooms: list[str], entered: set[str]
) -> list[Opening]:
    """Openings from `rooms` to others that somebody can enter already."""

    def is_entered(piece: FloorPiece) -> bool:
        return piece.room_id in entered

    return [opening for room in rooms if (opening := infer_door(floor, room, is_entered))]


def infer_door(
    floor: FloorSurface, room_id: str, may_join: Callable[[FloorPiece], bool]
) -> Opening | None:
    """An opening in the longest edge that the room shares with a piece that it may join."""
    own = [at for at, piece in enumerate(floor.pieces) if piece.room_id == room_id]
    if not own:
        return None
    largest = max(own, key=lambda at: floor.polygons[at].area)
    room = floor.polygons[largest]
    near = [
        floor.polygons[other]
        for other in floor.pieces_within(room, MAX_EXTENSION_FEET)
        if other not in own and may_join(floor.pieces[other])
    ]
    if not near:
        return None
    reach = shapely.union_all(near).buffer(MAX_EXTENSION_FEET, cap_style="flat", join_style="mitre")
    shared = shapely.intersection(np.array(ring_segments(room)), reach)
    edges = [part for part in shapely.get_parts(shared) if isinstance(part, LineString)]
    for edge in sorted(edges, key=lambda part: -part.length):
        if edge.length < MIN_SHARED_EDGE_FEET:
            return None
        opening = fit_inferred_door(floor, largest, edge, f"inferred:{room_id}", may_join)
        if opening is not None:
            return opening
    return None


def fit_inferred_door(
    floor: FloorSurface,
    at: int,
    edge: LineString,
    door_id: str,
    may_join: Callable[[FloorPiece], bool],
) -> Opening | None:
    (x0, y0), (x1, y1) = edge.coords
    middle, length = ((x0 + x1) / 2, (y0 + y1) / 2), edge.length
    half_width = min(DEFAULT_DOOR_FEET / 2, length / 2 - WALL_FEET)
    frame = DoorFrame(middle, ((x1 - x0) / length, (y1 - y0) / length), half_width)
    door = Door(door_id, floor.level.id, edge, DEFAULT_DOOR_FEET)
    for reach_feet in EXTENSION_STEPS_FEET:
        opening = fit_frame(floor, frame, reach_feet, door)
        if opening is not None and at in opening.piece_indexes:
            [other] = set(opening.piece_indexes) - {at} or {at}
            if may_join(floor.pieces[other]):
                return replace(opening, origin=DoorOrigin.INFERRED)
    return None


def enclosed_room_issue(floor: FloorSurface, room_id: str) -> PlanIssue:
    message = f"room {room_id!r} has no door and is cut off; draw a door into it"
    return PlanIssue(IssueKind.ROOM_ENCLOSED, room_id, message, floor.level.id)
