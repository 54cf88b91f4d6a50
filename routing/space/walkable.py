"""The walkable area of each level and travel mode: pieces of floor joined by passable doors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeVar

import numpy as np
import shapely
from shapely import MultiPolygon, Point, Polygon, STRtree
from shapely.geometry.base import BaseGeometry

from routing.costing import Costing, TravelMode
from routing.diagnosis.names import name_parts
from routing.issues import IssueKind, PlanIssue, point_in
from routing.plan import Barrier, Connector, Door, Level, Plan, Polygonal, Space
from routing.space.door_inference import RoomDoors, infer_doors, joined_rooms, move_doors
from routing.space.doors import MAX_EXTENSION_FEET, DoorOrigin, Opening, fit_doors
from routing.space.floor import FloorSurface, build_floor
from routing.space.plan_repair import extract_polygons, make_valid, to_polygonal
from routing.values import FEET_PER_METRE

OnLevel = TypeVar("OnLevel", Space, Barrier, Door)
WIDTH_TOLERANCE_FEET = 0.002
"""Widths are converted from metres with two decimals, which rounds them."""

MIN_WAY_FEET = 0.80 * FEET_PER_METRE
"""Wheelchairs need so much beside steps, as they do of doors (`Costing.wheelchair_door_feet`)."""
CORRIDOR_STEPS_FEET, HALL_STEPS_FEET = 30.0, 5.0
"""Steps that are drawn as a line fill a corridor up to this width; in a hall, they have that."""
HAIRLINE_FEET = 1e-4
"""Much more than rounding and than the tolerance of sight, and too little to matter."""
NEAR_FEET = 1.5 * HAIRLINE_FEET
"""Parts of the floor, each without its outermost hairline, touch if they are nearer than twice."""

MAX_ONE_WAY_DOORS = 600
"""A map has at most so many, as a table has the fastest paths between all of them."""


@dataclass(frozen=True)
class WalkableLevel:
    """The floor of one level, all openings in its walls, steps that stop wheelchairs, and private
    floor by region.
    """

    floor: FloorSurface
    openings: tuple[Opening, ...]
    steps: Polygonal = MultiPolygon()
    private: tuple[Polygonal, ...] = ()

    @property
    def level(self) -> Level:
        return self.floor.level

    def passable_openings(self, mode: TravelMode, costing: Costing) -> tuple[Opening, ...]:
        """Return the openings that are wide enough for `mode`."""
        if mode is TravelMode.FOOT:
            return self.openings
        min_feet = costing.wheelchair_door_feet - WIDTH_TOLERANCE_FEET
        return tuple(
            opening
            for opening in self.openings
            if opening.wheelchair and opening.width_feet >= min_feet
        )

    def are_all_passable(self, mode: TravelMode, costing: Costing) -> bool:
        """Return whether `mode` passes all openings, and steps."""
        has_steps = mode is TravelMode.WHEELCHAIR and not self.steps.is_empty
        return not has_steps and len(self.passable_openings(mode, costing)) == len(self.openings)

    def walkable_area(
        self, openings: Iterable[Opening], mode: TravelMode = TravelMode.FOOT
    ) -> Polygonal:
        """Return the union of the floor pieces and `openings`, for wheelchairs without steps."""
        shapes = [opening.shape for opening in openings]
        area = shapely.union_all([*self.floor.polygons, *shapes])
        if mode is TravelMode.WHEELCHAIR and not self.steps.is_empty:
            area = area.difference(self.steps)
            # Steps are drawn inexactly: what is narrow beside them is no way around.
            wide = _grow(_grow(area, -MIN_WAY_FEET / 2), MIN_WAY_FEET / 2)
            area = area.difference(_grow(self.steps, MIN_WAY_FEET).difference(wide))
        return remove_hairlines(area)

    def count_openings(self, origin: DoorOrigin) -> int:
        """Return the number of openings of one origin."""
        return sum(opening.origin is origin for opening in self.openings)


def build_walkable_levels(plan: Plan) -> tuple[list[WalkableLevel], list[PlanIssue]]:
    """Return a walkable level for each level of a repaired plan, in order, and the issues found."""
    spaces = group_by_level(plan.spaces)
    barriers = group_by_level(plan.barriers)
    doors = group_by_level(plan.doors)
    names = name_parts(plan).features
    walkable: list[WalkableLevel] = []
    issues: list[PlanIssue] = []
    for level in plan.levels:
        floor, floor_issues = build_floor(level, spaces[level.id], barriers[level.id], names)
        drawn, misfits, corner_issues = fit_doors(floor, doors[level.id])
        rooms = describe_rooms(plan, floor, doors[level.id], misfits)
        moved, door_issues = move_doors(floor, misfits, joined_rooms(floor, drawn) | rooms.locked)
        # A door that is drawn in a gap opens it.
        opened = shapely.union_all([opening.shape for opening in (*drawn, *moved)])
        floor_issues = [issue for issue in floor_issues if not is_opened(issue, opened)]
        inferred, room_issues = infer_doors(floor, [*drawn, *moved], rooms)
        openings = (*drawn, *moved, *inferred)
        walkable.append(WalkableLevel(floor, openings, find_steps(plan, floor)))
        issues += chain(floor_issues, corner_issues, door_issues, room_issues)
    return limit_one_way_doors(walkable, issues), issues


def is_opened(issue: PlanIssue, openings: BaseGeometry) -> bool:
    """Return whether an issue is a gap that one of the openings is in."""
    if issue.kind is not IssueKind.GAP_TOO_NARROW or issue.at is None:
        return False
    return bool(openings.intersects(Point(issue.at)))


def limit_one_way_doors(
    walkable: Iterable[WalkableLevel], issues: list[PlanIssue]
) -> list[WalkableLevel]:
    """Return levels in which no more doors are one-way than may be; the others are added to issues.

    Those are passed both ways.
    """
    left = MAX_ONE_WAY_DOORS
    limited = []
    for level in walkable:
        openings = []
        for opening in level.openings:
            if opening.one_way is not None:
                left -= 1
                if left < 0:
                    message = (
                        f"door {opening.door_id!r} is passed both ways, as {MAX_ONE_WAY_DOORS} "
                        "others are one-way"
                    )
                    at, kind = point_in(opening.shape), IssueKind.DOOR_NOT_ONE_WAY
                    key = level.level.id
                    issues.append(PlanIssue(kind, opening.door_id, message, key, at))
                    opening = replace(opening, one_way=None)
            openings.append(opening)
        limited.append(replace(level, openings=tuple(openings)))
    return limited


def remove_hairlines(area: BaseGeometry) -> Polygonal:
    """Return an area without walls or passages thinner than twice HAIRLINE_FEET.

    Where shapes meet, rounding leaves such: lines of sight, which may cut a millionth of a foot
    into walls, would pass through them in one place and not in the next. Floor that touches only
    in a point, which is no passage, is apart in the result.
    """
    closed = _grow(_grow(area, HAIRLINE_FEET), -HAIRLINE_FEET)
    parts = np.array(extract_polygons(_grow(closed, -HAIRLINE_FEET)), dtype=object)
    parts, near = (
        shapely.buffer(parts, feet, join_style="mitre") for feet in (HAIRLINE_FEET, NEAR_FEET)
    )
    one, other = STRtree(near).query(near, "intersects")
    touching = shapely.intersection(near[one[one < other]], near[other[one < other]])
    apart = shapely.union_all(parts).difference(shapely.union_all(touching))
    return to_polygonal(extract_polygons(apart))


def _grow(area: BaseGeometry, feet: float) -> BaseGeometry:
    return area.buffer(feet, join_style="mitre")


def group_by_level(features: Iterable[OnLevel]) -> dict[str, list[OnLevel]]:
    """Return features by level id, in their order."""
    groups: dict[str, list[OnLevel]] = defaultdict(list)
    for feature in features:
        groups[feature.level_id].append(feature)
    return groups


def describe_rooms(
    plan: Plan, floor: FloorSurface, doors: Iterable[Door], misfits: Iterable[Door]
) -> RoomDoors:
    """Return which rooms need no inferred door."""
    locked = [replace(door, is_locked=False) for door in doors if door.is_locked]
    behind_locked, _, _ = fit_doors(floor, locked)
    landings = list_landings(plan, floor)
    return RoomDoors(
        locked=frozenset(joined_rooms(floor, behind_locked)),
        closed=frozenset(room.id for room in floor.rooms if not room.needs_door),
        shafts=frozenset(room for i in landings if (room := floor.pieces[i].room_id) is not None),
        landings=landings,
        exits=frozenset(
            room
            for door in misfits
            for index in floor.pieces_within(door.geometry, MAX_EXTENSION_FEET)
            if (room := floor.pieces[index].room_id) is not None
        ),
    )


def find_steps(plan: Plan, floor: FloorSurface) -> Polygonal:
    """Return the steps from one part of a floor to another, but not those that wheelchairs take."""
    steps = [
        shape if isinstance(shape, Polygon | MultiPolygon) else widen_steps(connector, shape, floor)
        for connector in plan.connectors
        if connector.has_steps and not connector.wheelchair
        for level_id, shape in connector.entrances.items()
        if level_id == floor.level.id and len(connector.entrances) == 1
    ]
    return to_polygonal(extract_polygons(shapely.union_all([make_valid(each) for each in steps])))


def widen_steps(connector: Connector, line: BaseGeometry, floor: FloorSurface) -> BaseGeometry:
    """Return steps that are drawn as a line as wide as they say, else as the corridor around."""

    def widen(feet: float) -> BaseGeometry:
        return line.buffer(feet / 2, cap_style="flat", join_style="mitre")

    pieces = [floor.polygons[index] for index in floor.pieces_within(line)]
    around = shapely.union_all(pieces).intersection(widen(2 * CORRIDOR_STEPS_FEET))
    parts = shapely.get_parts(around)
    corridor = shapely.union_all(parts[shapely.intersects(parts, line)])
    if connector.width_feet or corridor.area > CORRIDOR_STEPS_FEET * line.length:
        return widen(connector.width_feet or HALL_STEPS_FEET)
    return corridor


def list_landings(plan: Plan, floor: FloorSurface) -> frozenset[int]:
    """Return the pieces on which a connector of several levels ends."""
    level_id = floor.level.id
    entrances = [c.entrances[level_id] for c in plan.connectors if level_id in c.entrances]
    points = [entrance.representative_point() for entrance in entrances]
    if not points or not floor.pieces:
        return frozenset()
    _, landings = floor.piece_tree.query(np.array(points), predicate="covered_by")
    return frozenset(landings.tolist())
