"""How the features of a plan look when it is drawn: their colours by kind, and what is on top."""

from enum import IntEnum
from typing import Final, NamedTuple

from parsing.drawing import AreaGeometry, Feature, LinesGeometry, PointGeometry, Tags
from parsing.osm.tags import is_building, is_site
from resolvers.plans.tag_classification import (
    CLOSED_ROOM_MATCHERS,
    TagMatcher,
    get_connector_kind,
    get_space_kind,
    is_barrier,
    is_door,
    is_footpath,
    is_outdoors,
    is_outline,
    matches_any,
)
from routing.plan import ConnectorKind, SpaceKind


class Band(IntEnum):
    """What is painted over what, from the lowest."""

    GROUND = 0
    FLOOR = 1
    PATH = 2
    ROOM = 3
    CONNECTOR = 4
    BARRIER = 5
    DOOR = 6


class Look(NamedTuple):
    """The colour of a feature and its band; lines have a width, walls that of all walls.

    `edge` is the colour of the line around an area, if it has one below the walls.
    """

    band: Band
    colour: str
    line_feet: float | None = None
    dashes_feet: tuple[float, ...] = ()
    edge: str = ""


WALL_COLOUR: Final = "#57534e"
EDGE_COLOUR: Final = "#d3cbb9"
DOOR_COLOUR: Final = "#ffffff"
DEFAULT_ROOM_COLOUR: Final = "#e9dfcc"
CLOSED_ROOM_COLOUR: Final = "#d6d3cd"
SITE: Final = Look(Band.GROUND, "#eef1e6")
BUILDING: Final = Look(Band.GROUND, "#e3dfd8")
STOREY: Final = Look(Band.GROUND, "#f2eee4", edge=WALL_COLOUR)
CORRIDOR: Final = Look(Band.FLOOR, "#faf7ef", edge=EDGE_COLOUR)
AREA: Final = Look(Band.FLOOR, "#f4eedf", edge=EDGE_COLOUR)
OUTDOORS: Final = Look(Band.FLOOR, "#e6ecdb", edge=EDGE_COLOUR)
PATH: Final = Look(Band.PATH, "#e9e1cf", 4.0)
WALL: Final = Look(Band.BARRIER, WALL_COLOUR)
DOOR: Final = Look(Band.DOOR, DOOR_COLOUR)

_FOOD: Final = frozenset({"restaurant", "cafe", "fast_food", "food_court", "bar", "pub"})
_HEALTH: Final = frozenset({"hospital", "clinic", "doctors", "dentist", "pharmacy"})
ROOM_COLOURS: Final[tuple[tuple[tuple[TagMatcher, ...], str], ...]] = (
    (
        (
            TagMatcher("room", frozenset({"toilet", "toilets", "shower", "bathroom", "restroom"})),
            TagMatcher("amenity", frozenset({"toilets", "shower"})),
        ),
        "#cde3ec",
    ),
    ((TagMatcher("amenity", _FOOD), TagMatcher("room", frozenset({"kitchen"}))), "#f7d9bd"),
    ((TagMatcher("healthcare"), TagMatcher("amenity", _HEALTH)), "#f3d3d3"),
    ((TagMatcher("shop"),), "#f5e6ae"),
    (
        (
            TagMatcher(
                "room", frozenset({"class", "classroom", "lecture", "auditorium", "library"})
            ),
        ),
        "#dbe8cf",
    ),
    ((TagMatcher("office"), TagMatcher("room", frozenset({"office"}))), "#dbe2f0"),
    (CLOSED_ROOM_MATCHERS, CLOSED_ROOM_COLOUR),
)
"""The first of these that matches the tags of a room."""
WATER: Final = (
    TagMatcher("natural", frozenset({"water"})),
    TagMatcher("leisure", frozenset({"swimming_pool"})),
)
CONNECTOR_COLOURS: Final = {
    ConnectorKind.ELEVATOR: "#b9b3dc",
    ConnectorKind.STEPS: "#d2cdea",
    ConnectorKind.ESCALATOR: "#c5d3ea",
    ConnectorKind.RAMP: "#e2ddf1",
}
CONNECTOR_FEET: Final = 5.0
STEP_FEET: Final = (0.9, 0.35)


def choose_look(feature: Feature) -> Look | None:
    """Return how a feature looks, or None for one that is not drawn, such as a point of interest.

    >>> choose_look(Feature("1", ("0",), AreaGeometry(()), {"indoor": "corridor"})) == CORRIDOR
    True
    >>> for room in ("stairs", "elevator"):
    ...     choose_look(Feature("1", ("0",), AreaGeometry(()), {"room": room})).dashes_feet
    (0.9, 0.35)
    ()
    """
    if (kind := get_connector_kind(feature)) is not None:
        is_stepped = kind in (ConnectorKind.STEPS, ConnectorKind.ESCALATOR)
        dashes = STEP_FEET if is_stepped else ()
        return Look(Band.CONNECTOR, CONNECTOR_COLOURS[kind], CONNECTOR_FEET, dashes)
    if is_door(feature):
        return DOOR
    if isinstance(feature.geometry, PointGeometry):
        return None
    if isinstance(feature.geometry, AreaGeometry) and (look := _choose_look_of_area(feature)):
        return look
    if is_barrier(feature):
        return _choose_look_of_barrier(feature)
    return PATH if is_footpath(feature) else None


def _choose_look_of_area(feature: Feature) -> Look | None:
    tags, kind = feature.tags, get_space_kind(feature)
    if kind is SpaceKind.ROOM:
        return Look(Band.ROOM, _choose_room_colour(tags))
    if kind is not None and is_outdoors(tags):
        return OUTDOORS
    if kind is not None:
        return CORRIDOR if kind is SpaceKind.CORRIDOR else AREA
    if is_outline(feature):
        return STOREY
    if is_site(tags):
        return SITE
    return BUILDING if is_building(tags) else None


def _choose_room_colour(tags: Tags) -> str:
    matching = (colour for matchers, colour in ROOM_COLOURS if matches_any(matchers, tags))
    return next(matching, DEFAULT_ROOM_COLOUR)


def _choose_look_of_barrier(feature: Feature) -> Look:
    if matches_any(WATER, feature.tags):
        return Look(Band.BARRIER, "#bcdcec")
    is_wall = isinstance(feature.geometry, LinesGeometry) or feature.tags.get("indoor") == "wall"
    return WALL if is_wall else Look(Band.BARRIER, "#bcb6ab")
