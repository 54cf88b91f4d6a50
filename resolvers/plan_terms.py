"""What the indoor terms on a feature say that it is: one table of tags for every source."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from parsing.drawing import Area, Feature, Lines, Point, Tags
from parsing.quantities import parse_feet
from parsing.surroundings import is_building, is_site
from routing.plan import ConnectorKind, SpaceKind

SPACES: Final[Mapping[str, SpaceKind]] = {
    "room": SpaceKind.ROOM,
    "corridor": SpaceKind.CORRIDOR,
    "area": SpaceKind.AREA,
}
FOOTWAYS: Final = frozenset({"footway", "corridor", "pedestrian", "path"})


VACANT: Final = frozenset({"disused", "vacant"})
"""What mappers write instead of what a room is for while it is for nothing."""


class Term(NamedTuple):
    """A tag that decides; without values, any but `no` and those of what is vacant."""

    key: str
    values: frozenset[str] = frozenset()

    def is_in(self, tags: Tags) -> bool:
        value = tags.get(self.key)
        if self.values:
            return value in self.values
        return value not in (None, "no") and value not in VACANT


CONNECTORS: Final[tuple[tuple[Term, ConnectorKind], ...]] = (
    (Term("conveying"), ConnectorKind.ESCALATOR),
    (Term("highway", frozenset({"elevator"})), ConnectorKind.ELEVATOR),
    (Term("elevator", frozenset({"yes"})), ConnectorKind.ELEVATOR),
    (Term("room", frozenset({"elevator"})), ConnectorKind.ELEVATOR),
    (Term("highway", frozenset({"steps"})), ConnectorKind.STEPS),
    (Term("stairs"), ConnectorKind.STEPS),
    (Term("room", frozenset({"stairs", "staircase"})), ConnectorKind.STEPS),
    (Term("ramp"), ConnectorKind.RAMP),
)
BARRIERS: Final = (
    Term("indoor", frozenset({"wall", "column", "pillar"})),
    Term("barrier"),
    Term("leisure", frozenset({"swimming_pool"})),
    Term("natural", frozenset({"water"})),
)
PASSABLE: Final = Term(
    "barrier", frozenset({"entrance", "gate", "kerb", "swing_gate", "turnstile"})
)
POINTS_OF_INTEREST: Final = (
    *(
        Term(key)
        for key in (
            "amenity", "shop", "leisure", "office", "tourism", "healthcare", "craft", "club",
            "emergency", "attraction", "vending", "information", "occupant",
        )
    ),
    Term("room", frozenset({"toilets", "shower"})),
)  # fmt: skip
LOCKS: Final = (
    Term("access", frozenset({"no"})),
    Term("foot", frozenset({"no"})),
    Term("locked", frozenset({"yes"})),
    Term("entrance", frozenset({"emergency"})),
)
OUT_OF_SERVICE: Final = (
    Term("access", frozenset({"no"})),
    Term("disused", frozenset({"yes"})),
    Term("operational_status", frozenset({"broken", "closed", "out_of_order", "out_of_service"})),
)
WHEELCHAIR: Final = {"yes": True, "designated": True, "limited": True, "no": False}
WIDTHS: Final = ("width", "door:width", "maxwidth:physical")


def says(terms: tuple[Term, ...], tags: Tags) -> bool:
    """Whether any of the terms is in the tags."""
    return any(term.is_in(tags) for term in terms)


def space_kind(feature: Feature) -> SpaceKind | None:
    """None for what is no space: nothing without extent is one.

    A building out of doors with something of interest in it is a room.
    """
    tags = feature.tags
    if not isinstance(feature.geometry, Area) or is_site(tags):
        return None
    if "indoor" not in tags and is_building(tags) and says(POINTS_OF_INTEREST, tags):
        return SpaceKind.ROOM
    kind = SPACES.get(tags.get("indoor", ""))
    return SpaceKind.AREA if kind is None and tags.get("highway") in FOOTWAYS else kind


def is_footpath(feature: Feature) -> bool:
    """A line to walk along, on one level."""
    return (
        isinstance(feature.geometry, Lines)
        and feature.tags.get("highway") in FOOTWAYS
        and len(feature.levels) == 1
    )


def connector_kind(feature: Feature) -> ConnectorKind | None:
    """None for what leads to no other level.

    A moving walkway stays on its level; a footway that spans two is a ramp.
    """
    tags = feature.tags
    is_single = len(feature.levels) == 1
    if tags.get("highway") in FOOTWAYS:
        return None if is_single else ConnectorKind.RAMP
    return next((kind for term, kind in CONNECTORS if term.is_in(tags)), None)


def is_door(feature: Feature) -> bool:
    """`door=no` is an opening without a leaf."""
    tags = feature.tags
    return space_kind(feature) is None and (
        "door" in tags or Term("entrance").is_in(tags) or tags.get("indoor") == "door"
    )


def is_barrier(feature: Feature) -> bool:
    """A point blocks nothing, nor does what is a space or passable."""
    return (
        not isinstance(feature.geometry, Point)
        and space_kind(feature) is None
        and says(BARRIERS, feature.tags)
        and not PASSABLE.is_in(feature.tags)
    )


def is_outline(feature: Feature) -> bool:
    """The outer edge of a level."""
    return feature.tags.get("indoor") == "level" and isinstance(feature.geometry, Area)


def width_feet(tags: Tags) -> float | None:
    """The width of a door where its tags tell it, in metres or with a unit."""
    widths = (parse_feet(tags[key]) for key in WIDTHS if key in tags)
    return next((width for width in widths if width), None)


def name_of(feature: Feature) -> str:
    """What people call it, else what it is, else its id; nothing is called after its vacancy."""
    tags = feature.tags
    if feature.unit_id:
        return tags.get("name") or feature.unit_id
    keys = ("name", "ref", "addr:unit", "room", "amenity", "shop", "leisure", "occupant")
    found = (tags[key] for key in keys if tags.get(key))
    return next((text for text in found if text not in VACANT), feature.id)
