"""Explain rooms without a door and doors in no wall by each other, and floor that no door joins.

Floor that is cut off is described where it is nearest to the rest of its level.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import shapely
from shapely import LineString, Point, STRtree

from routing.diagnosis.names import PlanNames, join_names
from routing.diagnosis.survey import NONE, LevelSurvey, Survey
from routing.issues import IssueKind, PlanIssue, point_in
from routing.plan import Door, Plan, Space
from routing.space.doors import MAX_EXTENSION_FEET, DoorOrigin
from routing.space.walkable import WalkableLevel, group_by_level

NEAR_ROOM_FEET = 6.0
"""A door in no wall that is this near to a room without a door was probably meant for it."""
OUTSIDE_FEET = 6.0
"""A door with one space, and no other within this distance, leads outside."""
NEAR_FLOOR_FEET = 30.0
MIN_LOCKED_DOORS = 2
"""A level with fewer doors is not reported because all of them are locked."""
MISFITS = (IssueKind.DOOR_NOT_NEEDED, IssueKind.DOOR_JOINS_NOTHING)

Key = tuple[str | None, str]
"""Id of a level, and of a part on it."""


def explain_doors(
    plan: Plan, walkable: Sequence[WalkableLevel], issues: Sequence[PlanIssue], names: PlanNames
) -> list[PlanIssue]:
    """Return problems with those that follow from another folded into it.

    If a room has no door because its door is locked, or stands beside its wall, that is one.
    """
    levels = {built.level.id: built for built in walkable}
    doors = {(door.level_id, door.id): door for door in plan.doors}
    keys = {(i.level_id, i.part) for i in issues if i.kind is IssueKind.ROOM_ENCLOSED}
    rooms = {
        (room.level_id, room.id): room
        for built in walkable
        for room in built.floor.rooms
        if (room.level_id, room.id) in keys
    }
    misfits = [doors[i.level_id or "", i.part] for i in issues if i.kind in MISFITS]
    locked = [door for door in plan.doors if door.is_locked]
    room_of_misfit = match_rooms(misfits, rooms, NEAR_ROOM_FEET)
    room_of_locked = match_rooms(locked, rooms, MAX_EXTENSION_FEET)
    beside = {room: doors[door] for door, room in room_of_misfit.items()}
    locks = {room: doors[door] for door, room in room_of_locked.items()}
    explained: list[PlanIssue] = []
    for issue in issues:
        key = issue.level_id or "", issue.part
        if issue.kind is IssueKind.ROOM_ENCLOSED:
            explained.append(
                explain_room(
                    issue, rooms[key], levels[key[0]], locks.get(key), beside.get(key), names
                )
            )
        elif issue.kind not in MISFITS:
            explained.append(issue)
        elif key not in room_of_misfit:
            explained.append(explain_misfit(issue, doors[key], levels[key[0]], names))
    return [*explained, *find_locked_levels(plan, walkable, explained, names)]


def match_rooms(
    doors: Iterable[Door], rooms: Mapping[tuple[str, str], Space], within_feet: float
) -> dict[tuple[str, str], tuple[str, str]]:
    """Return the nearest room of each door that has one within a distance; keys of both."""
    by_level: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for key in rooms:
        by_level[key[0]].append(key)
    trees = {
        level_id: STRtree([rooms[key].polygon for key in keys])
        for level_id, keys in by_level.items()
    }
    matched: dict[tuple[str, str], tuple[str, str]] = {}
    for door in doors:
        if door.level_id in trees and not door.geometry.is_empty:
            tree = trees[door.level_id]
            near = tree.query_nearest(
                door.geometry, max_distance=within_feet, all_matches=False
            ).tolist()
            for index in near:
                matched[door.level_id, door.id] = by_level[door.level_id][index]
    return matched


def explain_room(
    issue: PlanIssue,
    room: Space,
    level: WalkableLevel,
    lock: Door | None,
    beside: Door | None,
    names: PlanNames,
) -> PlanIssue:
    """Return the problem of a room without a door, with the door that was meant for it."""
    label = f"room {names.place(room.id)}"
    if lock is not None:
        message = f"the door {names.place(lock.id)} of {label} is locked, and it has no other"
        at = point_in(lock.geometry)
        return replace(issue, kind=IssueKind.DOORS_LOCKED, message=message, at=at)
    if beside is not None:
        message = f"{label} has no door; {describe_place(beside, room, level, names)}"
        return replace(issue, message=message, at=point_in(beside.geometry))
    return replace(issue, message=f"{label} has no door", at=point_in(room.polygon))


def describe_place(door: Door, room: Space, level: WalkableLevel, names: PlanNames) -> str:
    """Return where a door stands that was meant for a room but joins it with nothing."""
    feet = room.polygon.boundary.distance(door.geometry)
    if feet > MAX_EXTENSION_FEET:
        return f"door {names.place(door.id)} is {feet:.1f} ft from its wall"
    pieces = level.floor.pieces_within(door.geometry, NEAR_FLOOR_FEET)
    others = [level.floor.pieces[index] for index in pieces]
    gaps = [each.polygon.distance(door.geometry) for each in others if each.room_id != room.id]
    behind = f"other floor is {min(gaps):.1f} ft away" if gaps else "no other floor is near"
    return f"door {names.place(door.id)} is at its wall, but {behind}"


def explain_misfit(
    issue: PlanIssue, door: Door, level: WalkableLevel, names: PlanNames
) -> PlanIssue:
    """Return the problem of a door in no wall; one to the outside has a kind of its own."""
    label = f"door {names.place(door.id)}"
    if door.geometry.is_empty:
        return replace(issue, message=f"{label} {issue.message}")
    pieces = [
        level.floor.pieces[index]
        for index in level.floor.pieces_within(door.geometry, OUTSIDE_FEET)
    ]
    rooms = [piece.room_id for piece in pieces]
    spaces = ["open floor" if room is None else f"room {names.feature(room)}" for room in rooms]
    gaps = [piece.polygon.distance(door.geometry) for piece in pieces]
    kind = issue.kind
    if not pieces:
        message = f"{label} stands where no floor is drawn within {OUTSIDE_FEET:g} ft"
    elif kind is IssueKind.DOOR_NOT_NEEDED:
        message = f"{label} stands within {spaces[gaps.index(min(gaps))]}, in no wall"
    elif len(pieces) == 1:
        kind = IssueKind.DOOR_TO_OUTSIDE
        message = f"{label} leads out of {spaces[0]} to where no floor is drawn"
    else:
        beside = [f"{space} ({gap:.1f} ft away)" for space, gap in zip(spaces, gaps, strict=True)]
        message = f"{label} fits into no wall between {join_names(beside)}"
    return replace(issue, kind=kind, message=message, at=point_in(door.geometry))


def find_locked_levels(
    plan: Plan, walkable: Sequence[WalkableLevel], issues: Sequence[PlanIssue], names: PlanNames
) -> Iterator[PlanIssue]:
    """Yield a problem for each level whose doors are all locked, unless its rooms are reported."""
    reported = {issue.level_id for issue in issues if issue.kind is IssueKind.DOORS_LOCKED}
    by_level = group_by_level(plan.doors)
    for built in walkable:
        level_id = built.level.id
        doors = by_level[level_id]
        if len(doors) < MIN_LOCKED_DOORS or level_id in reported:
            continue
        if all(door.is_locked for door in doors):
            message = f"all {len(doors)} doors of {names.level(level_id)} are locked"
            if guessed := built.count_openings(DoorOrigin.INFERRED):
                message += f"; {guessed} others were guessed"
            at = point_in(doors[0].geometry)
            yield PlanIssue(IssueKind.DOORS_LOCKED, level_id, message, level_id, at)


def state_locked_doors(plan: Plan) -> str:
    """Return how many of a plan's doors are locked."""
    locked = sum(door.is_locked for door in plan.doors)
    return f"{locked} of {len(plan.doors)} doors {'is' if locked == 1 else 'are'} locked"


