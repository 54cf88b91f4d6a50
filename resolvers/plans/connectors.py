"""Build connectors from the features that lead from level to level.

A lift is often drawn once on each level; those drawings become one connector.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import shapely
from shapely import LineString, Polygon

from parsing.drawing import Feature, NoteCollector, Tags
from resolvers.plans.connector_joining import DrawnConnector, LevelStack, join_drawings
from resolvers.plans.shapes import PlanGeometry
from resolvers.plans.tag_classification import (
    OUT_OF_SERVICE_MATCHERS,
    WHEELCHAIR_ACCESS,
    get_connector_kind,
    get_named_connector_kind,
    matches_any,
    parse_width_feet,
)
from routing.plan import Connector, ConnectorKind, Direction

BY_NAME: Final = 0.7
"""Confidence of a connector that only the name of its rooms shows."""


def find_connectors(
    drawn: Iterable[tuple[Feature, PlanGeometry]],
    stack: LevelStack,
    refs_are_unique: bool,
    notes: NoteCollector,
) -> Iterator[Connector]:
    """Yield the connectors among features, each given with its shape in feet.

    Features with the same `ref` are one connector. If refs are not unique, as on a map of several
    buildings, they must also serve different levels or intersect. Features without a `ref` are one
    connector if they lie above one another on adjacent levels. If no feature is tagged as a
    connector, rooms named as stairs or a lift on several levels are.
    """
    features = list(drawn)
    kinds = [get_connector_kind(feature) for feature, _ in features]
    are_tagged = any(kinds)
    if not are_tagged:
        kinds = [get_named_connector_kind(feature) for feature, _ in features]
    parts = [
        _to_drawn_connector(feature, kind, shape, stack)
        for (feature, shape), kind in zip(features, kinds, strict=True)
        if kind is not None
    ]
    for group in join_drawings(parts, stack, refs_are_unique, notes):
        shapes = {shape.normalize(): shape for shape in group.shapes.values()}
        [line, *others] = shapes.values()
        if isinstance(line, LineString) and not others and len(group.shapes) > 1:
            # The same line on several levels leads from the lowest to the highest.
            feature = group.features[0]._replace(levels=(*group.shapes,))
            whole = _to_drawn_connector(feature, group.kind, line, stack)
            group.flights = whole.flights
            if all(stack.may_land(level, end) for level, end in whole.shapes.items()):
                group.shapes.update(whole.shapes)
        if are_tagged:
            yield _to_connector(group)
        elif len(group.shapes) > 1:
            # On a single level a name is no evidence.
            notes.add("rooms named as stairs or a lift, read as one", group.features[0].id)
            group.confidence = min(group.confidence, BY_NAME)
            yield _to_connector(group)


def _to_drawn_connector(
    feature: Feature, kind: ConnectorKind, shape: PlanGeometry, stack: LevelStack
) -> DrawnConnector:
    levels = sorted(feature.levels, key=stack.ordinals.__getitem__)
    if isinstance(shape, LineString) and shape.is_ring:
        # The outline of a staircase: nobody walks around in a circle.
        shape = Polygon(shape)
    if not isinstance(shape, LineString) or len(levels) < 2:
        direction = _parse_direction(feature.tags, _leads_up(feature.tags))
        return DrawnConnector(kind, [feature], dict.fromkeys(levels, shape), direction)
    rises = _leads_up(feature.tags)
    if rises is None:
        rises = _is_drawn_upwards(shape, levels, stack)
    line = shape if rises else shape.reverse()
    low, high = shapely.Point(line.coords[0]), shapely.Point(line.coords[-1])
    flights = {(stack.ordinals[levels[0]], stack.ordinals[levels[-1]]): line}
    # A flight of stairs drawn as a line is entered at its ends, and along it on levels in between.
    shapes: dict[str, PlanGeometry] = {
        **dict.fromkeys(levels, shape),
        levels[0]: low,
        levels[-1]: high,
    }
    direction = _parse_direction(feature.tags, rises)
    return DrawnConnector(kind, [feature], shapes, direction, flights=flights)


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


def _to_connector(group: DrawnConnector) -> Connector:
    # Reversed, so that the tags of the first feature replace those of the others.
    tags = {key: value for f in reversed(group.features) for key, value in f.tags.items()}
    wheelchair = [
        WHEELCHAIR_ACCESS.get(f.tags.get("wheelchair", f.tags.get("ramp:wheelchair", "")))
        for f in group.features
    ]
    return Connector(
        group.features[0].id,
        group.kind,
        group.shapes,
        tags.get("name") or tags.get("ref", ""),
        False if False in wheelchair else (True if True in wheelchair else None),
        group.direction,
        not any(matches_any(OUT_OF_SERVICE_MATCHERS, feature.tags) for feature in group.features),
        group.confidence,
        parse_width_feet(tags),
        group.flights,
    )
