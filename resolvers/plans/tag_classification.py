"""Classify features by their tags: OpenStreetMap's indoor tagging, for every source format."""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from parsing.drawing import AreaGeometry, Feature, LinesGeometry, PointGeometry, Tags
from parsing.osm.tags import is_building, is_site, parse_feet
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


PLATFORM_MATCHERS: Final = tuple(
    TagMatcher(key, frozenset({"platform"})) for key in ("railway", "public_transport", "highway")
)
DOOR_MATCHERS: Final = (
    TagMatcher("entrance"),
    TagMatcher("indoor", frozenset({"door"})),
    TagMatcher("barrier", frozenset({"door", "sliding_door", "turnstile"})),
    TagMatcher("osmAG:type", frozenset({"passage"})),
)
CLOSED_ROOM_MATCHERS: Final = (
    TagMatcher("access", frozenset({"no"})),
    TagMatcher(
        "room",
        frozenset({"duct", "electrical", "mechanical", "shaft", "technical", "utility", "void"}),
    ),
)
"""Rooms that people do not enter, for which no door is expected."""
CONNECTOR_MATCHERS: Final[tuple[tuple[TagMatcher, ConnectorKind], ...]] = (
    (TagMatcher("conveying"), ConnectorKind.ESCALATOR),
    (TagMatcher("highway", frozenset({"elevator"})), ConnectorKind.ELEVATOR),
    (TagMatcher("elevator", frozenset({"yes"})), ConnectorKind.ELEVATOR),
    (TagMatcher("room", frozenset({"elevator"})), ConnectorKind.ELEVATOR),
    (TagMatcher("highway", frozenset({"steps"})), ConnectorKind.STEPS),
    (TagMatcher("area:highway", frozenset({"steps"})), ConnectorKind.STEPS),
    (TagMatcher("stairs"), ConnectorKind.STEPS),
    (TagMatcher("room", frozenset({"stairs", "staircase"})), ConnectorKind.STEPS),
    (TagMatcher("ramp"), ConnectorKind.RAMP),
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
"""What rooms are named that are drawn on several levels and have no other tag."""
BARRIER_MATCHERS: Final = (
    TagMatcher("indoor", frozenset({"wall", "column", "pillar"})),
    TagMatcher("barrier"),
    TagMatcher("leisure", frozenset({"swimming_pool"})),
    TagMatcher("natural", frozenset({"water"})),
)
PASSABLE_MATCHER: Final = TagMatcher(
    "barrier", frozenset({"entrance", "gate", "kerb", "swing_gate"})
)
POINT_OF_INTEREST_MATCHERS: Final = (
    *(
        TagMatcher(key)
        for key in (
            "amenity", "shop", "leisure", "office", "tourism", "healthcare", "craft", "club",
            "emergency", "attraction", "vending", "information", "occupant",
        )
    ),
    TagMatcher("room", frozenset({"toilets", "shower"})),
    TagMatcher("railway", frozenset({"platform"})),
    TagMatcher("public_transport", frozenset({"platform"})),
)  # fmt: skip
PRIVATE_VALUES: Final = frozenset({"private", "no"})
LOCKED_MATCHERS: Final = (
    TagMatcher("access", frozenset({"no"})),
    TagMatcher("foot", frozenset({"no"})),
    TagMatcher("locked", frozenset({"yes"})),
    TagMatcher("entrance", frozenset({"emergency"})),
)
OUT_OF_SERVICE_MATCHERS: Final = (
    TagMatcher("access", frozenset({"no"})),
    TagMatcher("disused", frozenset({"yes"})),
    TagMatcher(
        "operational_status", frozenset({"broken", "closed", "out_of_order", "out_of_service"})
    ),
)
OUTDOORS_MATCHERS: Final = (
    TagMatcher("indoor", frozenset({"no"})),
    TagMatcher("outdoor", frozenset({"yes"})),
    TagMatcher("location", frozenset({"outdoor"})),
)
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