MIN_GAP_FEET = 0.15
"""A narrower gap is the wall that processing puts around each room."""
NEAR_GAP_FEET = 8.0
"""Floor this near may be joined before floor that is nearer to the rest."""
THICK_WALL_FEET = 1.5
"""The rest is joined directly through a wall of this thickness."""

NEAR_FEET = dict.fromkeys(MISFITS, NEAR_ROOM_FEET) | {IssueKind.GAP_TOO_NARROW: 0.1}
"""A door in no wall, or a gap, would join two parts of the floor if it is so near to both."""

Misfits: TypeAlias = Mapping[str | None, tuple[STRtree, list[PlanIssue]]]
"""The doors in no wall, and the gaps that were closed, of each level, and their positions."""


def describe_cut_off(survey: Survey, component: int, names: PlanNames) -> PlanIssue:
    """Return the problem of a part of the floor that nothing joins with its level's home."""
    here = find_level(survey, component)
    largest = max(here.pieces_of[component], key=lambda i: here.built.floor.pieces[i].polygon.area)
    piece = here.built.floor.pieces[largest]
    floor, at = describe_floor(here, component, names), point_in(piece.polygon)
    kind = IssueKind.FLOOR_CUT_OFF
    part, message = piece.room_id or here.id, f"no door joins {floor} with the rest"
    if component in survey.private_ways:
        part, place = survey.private_ways[component]
        at = point_in(place)
        kind = IssueKind.ONLY_PRIVATE_WAY
        message = f"only the private room {names.place(part)} leads to {floor}"
    return PlanIssue(
        kind,
        part,
        message,
        here.id,
        at,
        survey.locations_of[component],
    )


