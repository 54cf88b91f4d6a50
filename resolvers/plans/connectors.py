"""Build connectors from the features that lead from level to level.

A lift is often drawn once on each level; those drawings become one connector.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import shapely
from shapely import LineString

from parsing.drawing import Feature, NoteCollector, Tags
from resolvers.plans.shapes import PlanGeometry, ShapeIndex, union_shapes
from resolvers.plans.tag_classification import (
    OUT_OF_SERVICE_MATCHERS,
    WHEELCHAIR_ACCESS,
    get_connector_kind,
    matches_any,
)
from routing.plan import Connector, ConnectorKind, Direction

MIN_STACKED_SHARE: Final = 0.5
"""Share of the smaller shape that must lie above the larger for the two to be one shaft."""


@dataclass(slots=True)
class DrawnConnector:
    """The features and shapes of one connector, by level."""

    kind: ConnectorKind
    features: list[Feature] = field(default_factory=list)
    shapes: dict[str, PlanGeometry] = field(default_factory=dict)
    direction: Direction | None = None

    @property
    def ref(self) -> str:
        return next((f.tags["ref"] for f in self.features if f.tags.get("ref")), "")


@dataclass(frozen=True, slots=True)
class LevelStack:
    """The ordinals of a plan's levels, and their walkable shapes."""

    ordinals: Mapping[str, float]
    walkable: Mapping[str, ShapeIndex]

    def rank_levels(self) -> dict[str, int]:
        """Return each level's rank from the lowest; levels of equal ordinal share one."""
        heights = sorted(set(self.ordinals.values()))
        return {level: heights.index(ordinal) for level, ordinal in self.ordinals.items()}


def find_connectors(
    drawn: Iterable[tuple[Feature, PlanGeometry]],
    stack: LevelStack,
    refs_are_unique: bool,
    notes: NoteCollector,
) -> Iterator[Connector]:
    """Yield the connectors among features, each given with its shape in feet.

    Features with the same `ref` are one connector. If refs are not unique, as on a map of several
    buildings, they must also serve different levels or intersect. Features without a `ref` are one
    connector if they lie above one another on adjacent levels.
    """
    groups: list[DrawnConnector] = []
    rank = stack.rank_levels()
    parts = [
        _to_drawn_connector(feature, kind, shape, stack)
        for feature, shape in drawn
        if (kind := get_connector_kind(feature)) is not None
    ]
    # From the lowest level up: if no level is shared, `_shares_position` accepts only the level
    # next above a group.
    for part in sorted(parts, key=lambda part: min(map(rank.__getitem__, part.shapes))):
        group = next((g for g in groups if _shares_ref(g, part, refs_are_unique)), None)
        if group is None:
            group = next((g for g in groups if _shares_position(g, part, rank)), None)
            if group is not None:
                notes.add("connectors joined by their position", part.features[0].id)
        if group is None:
            groups.append(part)
        else:
            _merge_part(group, part)
    yield from map(_to_connector, groups)


def _to_drawn_connector(
    feature: Feature, kind: ConnectorKind, shape: PlanGeometry, stack: LevelStack
) -> DrawnConnector:
    levels = sorted(feature.levels, key=stack.ordinals.__getitem__)
    if not isinstance(shape, LineString) or len(levels) < 2:
        direction = _parse_direction(feature.tags, _leads_up(feature.tags))
        return DrawnConnector(kind, [feature], dict.fromkeys(levels, shape), direction)
    rises = _leads_up(feature.tags)
    if rises is None:
        rises = _is_drawn_upwards(shape, levels, stack)
    ends = [shapely.Point(shape.coords[0]), shapely.Point(shape.coords[-1])]
    low, high = ends if rises else reversed(ends)
    # A flight of stairs drawn as a line is entered at its ends, and along it on levels in between.
    shapes: dict[str, PlanGeometry] = {
        **dict.fromkeys(levels, shape),
        levels[0]: low,
        levels[-1]: high,
    }
    return DrawnConnector(kind, [feature], shapes, _parse_direction(feature.tags, rises))


