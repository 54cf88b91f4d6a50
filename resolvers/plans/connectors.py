"""Build connectors from the features that lead from level to level.

A lift is often drawn once on each level; those drawings become one connector.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import shapely
from shapely import LineString, Polygon
from shapely.geometry.base import BaseGeometry

from parsing.drawing import Feature, NoteCollector, Tags
from resolvers.plans import tag_classification as tagging
from resolvers.plans.shapes import PlanGeometry, ShapeIndex, union_shapes
from routing.plan import Connector, ConnectorKind, Direction, SpaceKind

MIN_STACKED_SHARE: Final = 0.5
"""Share of the smaller shape that must lie above the larger for the two to be one shaft."""
HALF_WIDTH_FEET: Final = 1.5
"""Half the width of a connector that is drawn as a line or point, when compared with others."""
MAX_APART_FEET: Final = 3.0
"""Two flights of one staircase may lie this far apart on the plan: the width of a landing."""
MAX_LIFT_OFFSET_FEET: Final = 30.0
"""Lifts with one `ref` that are farther apart are two: a site numbers those of each building."""
MAX_FLIGHT_FEET: Final = 150.0
"""Other connectors with one `ref` that are farther apart are two: an escalator that rises 65 ft at
30 degrees is 115 ft long, a ramp of one in twelve 150 ft for a storey."""
MIN_ADVANTAGE_FEET: Final = 3.0
"""Every other connector of the kind must be so much farther away."""
MAX_COMPARED: Final = 200
"""Drawings at one place that each is compared with; no shaft has as many."""
BY_POSITION: Final = 0.95
BY_NEARNESS: Final = 0.7
BY_ONLY_LEVEL: Final = 0.6
"""Confidences of connectors that were joined so (docs/decisions/routing/space.md)."""
MAX_STOREY: Final = 1.0
"""Levels this far apart are adjacent even if a mezzanine lies between them."""
MAX_LANDING_FEET: Final = 1.0
"""Stairs lead to a level whose floor lies this near to their end."""


@dataclass(slots=True, eq=False)
class DrawnConnector:
    """The features and shapes of one connector, by level."""

    kind: ConnectorKind
    features: list[Feature] = field(default_factory=list)
    shapes: dict[str, PlanGeometry] = field(default_factory=dict)
    direction: Direction | None = None
    confidence: float = 1.0
    flights: Mapping[tuple[float, float], LineString] = field(default_factory=dict)
    ref: str = field(init=False)

    def __post_init__(self) -> None:
        self.ref = next((f.tags["ref"] for f in self.features if f.tags.get("ref")), "")

    @property
    def outline(self) -> BaseGeometry:
        """All shapes as one, on whatever level."""
        return shapely.union_all([_thicken(shape) for shape in self.shapes.values()])

    def add(self, part: "DrawnConnector", confidence: float = 1.0) -> None:
        """Add another drawing of the same connector."""
        self.confidence = min(self.confidence, part.confidence, confidence)
        self.features += part.features
        self.ref = self.ref or part.ref
        self.direction = self.direction or part.direction
        self.flights = {**part.flights, **self.flights}
        for level, shape in part.shapes.items():
            if level not in self.shapes or shape.area > self.shapes[level].area:
                self.shapes[level] = shape


@dataclass(frozen=True)
class LevelStack:
    """The ordinals of a plan's levels, and by level all walkable shapes, and the open and rooms."""

    ordinals: Mapping[str, float]
    walkable: Mapping[str, ShapeIndex]
    open_floor: Mapping[str, ShapeIndex]
    rooms: Mapping[str, ShapeIndex]

    @cached_property
    def ranks(self) -> dict[str, int]:
        """Each level's rank from the lowest; levels of equal ordinal share one."""
        heights = {ordinal: rank for rank, ordinal in enumerate(sorted({*self.ordinals.values()}))}
        return {level: heights[ordinal] for level, ordinal in self.ordinals.items()}

    def is_next_above(self, upper: str, lower: str) -> bool:
        """Return whether one level lies above another, with at most mezzanines in between."""
        steps = self.ranks[upper] - self.ranks[lower]
        storeys = self.ordinals[upper] - self.ordinals[lower]
        return steps == 1 or (steps > 1 and storeys <= MAX_STOREY)

    def may_land(self, level: str, shape: BaseGeometry) -> bool:
        """Return whether open floor of a level lies beside a shape, and no room in its place."""
        if level not in self.open_floor:
            return False
        middle = shape.representative_point()
        is_in_room = level in self.rooms and self.rooms[level].distance_to(middle) == 0
        return not is_in_room and self.open_floor[level].distance_to(shape) <= MAX_LANDING_FEET