def find_level(survey: Survey, component: int) -> LevelSurvey:
    """Return a level where a component should be joined to another; if possible, the main one."""
    levels = [survey.levels[index] for index in survey.levels_of[component]]
    away = [level for level in levels if level.home != component] or levels
    return max(away, key=lambda level: level.home == survey.main)


def group_misfits(issues: Sequence[PlanIssue]) -> Misfits:
    """Return the doors in no wall, and closed gaps, by level, with a tree of their positions."""
    levels: dict[str | None, list[PlanIssue]] = defaultdict(list)
    for issue in issues:
        if issue.kind in NEAR_FEET and issue.at is not None:
            levels[issue.level_id].append(issue)
    return {
        level_id: (STRtree([Point(door.at) for door in doors if door.at is not None]), doors)
        for level_id, doors in levels.items()
    }


def measure_cut_off(
    survey: Survey, component: int, issue: PlanIssue, misfits: Misfits, names: PlanNames
) -> tuple[PlanIssue, list[PlanIssue]]:
    """Return the problem of a part of the floor, and doors and closed gaps beside it and the rest.

    Such a door was meant to join them: its own problem becomes part of this. Without any, the
    problem is where the rest is nearest.
    """
    here = find_level(survey, component)
    tree, doors = misfits.get(here.id, (STRtree([]), []))
    own = shapely.MultiPolygon(here.polygons_of(component))
    meant = [
        doors[index]
        for index in sorted(tree.query(own, predicate="dwithin", distance=NEAR_ROOM_FEET))
        for point, feet in [(tree.geometries[index], NEAR_FEET[doors[index].kind])]
        if own.dwithin(point, feet) and len(here.home_tree.query(point, "dwithin", feet))
    ]
    if meant:
        hints = "; ".join(door.message for door in meant)
        return replace(issue, message=f"{issue.message}: {hints}", at=meant[0].at), meant
    line, other = find_gap(survey, here, component)
    gap = f"{line.length:.1f} ft away" if line.length > MIN_GAP_FEET else "right behind the wall"
    nearest = f"the rest is {gap}"
    if other != here.home:
        nearest = f"{describe_floor(here, other, names)} is {gap}, cut off as well"
    middle = line.interpolate(0.5, normalized=True)
    return replace(issue, message=f"{issue.message}; here, {nearest}", at=(middle.x, middle.y)), []


def describe_floor(level: LevelSurvey, component: int, names: PlanNames) -> str:
    """Return what a component consists of on a level: a room, or several and open floor."""
    rooms = level.rooms_of(component)
    named = [room for room in rooms if room is not None]
    labels = sorted(map(names.feature, named))
    area = sum(polygon.area for polygon in level.polygons_of(component))
    if len(rooms) == len(named) == 1:
        [room] = named
        label = f"room {names.place(room)}"
        is_whole = len(level.room_components[room]) == 1
        return label if is_whole else f"a part of {label} of {area:,.0f} ft²"
    part = f"a part of {names.level(level.id)} of {area:,.0f} ft²"
    if labels:
        part += f" with {'rooms' if len(labels) > 1 else 'room'} {join_names(labels)}"
    return part


def find_gap(survey: Survey, level: LevelSurvey, component: int) -> tuple[LineString, int]:
    """Return the shortest line from a component to the next one on the way home, and that one.

    It is the home if only a wall is between. Else it is what lies on the shortest line to the home,
    or has locations, is within NEAR_GAP_FEET and nearer to the home: the nearest of all these.
    """
    own = shapely.MultiPolygon(level.polygons_of(component))
    [nearest] = level.home_tree.query_nearest(own, all_matches=False).tolist()
    line = shapely.shortest_line(own, level.home_tree.geometries[nearest])
    if line.length <= THICK_WALL_FEET:
        return line, level.home
    floor, labels = level.built.floor, level.piece_components.tolist()
    on_line = floor.pieces_within(line)
    near = [i for i in floor.pieces_within(own, NEAR_GAP_FEET) if survey.locations_of[labels[i]]]
    others = [
        index
        for index in {*on_line, *near}
        if labels[index] not in (component, level.home, NONE)
        and level.home_feet[labels[index]] < line.length
    ]
    if not others:
        return line, level.home
    feet = shapely.distance([floor.polygons[index] for index in others], own)
    other = others[int(np.argmin(feet))]
    return shapely.shortest_line(own, floor.polygons[other]), labels[other]