def _leads_up(tags: Tags) -> bool | None:
    """Return whether a line leads up in the direction it is drawn in (OSM `incline`), if tagged."""
    incline = tags.get("incline", "")
    if incline in ("up", "down"):
        return incline == "up"
    number = incline.rstrip("%° ")
    try:
        return float(number) > 0 if float(number) else None
    except ValueError:
        return None


def _is_drawn_upwards(line: LineString, levels: Sequence[str], stack: LevelStack) -> bool:
    """Guess whether a line starts on the lower level, by the distance of its ends to the floors."""
    start, end = shapely.Point(line.coords[0]), shapely.Point(line.coords[-1])
    low, high = (stack.walkable.get(level) for level in (levels[0], levels[-1]))
    if low is None or high is None:
        return True
    return low.distance_to(start) + high.distance_to(end) <= low.distance_to(
        end
    ) + high.distance_to(start)


def _parse_direction(tags: Tags, rises: bool | None) -> Direction | None:
    """Return the direction that an escalator moves in (OSM `conveying`), or None for both."""
    conveying = tags.get("conveying")
    if rises is None or conveying not in ("forward", "backward"):
        return None
    return Direction.UP if rises == (conveying == "forward") else Direction.DOWN


def _shares_ref(group: DrawnConnector, part: DrawnConnector, refs_are_unique: bool) -> bool:
    if group.kind != part.kind or not part.ref or group.ref != part.ref:
        return False
    shared = group.shapes.keys() & part.shapes.keys()
    return (
        refs_are_unique
        or not shared
        or any(group.shapes[level].intersects(part.shapes[level]) for level in shared)
    )


def _shares_position(group: DrawnConnector, part: DrawnConnector, rank: Mapping[str, int]) -> bool:
    if group.kind != part.kind or (group.ref and part.ref):
        return False
    shared = group.shapes.keys() & part.shapes.keys()
    if shared:
        return any(_covers_point_of(group.shapes[level], part.shapes[level]) for level in shared)
    if len(part.shapes) > 1:
        return False
    (level,) = part.shapes
    top = max(group.shapes, key=rank.__getitem__)
    is_next = rank[level] - rank[top] == 1
    return is_next and _is_stacked(part.shapes[level], group.shapes[top])


def _covers_point_of(one: PlanGeometry, other: PlanGeometry) -> bool:
    """Return whether either shape covers a point of the other; False if neither is an area."""
    if 2 not in (shapely.get_dimensions(one), shapely.get_dimensions(other)):
        return False
    return bool(
        one.covers(other.representative_point()) or other.covers(one.representative_point())
    )


def _is_stacked(one: PlanGeometry, other: PlanGeometry) -> bool:
    smaller = min(one.area, other.area)
    if not smaller:
        return _covers_point_of(one, other)
    shared = union_shapes([one]).intersection(union_shapes([other])).area
    return bool(shared >= MIN_STACKED_SHARE * smaller)


def _merge_part(group: DrawnConnector, part: DrawnConnector) -> None:
    group.features += part.features
    group.direction = group.direction or part.direction
    for level, shape in part.shapes.items():
        if level not in group.shapes or shape.area > group.shapes[level].area:
            group.shapes[level] = shape


def _to_connector(group: DrawnConnector) -> Connector:
    # Reversed, so that the tags of the first feature replace those of the others.
    tags = {key: value for f in reversed(group.features) for key, value in f.tags.items()}
    wheelchair = [WHEELCHAIR_ACCESS.get(f.tags.get("wheelchair", "")) for f in group.features]
    return Connector(
        group.features[0].id,
        group.kind,
        group.shapes,
        tags.get("name") or tags.get("ref", ""),
        False if False in wheelchair else (True if True in wheelchair else None),
        group.direction,
        not any(matches_any(OUT_OF_SERVICE_MATCHERS, feature.tags) for feature in group.features),
    )
