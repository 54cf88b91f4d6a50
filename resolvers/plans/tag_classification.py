"""Classify features by their tags: OpenStreetMap's indoor tagging, for every source format.

Features that cross themselves or others so often that no plan is meant are left out.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, starmap
from typing import Final, NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from parsing.drawing import (
    AreaGeometry,
    Coordinate,
    Coordinates,
    Drawing,
    Feature,
    LinesGeometry,
    NoteCollector,
    PointGeometry,
    ReadingFault,
    Tags,
)
from parsing.errors import InvalidPlanError
from parsing.osm.tags import is_building, is_site, parse_feet
from routing.network.mesh import cross
from routing.plan import ConnectorKind, SpaceKind

SPACE_KINDS: Final[Mapping[str, SpaceKind]] = {
    "room": SpaceKind.ROOM,
    "corridor": SpaceKind.CORRIDOR,
    "area": SpaceKind.AREA,
}
FOOTWAY_VALUES: Final = frozenset({"footway", "corridor", "pedestrian", "path"})
VACANT_VALUES: Final = frozenset({"disused", "vacant"})
"""Tag values that mark a vacant room, as in `shop=vacant`."""


MIN_DOORS_ALL_LOCKED: Final = 10
"""If all of at least so many doors are locked, the tag is a default of whatever wrote the plan."""


class TagMatcher(NamedTuple):
    """Matches a tag; without `values`, any value but `no` and `VACANT_VALUES`."""

    key: str
    values: frozenset[str] = frozenset()

    def matches(self, tags: Tags) -> bool:
        value = tags.get(self.key)
        if self.values:
            return value in self.values
        return value not in (None, "no") and value not in VACANT_VALUES


def tag(key: str, *values: str) -> TagMatcher:
    """Return what matches a tag with one of these values, or as `TagMatcher` says without any."""
    return TagMatcher(key, frozenset(values))


PLATFORM_MATCHERS: Final = tuple(
    tag(key, "platform") for key in ("railway", "public_transport", "highway")
)
DOOR_MATCHERS: Final = (
    tag("entrance"),
    tag("indoor", "door"),
    tag("barrier", "door", "sliding_door", "turnstile"),
    tag("osmAG:type", "passage"),
)
CLOSED_ROOM_MATCHERS: Final = (
    tag("access", "no"),
    tag("room", "duct", "electrical", "mechanical", "shaft", "technical", "utility", "void"),
)
"""Rooms that people do not enter, for which no door is expected."""
CONNECTOR_MATCHERS: Final[tuple[tuple[TagMatcher, ConnectorKind], ...]] = (
    (tag("conveying"), ConnectorKind.ESCALATOR),
    (tag("highway", "elevator"), ConnectorKind.ELEVATOR),
    (tag("elevator", "yes"), ConnectorKind.ELEVATOR),
    (tag("room", "elevator"), ConnectorKind.ELEVATOR),
    (tag("highway", "steps"), ConnectorKind.STEPS),
    (tag("area:highway", "steps"), ConnectorKind.STEPS),
    (tag("stairs"), ConnectorKind.STEPS),
    (tag("room", "stairs", "staircase"), ConnectorKind.STEPS),
    (tag("ramp"), ConnectorKind.RAMP),
)
CONNECTOR_NAMES: Final[Mapping[str, ConnectorKind]] = {
    **dict.fromkeys(
        (
            "escalera", "escaleras", "escalier", "escaliers", "scala", "scale", "st", "stair",
            "staircase", "stairs", "stairway", "stairwell", "treppe", "treppenhaus",
        ),
        ConnectorKind.STEPS,
    ),
    **dict.fromkeys(
        ("ascenseur", "ascenseurs", "ascensor", "ascensore", "aufzug", "elevator", "elevators",
         "fahrstuhl", "lift", "lifts"),
        ConnectorKind.ELEVATOR,
    ),
}  # fmt: skip
"""Rooms that are drawn on several levels and have no other tag may have these names."""
BARRIER_MATCHERS: Final = (
    tag("indoor", "wall", "column", "pillar"),
    tag("barrier"),
    tag("leisure", "swimming_pool"),
    tag("natural", "water"),
)
PASSABLE_MATCHER: Final = tag("barrier", "entrance", "gate", "kerb", "swing_gate")
POINT_OF_INTEREST_MATCHERS: Final = (
    *(
        tag(key)
        for key in (
            "amenity", "shop", "leisure", "office", "tourism", "healthcare", "craft", "club",
            "emergency", "attraction", "vending", "information", "occupant",
        )
    ),
    tag("room", "toilets", "shower"),
    tag("railway", "platform"),
    tag("public_transport", "platform"),
)  # fmt: skip
PRIVATE_VALUES: Final = frozenset({"private", "no"})
LOCKED_MATCHERS: Final = (
    tag("access", "no"),
    tag("foot", "no"),
    tag("locked", "yes"),
    tag("entrance", "emergency"),
)
OUT_OF_SERVICE_MATCHERS: Final = (
    tag("access", "no"),
    tag("disused", "yes"),
    tag("operational_status", "broken", "closed", "out_of_order", "out_of_service"),
)
OUTDOORS_MATCHERS: Final = (tag("indoor", "no"), tag("outdoor", "yes"), tag("location", "outdoor"))
WHEELCHAIR_ACCESS: Final = {"yes": True, "designated": True, "limited": True, "no": False}
WIDTH_KEYS: Final = ("width", "door:width", "maxwidth:physical")


def matches_any(matchers: tuple[TagMatcher, ...], tags: Tags) -> bool:
    """Return whether any of the matchers matches the tags."""
    return any(matcher.matches(tags) for matcher in matchers)


def get_space_kind(feature: Feature) -> SpaceKind | None:
    """Return the kind of space that a feature is, or None. Only areas are spaces.

    An outdoor building with a point of interest, such as a pavilion with a shop, is a room.
    """
    tags = feature.tags
    if not isinstance(feature.geometry, AreaGeometry) or is_site(tags):
        return None
    if "indoor" not in tags and is_building(tags) and matches_any(POINT_OF_INTEREST_MATCHERS, tags):
        return SpaceKind.ROOM
    kind = SPACE_KINDS.get(tags.get("indoor", ""))
    return SpaceKind.AREA if kind is None and is_walkway(tags) else kind


def is_private(feature: Feature) -> bool:
    """Return whether a space is only for those who live or work in it.

    Units are private, but for stairs and lifts, unless their tag `access` says otherwise.
    """
    if "access" in feature.tags:
        return feature.tags["access"] in PRIVATE_VALUES
    kind = get_connector_kind(feature) or get_named_connector_kind(feature)
    return feature.unit_id is not None and kind is None


def is_walkway(tags: Tags) -> bool:
    """Return whether people walk along a feature without `indoor`: a footway or a platform."""
    return tags.get("highway") in FOOTWAY_VALUES or matches_any(PLATFORM_MATCHERS, tags)


def is_footpath(feature: Feature) -> bool:
    """Return whether a feature is a footway or platform drawn as a line on one level."""
    return (
        isinstance(feature.geometry, LinesGeometry)
        and is_walkway(feature.tags)
        and len(feature.levels) == 1
    )


def is_outdoors(tags: Tags) -> bool:
    """Return whether a space is outdoors: it says so, or is a footway that does not say `indoor`.

    >>> is_outdoors({"highway": "footway"}), is_outdoors({"highway": "footway", "indoor": "yes"})
    (True, False)
    """
    if matches_any(OUTDOORS_MATCHERS, tags):
        return True
    is_inside = "indoor" in tags or tags.get("tunnel") == "building_passage"
    return tags.get("highway") in FOOTWAY_VALUES - {"corridor"} and not is_inside


def get_connector_kind(feature: Feature) -> ConnectorKind | None:
    """Return the kind of connector that a feature is, or None.

    A footway on several levels is a ramp; on one level, even a moving one is no connector.
    """
    tags = feature.tags
    is_single = len(feature.levels) == 1
    if tags.get("highway") in FOOTWAY_VALUES:
        return None if is_single else ConnectorKind.RAMP
    return next((kind for matcher, kind in CONNECTOR_MATCHERS if matcher.matches(tags)), None)


def get_named_connector_kind(feature: Feature) -> ConnectorKind | None:
    """Return the kind of connector that the name of an untagged room says it is, or None.

    >>> room = Feature("1", ("0",), AreaGeometry(()), {"indoor": "room", "name": "E1-Stair-09"})
    >>> get_named_connector_kind(room).value
    'steps'
    """
    if feature.tags.get("indoor") != "room" or get_connector_kind(feature) is not None:
        return None
    words = re.split(r"[\W\d_]+", feature.tags.get("name", "").lower())
    # Beside the word itself, codes of a building, a wing or a storey: "E1-ST-09".
    names = [word for word in words if len(word) > 1]
    return CONNECTOR_NAMES.get(names[0]) if len(names) == 1 else None


def is_door(feature: Feature) -> bool:
    """Return whether a feature is a door; `door=no` is one: an opening without a leaf."""
    tags = feature.tags
    return get_space_kind(feature) is None and ("door" in tags or matches_any(DOOR_MATCHERS, tags))


def is_barrier(feature: Feature) -> bool:
    """Return whether a feature blocks walking. Points, spaces and passable barriers do not."""
    return (
        not isinstance(feature.geometry, PointGeometry)
        and get_space_kind(feature) is None
        and matches_any(BARRIER_MATCHERS, feature.tags)
        and not is_door(feature)
        and not PASSABLE_MATCHER.matches(feature.tags)
    )


def is_outline(feature: Feature) -> bool:
    """Return whether a feature is the outline of a level."""
    return feature.tags.get("indoor") == "level" and isinstance(feature.geometry, AreaGeometry)


def parse_width_feet(tags: Tags) -> float | None:
    """Return a width in feet from tags in metres or with a unit (OSM `width`), or None.

    >>> round(parse_width_feet({"width": "0.9"}), 2)
    2.95
    """
    widths = (parse_feet(tags[key]) for key in WIDTH_KEYS if key in tags)
    return next((width for width in widths if width), None)


def get_display_name(feature: Feature) -> str:
    """Return a feature's name, else what it is, else its id; a vacancy is not a name."""
    tags = feature.tags
    if feature.unit_id:
        return tags.get("name") or feature.unit_id
    keys = ("name", "ref", "addr:unit", "room", "amenity", "shop", "leisure", "occupant")
    names = (tags[key] for key in keys if tags.get(key))
    return next((name for name in names if name not in VACANT_VALUES), feature.id)


