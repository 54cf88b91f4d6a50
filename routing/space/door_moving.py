"""Use doors that are drawn beside the wall of a room that has no other door."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import shapely
from shapely import Point

from routing.issues import IssueKind, PlanIssue
from routing.plan import Door
from routing.space.door_inference import MIN_ENTERED_SQUARE_FEET
from routing.space.doors import (
    DEFAULT_DOOR_FEET,
    EXTENSION_STEPS_FEET,
    MAX_EXTENSION_FEET,
    DoorOrigin,
    Opening,
    fit_frame,
    misfit_issue,
)
from routing.space.floor import FloorSurface
from routing.space.shared_edges import SharedEdge, find_shared_edge, frame_on

MAX_MOVE_FEET = 3.0
"""A door farther from a wall than a door is wide does not stand beside it."""
MIN_ADVANTAGE_FEET = 0.5
"""How much nearer than the wall of any other such room the door must be."""
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
    for reach_feet in EXTENSION_STEPS_FEET:
        opening = fit_frame(floor, frame, reach_feet, door)
        if opening is not None and set(opening.piece_indexes) == {edge.piece, edge.neighbour}:
            return replace(opening, origin=DoorOrigin.REPAIRED, confidence=MOVED_CONFIDENCE)
    return None


def moved_door_issue(floor: FloorSurface, door: Door, opening: Opening) -> PlanIssue:
    """Return the issue of a door that was moved into a wall."""
    feet = door.geometry.centroid.distance(opening.shape.centroid)
    one, other = map(floor.describe_piece, opening.piece_indexes)
    message = (
        f"stands in no wall; moved by {feet:.1f} ft to join {one} and {other}, as the room has no "
        "other door: draw it in the wall"
    )
    return PlanIssue(IssueKind.DOOR_MOVED, door.id, message, door.level_id)
