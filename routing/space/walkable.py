"""The walkable space of each level in each mode: pieces of floor joined by the doors between."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

import numpy as np
import shapely

from routing.costing import Costing, TravelMode
from routing.issues import PlanIssue
from routing.plan import Barrier, Door, Level, Plan, Polygonal, Space
from routing.space.door_inference import infer_doors
from routing.space.doors import DoorOrigin, Opening, fit_doors
from routing.space.floor import FloorSurface, build_floor
from routing.space.plan_repair import extract_polygons, to_polygonal

OnLevel = TypeVar("OnLevel", Space, Barrier, Door)
WIDTH_TOLERANCE_FEET = 0.002
"""Widths come from metres with two decimals."""


@dataclass(frozen=True)
class WalkableLevel:
    floor: FloorSurface
    openings: tuple[Opening, ...]

    @property
    def level(self) -> Level:
        return self.floor.level

    def passable_openings(self, mode: TravelMode, costing: Costing) -> tuple[Opening, ...]:
        """The openings that somebody travelling in `mode` fits through."""
        if mode is TravelMode.FOOT:
            return self.openings
        least_feet = costing.wheelchair_door_feet - WIDTH_TOLERANCE_FEET
        return tuple(
            opening
            for opening in self.openings
            if opening.wheelchair and opening.width_feet >= least_feet
        )

    def are_all_passable(self, mode: TravelMode, costing: Costing) -> bool:
        """Whether `mode` passes all openings, as feet do."""
        return len(self.passable_openings(mode, costing)) == len(self.openings)

    def walkable_area(self, openings: Iterable[Opening]) -> Polygonal:
        """The pieces of floor and the given openings as one area."""
        shapes = [opening.shape for opening in openings]
        return to_polygonal(extract_polygons(shapely.union_all([*self.floor.polygons, *shapes])))

    def count_openings(self, origin: DoorOrigin) -> int:
        return sum(opening.origin is origin for opening in self.openings)


def build_walkable_levels(plan: Plan) -> tuple[list[WalkableLevel], list[PlanIssue]]:
    """One walkable level for each level of a sound plan, in the plan's order."""
    spaces, barriers, doors = (
        group_by_level(plan.spaces),
        group_by_level(plan.barriers),
        group_by_level(plan.doors),
    )
    built: list[WalkableLevel] = []
    problems: list[PlanIssue] = []
    for level in plan.levels:
        floor, at_floor = build_floor(level, spaces[level.id], barriers[level.id])
        drawn, at_doors = fit_doors(floor, doors[level.id])
        inferred, at_rooms = infer_doors(floor, drawn, list_shaft_rooms(plan, floor))
        built.append(WalkableLevel(floor, (*drawn, *inferred)))
        problems += chain(at_floor, at_doors, at_rooms)
    return built, problems


def group_by_level(parts: Iterable[OnLevel]) -> dict[str, list[OnLevel]]:
    grouped: dict[str, list[OnLevel]] = defaultdict(list)
    for part in parts:
        grouped[part.level_id].append(part)
    return grouped


def list_shaft_rooms(plan: Plan, floor: FloorSurface) -> list[str]:
    """The rooms in which a connector is entered: those that hold the middle of its place."""
    level_id = floor.level.id
    places = [c.entrances[level_id] for c in plan.connectors if level_id in c.entrances]
    middles = [place.representative_point() for place in places]
    if not middles or not floor.rooms:
        return []
    rooms = shapely.STRtree([room.polygon for room in floor.rooms])
    _, holding = rooms.query(np.array(middles), predicate="covered_by")
    return sorted({floor.rooms[index].id for index in holding})