# Leave out what crosses itself or other features so often that no plan is meant.
#
# Wherever lines cross, shapes get a corner when they are repaired and joined: a few thousand lines
# can have millions of crossings, and take all memory.


MAX_CROSSINGS: Final = 20_000
"""A level has at most so many. Of 35 plans that others have published, the most have 1,378."""
MAX_BLOCK_PAIRS: Final = 2_000_000
"""Pairs of segments that are compared together; limits memory."""
CAUSE: Final = "left out, crosses itself or other features too often"

Segments = NDArray[np.float64]
"""Starts and ends (n, 2, 2)."""


def leave_out_tangles(
    drawing: Drawing, is_used: Callable[[Feature], bool], *, strict: bool = False
) -> Drawing:
    """Return a drawing in which used features cross at most MAX_CROSSINGS times on each level.

    The others become faults, or an InvalidPlanError if `strict`. Spaces go first, then what is
    drawn first.
    """
    levels: defaultdict[str, list[Feature]] = defaultdict(list)
    for feature in sorted(filter(is_used, drawing.features), key=lambda f: not get_space_kind(f)):
        if not isinstance(feature.geometry, PointGeometry):
            for level in feature.levels:
                levels[level].append(feature)
    collector = NoteCollector()
    left_out: set[int] = set()
    for level, features in levels.items():
        for index, position in find_tangled([_to_segments(f) for f in features]).items():
            feature = features[index]
            left_out.add(id(feature))
            message = (
                f"{feature.id!r} crosses itself or what is drawn before it so often that level "
                f"{level!r} would have more than {MAX_CROSSINGS:,} crossings"
            )
            collector.add_fault(
                ReadingFault(CAUSE, message, feature.id, position=position, levels=(level,))
            )
    if not left_out:
        return drawing
    if strict:
        raise InvalidPlanError(collector.describe_faults())
    return replace(
        drawing,
        features=tuple(feature for feature in drawing.features if id(feature) not in left_out),
        notes=(*drawing.notes, *collector.notes()),
        faults=(*drawing.faults, *collector.faults),
    )