def join_drawings(
    parts: Iterable[DrawnConnector], stack: LevelStack, refs_are_unique: bool, notes: NoteCollector
) -> list[DrawnConnector]:
    """Return the connectors that `parts` show: first by `ref`, then by position."""
    # From the lowest level up: a part joins only a group that ends on the level just below.
    ordered = sorted(parts, key=lambda part: min(map(stack.ranks.__getitem__, part.shapes)))
    tree = shapely.STRtree([part.outline for part in ordered])
    by_ref: defaultdict[tuple[ConnectorKind, str], list[DrawnConnector]] = defaultdict(list)
    groups: list[DrawnConnector] = []
    group_of: dict[int, DrawnConnector] = {}
    for index, part in enumerate(ordered):
        same_ref = by_ref[part.kind, part.ref] if part.ref else []
        confidence = 1.0
        group = _find_same_ref(same_ref, part, refs_are_unique, notes)
        if group is None:
            near = sorted(other for other in tree.query(tree.geometries[index]) if other < index)
            # The last are those just below.
            near = near[-MAX_COMPARED:]
            shares = [(_stacked_share(group_of[at], part, stack), -at) for at in near]
            share, at = max(shares, default=(0.0, 0))
            if share >= MIN_STACKED_SHARE:
                group, confidence = group_of[-at], BY_POSITION
                notes.add("connectors joined by their position", part.features[0].id)
        if group is None:
            group = DrawnConnector(part.kind)
            groups.append(group)
        group.add(part, confidence)
        group_of[index] = group
        if part.ref and group not in same_ref:
            same_ref.append(group)
    groups = _join_near(groups, stack, notes)
    tree = shapely.STRtree([group.outline for group in groups])
    for index, group in enumerate(groups):
        beside = tree.query(tree.geometries[index], predicate="dwithin", distance=MAX_APART_FEET)
        # Another of the kind at the same place leads on from some other level.
        if sum(groups[other].kind == group.kind for other in beside) == 1:
            _extend_to_only_level(group, stack, notes)
    return groups


def _find_same_ref(
    groups: Sequence[DrawnConnector],
    part: DrawnConnector,
    refs_are_unique: bool,
    notes: NoteCollector,
) -> DrawnConnector | None:
    """Return the nearest of the groups of a `ref` that a part may belong to, or None."""
    candidates = [g for g in groups[-MAX_COMPARED:] if _may_share_ref(g, part, refs_are_unique)]
    outline = part.outline
    distances = [min(map(outline.distance, group.shapes.values())) for group in candidates]
    nearest = min(distances, default=math.inf)
    is_lift = part.kind is ConnectorKind.ELEVATOR
    if nearest <= (MAX_LIFT_OFFSET_FEET if is_lift else MAX_FLIGHT_FEET):
        return candidates[distances.index(nearest)]
    if candidates:
        notes.add("same ref, but too far apart to be one connector", part.features[0].id)
    return None


def _may_share_ref(group: DrawnConnector, part: DrawnConnector, refs_are_unique: bool) -> bool:
    shared = group.shapes.keys() & part.shapes.keys()
    return (
        refs_are_unique
        or not shared
        or any(group.shapes[level].intersects(part.shapes[level]) for level in shared)
    )


def _stacked_share(group: DrawnConnector, part: DrawnConnector, stack: LevelStack) -> float:
    """Return which share of the smaller of two drawings lies on the other, or just above it."""
    if not _may_be_one(group, part):
        return 0.0
    shared = group.shapes.keys() & part.shapes.keys()
    if shared:
        pairs = [(group.shapes[level], part.shapes[level]) for level in shared]
        return float(any(_covers_point_of(*pair) for pair in pairs))
    ends = _adjacent_ends(group, part, stack)
    if len(part.shapes) > 1 or ends is None or _is_whole_flight(group, part):
        return 0.0
    one, other = _thicken(group.shapes[ends[0]]), _thicken(part.shapes[ends[1]])
    return float(one.intersection(other).area / min(one.area, other.area))


def _may_be_one(one: DrawnConnector, other: DrawnConnector) -> bool:
    """Return whether two drawings can show one connector, by their kind, `ref` and direction."""
    directions = {one.direction, other.direction} - {None}
    return one.kind == other.kind and not (one.ref and other.ref) and len(directions) < 2


def _is_whole_flight(*drawings: DrawnConnector) -> bool:
    """Return whether a flight drawn as a line has both its levels: the next one has another."""
    shapes = [shape for drawing in drawings for shape in drawing.shapes.values()]
    return len(shapes) > 2 and any(shapely.get_dimensions(shape) == 1 for shape in shapes)


