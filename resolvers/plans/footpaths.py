"""Turn footways that are drawn as lines into floor, with branches to what lies beside them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from shapely import MultiPolygon, Point, Polygon
from shapely.geometry.base import BaseGeometry

from parsing.drawing import Feature, NoteCollector
from resolvers.plans.shapes import PlanGeometry, ShapeIndex
from resolvers.plans.tag_classification import is_footpath, is_outdoors, parse_width_feet
from routing.plan import Space, SpaceKind

DEFAULT_FOOTPATH_FEET: Final = 5.0
"""Width of a footway that is drawn as a line and has no width tag."""
BRANCH_FEET: Final = 3.0
"""Width of a branch: that of a door."""
MAX_BRANCH_FEET: Final = 30.0
"""Halls around line-drawn footways are rarely wider; what lies farther away has its own
way."""


MAX_TOUCH_FEET: Final = 1.0
"""What lies this near to open floor needs no branch."""


class PlacedPoint(NamedTuple):
    """A door or point of interest that a footway may lead to."""

    id: str
    level: str
    point: Point


def iter_footpaths(
    drawn: Iterable[tuple[Feature, PlanGeometry]],
    open_levels: set[str],
    outlines: Mapping[str, BaseGeometry],
) -> Iterator[Space]:
    """Buffer line-drawn footways to their width.

    Skip levels with an outline and no drawn corridors: there, all of the outline outside the rooms
    is walkable already.
    """
    for feature, shape in drawn:
        (level, *_) = feature.levels
        if not is_footpath(feature) or (level in outlines and level not in open_levels):
            continue
        half_feet = (parse_width_feet(feature.tags) or DEFAULT_FOOTPATH_FEET) / 2
        strip = shape.buffer(half_feet, cap_style="flat", join_style="mitre")
        if isinstance(strip, Polygon | MultiPolygon) and not strip.is_empty:
            name, outdoors = feature.tags.get("name", ""), is_outdoors(feature.tags)
            yield Space(feature.id, level, strip, SpaceKind.AREA, name, is_outdoors=outdoors)


def iter_branches(
    points: Iterable[PlacedPoint],
    footpaths: Mapping[str, ShapeIndex],
    open_floor: Mapping[str, ShapeIndex],
    obstacles: Sequence[Mapping[str, ShapeIndex]],
    notes: NoteCollector,
) -> Iterator[Space]:
    """Yield a straight branch from a footway to each point beside it that no open floor reaches.

    A footway drawn as a line stands for the hall around it, which is not drawn. `obstacles` are the
    rooms and barriers that a branch must not cross.
    """
    for id_, level, point in points:
        if level not in footpaths or open_floor[level].distance_to(point) <= MAX_TOUCH_FEET:
            continue
        line = footpaths[level].shortest_line_to(point)
        is_blocked = any(index[level].overlaps(line) for index in obstacles if level in index)
        if line.length <= MAX_BRANCH_FEET and not is_blocked:
            notes.add("joined by a straight line to the footway beside it", id_)
            strip = line.buffer(BRANCH_FEET / 2, cap_style="square")
            yield Space(f"branch:{id_}", level, strip, SpaceKind.AREA)