def find_tangled(shapes: Sequence[Segments]) -> dict[int, Coordinate]:
    """Return which shapes to leave out so that MAX_CROSSINGS remain, each with a point of it.

    >>> find_tangled([np.array([[(0, 0), (2, 2)]]), np.array([[(0, 2), (2, 0)]])])
    {}
    """
    segments = np.concatenate([np.empty((0, 2, 2)), *shapes])
    owners = np.repeat(np.arange(len(shapes)), [len(shape) for shape in shapes])
    lines = np.asarray(shapely.linestrings(segments))
    tree = shapely.STRtree(lines)
    is_kept, tangled = np.ones(len(shapes), dtype=bool), {}
    total, of_owner = 0, np.zeros(len(shapes), dtype=np.int64)
    size = max(1, MAX_BLOCK_PAIRS // max(1, len(lines)))
    for first in range(0, len(lines), size):
        block = np.arange(first, min(first + size, len(lines)))
        block = block[is_kept[owners[block]]]
        found, earlier = tree.query(lines[block])
        later = block[found]
        compared = (earlier < later) & is_kept[owners[earlier]]
        later, earlier = later[compared], earlier[compared]
        # Within both, not only touching.
        one, other = segments[later], segments[earlier]
        crossing = _are_apart(one, other) & _are_apart(other, one)
        later, earlier = later[crossing], earlier[crossing]
        bounds = np.flatnonzero(np.diff(owners[later], prepend=-1, append=-1)).tolist()
        for own in starmap(slice, pairwise(bounds)):
            owner = int(owners[later[own][0]])
            count = int(np.count_nonzero(is_kept[owners[earlier[own]]]))
            total, of_owner[owner] = total + count, of_owner[owner] + count
            if total > MAX_CROSSINGS:
                total -= int(of_owner[owner])
                is_kept[owner] = False
                x, y = segments[later[own][0], 0].tolist()
                tangled[owner] = (x, y)
    return tangled


def _are_apart(segments: Segments, others: Segments) -> NDArray[np.bool_]:
    """Return whether the ends of the others lie on either side of the segments' lines."""
    along = segments[:, 1] - segments[:, 0]
    sides = [cross(along, others[:, end] - segments[:, 0]) for end in (0, 1)]
    return np.asarray(np.sign(sides[0]) * np.sign(sides[1]) < 0)


def _to_segments(feature: Feature) -> Segments:
    match feature.geometry:
        case PointGeometry():
            return np.empty((0, 2, 2))
        case LinesGeometry(lines):
            return list_segments(lines)
        case area:
            return list_segments((*ring, ring[0]) for ring in area.rings)


def list_segments(lines: Iterable[Coordinates]) -> Segments:
    """Return the segments of lines, one after another."""
    ends = [np.array(line, dtype=np.float64) for line in lines]
    return np.concatenate(
        [np.empty((0, 2, 2)), *(np.stack((xy[:-1], xy[1:]), axis=1) for xy in ends)]
    )