def _adjacent_ends(
    lower: DrawnConnector, upper: DrawnConnector, stack: LevelStack
) -> tuple[str, str] | None:
    """Return the top level of one drawing and the bottom one of another just above it."""
    top = max(lower.shapes, key=stack.ordinals.__getitem__)
    bottom = min(upper.shapes, key=stack.ordinals.__getitem__)
    return (top, bottom) if stack.is_next_above(bottom, top) else None


def _covers_point_of(one: PlanGeometry, other: PlanGeometry) -> bool:
    """Return whether either shape covers a point of the other; False if neither is an area."""
    if 2 not in (shapely.get_dimensions(one), shapely.get_dimensions(other)):
        return False
    return bool(
        one.covers(other.representative_point()) or other.covers(one.representative_point())
    )


def _thicken(shape: PlanGeometry) -> BaseGeometry:
    """Return a valid area: lines and points get the width of a connector."""
    area: BaseGeometry = union_shapes([shape])
    return area if area.area else area.buffer(HALF_WIDTH_FEET)


def _join_near(
    groups: list[DrawnConnector], stack: LevelStack, notes: NoteCollector
) -> list[DrawnConnector]:
    """Join each connector on one level to the nearest other, if no other is about as near."""
    if not groups:
        return groups
    tree = shapely.STRtree([group.outline for group in groups])
    reach = MAX_APART_FEET + MIN_ADVANTAGE_FEET
    pairs: list[tuple[float, int, int]] = []
    for index, upper in enumerate(groups):
        near = tree.query(tree.geometries[index], predicate="dwithin", distance=reach)
        for other in near[:MAX_COMPARED]:
            lower = groups[other]
            is_loose = 1 in (len(upper.shapes), len(lower.shapes))
            if not is_loose or not _may_be_one(lower, upper) or _is_whole_flight(lower, upper):
                continue
            if ends := _adjacent_ends(lower, upper, stack):
                feet = lower.shapes[ends[0]].distance(upper.shapes[ends[1]])
                pairs.append((float(feet), int(other), index))
    by_end: defaultdict[tuple[int, bool], list[float]] = defaultdict(list)
    for feet, below, above in sorted(pairs):
        by_end[below, True].append(feet)
        by_end[above, False].append(feet)
    parents: dict[int, int] = {}
    for feet, below, above in sorted(pairs):
        # Sorted, so a rival is next.
        rivals = [*by_end[below, True][1:2], *by_end[above, False][1:2]]
        if feet <= MAX_APART_FEET and all(rival - feet >= MIN_ADVANTAGE_FEET for rival in rivals):
            notes.add("connectors joined as they lie near each other", groups[above].features[0].id)
            parents[above] = below
    for above, below in parents.items():
        while below in parents:
            below = parents[below]
        groups[below].add(groups[above], BY_NEARNESS)
    return [group for index, group in enumerate(groups) if index not in parents]


def _extend_to_only_level(group: DrawnConnector, stack: LevelStack, notes: NoteCollector) -> None:
    """Let stairs or a lift on one level lead to the only adjacent level with floor at their end."""
    ((level, shape), *others) = group.shapes.items()
    feature = group.features[0]
    # Stairs on an open area lead from one part of it to another.
    is_open = tagging.get_space_kind(feature) not in (None, SpaceKind.ROOM)
    is_untagged = tagging.get_connector_kind(feature) is None
    if others or is_open or is_untagged or group.kind is ConnectorKind.RAMP:
        return
    ends: list[PlanGeometry] = [shape]
    if isinstance(shape, LineString):
        both = map(shapely.Point, (shape.coords[0], shape.coords[-1]))
        ends = [end for end in both if not stack.may_land(level, end)]
    leads_to = [
        (other, end)
        for other in stack.ordinals
        if stack.is_next_above(other, level) or stack.is_next_above(level, other)
        for end in ends
        if stack.may_land(other, end)
    ]
    if len(leads_to) == 1:
        ((other, end),) = leads_to
        group.shapes[other], group.confidence = end, BY_ONLY_LEVEL
        notes.add("connector on one level, joined to the only one beside it", feature.id)


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
    kinds = [tagging.get_connector_kind(feature) for feature, _ in features]
    are_tagged = any(kinds)
    if not are_tagged:
        kinds = [tagging.get_named_connector_kind(feature) for feature, _ in features]
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
        tagging.WHEELCHAIR_ACCESS.get(f.tags.get("wheelchair", f.tags.get("ramp:wheelchair", "")))
        for f in group.features
    ]
    return Connector(
        group.features[0].id,
        group.kind,
        group.shapes,
        tags.get("name") or tags.get("ref", ""),
        False if False in wheelchair else (True if True in wheelchair else None),
        group.direction,
        not any(
            tagging.matches_any(tagging.OUT_OF_SERVICE_MATCHERS, feature.tags)
            for feature in group.features
        ),
        group.confidence,
        tagging.parse_width_feet(tags),
        group.flights,
    )
