"""Describe floor that no door joins with the rest of its level, where the two are nearest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import shapely
from shapely import LineString, Point, STRtree

from routing.diagnosis.doors import MISFITS, NEAR_ROOM_FEET
from routing.diagnosis.names import PlanNames, join_names
from routing.diagnosis.survey import NONE, LevelSurvey, Survey
from routing.issues import IssueKind, PlanIssue, point_in

MIN_GAP_FEET = 0.15
"""A narrower gap is the wall that processing puts around each room."""
NEAR_GAP_FEET = 8.0
"""Floor this near may be joined before floor that is nearer to the rest."""
THICK_WALL_FEET = 1.5
"""The rest is joined directly through a wall of this thickness."""

NEAR_FEET = dict.fromkeys(MISFITS, NEAR_ROOM_FEET) | {IssueKind.GAP_TOO_NARROW: 0.1}
"""How near to both parts of the floor what would join them is: a door in no wall, or a gap."""

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
