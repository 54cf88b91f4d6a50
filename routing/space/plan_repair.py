"""Validate a plan and repair its geometry, with an issue for each repair."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import shapely
from shapely import MultiPolygon, Polygon, STRtree
from shapely.geometry.base import BaseGeometry

from routing.errors import PlanError
from routing.issues import IssueKind, PlanIssue, point_in
from routing.plan import Level, Plan, Polygonal, Space, SpaceKind

MIN_AREA_SQUARE_FEET = 0.1
MIN_OVERLAP_SQUARE_FEET = 2.0
MIN_OVERLAP_SHARE = 0.01
"""Rooms may overlap by the larger of these two, the second a share of the smaller room, without an
issue: drawing by hand is as inexact."""
MAX_NEIGHBOURS = 500_000
"""Pairs of rooms of one level whose bounding boxes meet: five times as many as there may be rooms,
while rooms side by side have about three each."""
PLAUSIBLE_SIZE_FEET = (10.0, 30_000.0)
"""Plans are between a single room and an airport."""


def repair_plan(plan: Plan) -> tuple[Plan, list[PlanIssue]]:
    """Return the plan with valid geometry, and the issues found in it.

    Raises PlanError for a plan without levels, a repeated id, an unknown level, or a coordinate
    that is not finite.

    >>> bow_tie = Polygon([(0, 0), (20, 20), (20, 0), (0, 20)])
    >>> plan, issues = repair_plan(Plan((Level("0", 0),), (Space("a", "0", bow_tie),)))
    >>> plan.spaces[0].polygon.area, [issue.kind.value for issue in issues]
    (200.0, ['self-crossing'])
    """
    check_consistency(plan)
    issues = list(find_duplicate_names(plan.levels))
    spaces = tuple(repair_spaces(plan.spaces, issues))
    issues += find_implausible_scale(spaces)
    issues += find_overlaps(spaces)
    levels = tuple(replace(level, outline=repair_outline(level.outline)) for level in plan.levels)
    return replace(plan, levels=levels, spaces=spaces), issues


def check_consistency(plan: Plan) -> None:
    """Raise PlanError if the plan contradicts itself."""
    if not plan.levels:
        raise PlanError("The plan has no levels; give it at least one.")
    level_ids = [level.id for level in plan.levels]
    check_unique_ids("level", level_ids)
    check_unique_ids("location", [location.id for location in plan.locations])
    check_unique_ids("connector", [connector.id for connector in plan.connectors])
    for level in plan.levels:
        check_finite(f"level {level.id!r}", np.array([level.ordinal]))
    for kind, part, level_id, geometry in iter_parts(plan):
        name = f"{kind} {part!r}"
        if level_id not in level_ids:
            raise PlanError(
                f"{name} is on level {level_id!r}, which the plan does not have; "
                f"it has {', '.join(map(repr, level_ids))}."
            )
        check_finite(name, shapely.get_coordinates(geometry))


def iter_parts(plan: Plan) -> Iterator[tuple[str, str, str, BaseGeometry]]:
    """Yield the kind, the id, the level id and the geometry of everything on a level."""
    for space in plan.spaces:
        yield "space", space.id, space.level_id, space.polygon
    for barrier in plan.barriers:
        yield "barrier", barrier.id, barrier.level_id, barrier.geometry
    for door in plan.doors:
        yield "door", door.id, door.level_id, door.geometry
    for connector in plan.connectors:
        for level_id, entrance in connector.entrances.items():
            yield "connector", connector.id, level_id, entrance
    for location in plan.locations:
        yield "location", location.id, location.level_id, shapely.Point(location.x, location.y)


def check_unique_ids(what: str, ids: list[str]) -> None:
    """Raise PlanError if an id occurs twice."""
    for repeated, times in Counter(ids).items():
        if times > 1:
            raise PlanError(f"{times} {what}s have the id {repeated!r}; ids must be unique.")


def check_finite(name: str, numbers: np.ndarray) -> None:
    """Raise PlanError if a coordinate is NaN or infinite."""
    if not np.isfinite(numbers).all():
        raise PlanError(f"{name} has a coordinate that is not a finite number; give it in feet.")


def find_duplicate_names(levels: Iterable[Level]) -> Iterator[PlanIssue]:
    """Yield an issue for each level named like an earlier one."""
    first: dict[str, Level] = {}
    for level in levels:
        if not level.name:
            continue
        other = first.setdefault(level.name, level)
        if other is not level:
            message = f"levels {other.id!r} and {level.id!r} are both named {level.name!r}"
            yield PlanIssue(IssueKind.DUPLICATE_LEVEL_NAME, level.id, message, level.id)


def repair_spaces(spaces: Iterable[Space], issues: list[PlanIssue]) -> Iterator[Space]:
    """Yield the spaces that have an area, with valid outlines; add to `issues`."""
    for space in spaces:
        if not space.polygon.is_valid:
            reason = shapely.is_valid_reason(space.polygon)
            message = f"outline of {describe_space(space)} crosses itself ({reason}); repaired"
            at = find_crossing(reason)
            issues.append(PlanIssue(IssueKind.SELF_CROSSING, space.id, message, space.level_id, at))
        polygon = make_valid(space.polygon)
        if polygon.area < MIN_AREA_SQUARE_FEET:
            message = f"{describe_space(space)} has no area; left out"
            at = point_in(space.polygon)
            issues.append(PlanIssue(IssueKind.NO_AREA, space.id, message, space.level_id, at))
        else:
            yield replace(space, polygon=polygon)


def find_crossing(reason: str) -> tuple[float, float] | None:
    """Return the point that GEOS names in the reason why a geometry is invalid, if it does.

    >>> find_crossing("Self-intersection[10.5 1e2]")
    (10.5, 100.0)
    """
    found = re.search(r"\[(\S+) (\S+)\]", reason)
    return (float(found[1]), float(found[2])) if found else None


def repair_outline(outline: Polygonal | None) -> Polygonal | None:
    valid = None if outline is None else make_valid(outline)
    return None if valid is None or valid.is_empty else valid


def make_valid(geometry: BaseGeometry) -> Polygonal:
    """Return the polygons that `geometry` encloses; a self-crossing one may become several."""
    if not geometry.is_valid:
        # The default method, "linework", makes a hole of area that an outline encloses twice.
        geometry = shapely.make_valid(geometry, method="structure", keep_collapsed=False)
    return to_polygonal(extract_polygons(geometry))


def extract_polygons(geometry: BaseGeometry) -> list[Polygon]:
    """Return the polygons among the parts of `geometry`."""
    # Twice: a GeometryCollection may hold MultiPolygons.
    parts = shapely.get_parts(shapely.get_parts(geometry))
    return [part for part in parts if isinstance(part, Polygon) and not part.is_empty]


def to_polygonal(polygons: list[Polygon]) -> Polygonal:
    """Return a single polygon as it is, and any other number as a MultiPolygon."""
    return polygons[0] if len(polygons) == 1 else MultiPolygon(polygons)


def find_implausible_scale(spaces: tuple[Space, ...]) -> Iterator[PlanIssue]:
    """Yield an issue if the plan is too small or too large for a building."""
    if not spaces:
        return
    bounds = shapely.total_bounds([space.polygon for space in spaces])
    left, top, right, bottom = bounds.tolist()
    size_feet = max(right - left, bottom - top)
    if not PLAUSIBLE_SIZE_FEET[0] <= size_feet <= PLAUSIBLE_SIZE_FEET[1]:
        message = f"the plan is {size_feet:,.1f} ft across: is its scale (feet per unit) right?"
        centre = ((left + right) / 2, (top + bottom) / 2)
        yield PlanIssue(IssueKind.IMPLAUSIBLE_SCALE, "plan", message, at=centre)


def find_overlaps(spaces: tuple[Space, ...]) -> Iterator[PlanIssue]:
    """Yield an issue for each pair of rooms that overlap, unless one is a room within the other.

    Raises PlanError if very many rooms are in one place.
    """
    for one, others in list(find_neighbours(spaces)):
        shared = shapely.intersection(one.polygon, [other.polygon for other in others])
        for other, part in zip(others, shared, strict=True):
            if part.area and (issue := describe_overlap(one, other, part)):
                yield issue


def find_neighbours(spaces: Iterable[Space]) -> Iterator[tuple[Space, list[Space]]]:
    """Yield each room with the later ones of its level whose bounding boxes meet its own.

    Raises PlanError if there are more than `MAX_NEIGHBOURS`.
    """
    rooms_by_level: defaultdict[str, list[Space]] = defaultdict(list)
    for space in spaces:
        if space.kind is SpaceKind.ROOM:
            rooms_by_level[space.level_id].append(space)
    count = 0
    for level_id, rooms in rooms_by_level.items():
        tree = STRtree([room.polygon for room in rooms])
        for index, room in enumerate(rooms):
            near = sorted(other for other in tree.query(room.polygon) if other > index)
            count += len(near)
            if count > MAX_NEIGHBOURS:
                raise PlanError(
                    f"Too many rooms of level {level_id!r} lie over one another, such as "
                    f"{describe_space(room)}; draw each room once."
                )
            yield room, [rooms[other] for other in near]


def describe_overlap(one: Space, other: Space, shared: BaseGeometry) -> PlanIssue | None:
    """Return the issue of two rooms that share a part, unless it is small or a room within one."""
    overlap = shared.area
    smaller, larger = sorted((one.polygon.area, other.polygon.area))
    # Two of about the same size in one place are likely one room drawn twice: reported.
    is_inside = overlap > 0.99 * smaller and smaller < 0.9 * larger
    if is_inside or overlap <= max(MIN_OVERLAP_SQUARE_FEET, MIN_OVERLAP_SHARE * smaller):
        return None
    message = (
        f"{describe_space(one)} and {describe_space(other)} overlap by {overlap:.0f} "
        "square feet; the smaller one keeps them"
    )
    return PlanIssue(IssueKind.OVERLAPPING_ROOMS, one.id, message, one.level_id, point_in(shared))


def describe_space(space: Space) -> str:
    """Return the name of a space for messages: `room 'r1' (Lobby)`."""
    return f"{space.kind.value} {space.id!r}" + (f" ({space.name})" if space.name else "")
