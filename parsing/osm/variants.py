"""Translate other ways to tag the inside of a building into Simple Indoor Tagging.

IndoorOSM (https://wiki.openstreetmap.org/wiki/IndoorOSM), the area graphs of osmAG, and properties
that editors of GeoJSON use: a `category` or `feature_type` like those of IMDF, or only a name.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from parsing.drawing import AREA_VALUES, AreaGeometry, NoteCollector, Tags
from parsing.imdf.terms import CORRIDOR, OPEN_AREA, ROOM, UNIT_TAGS, WALL, find_tags
from parsing.osm.levels import LEVEL_KEYS
from parsing.osm.surroundings import GeoFeature

BUILDING_PART_KEYS: Final = ("buildingpart", "building:part")
BUILDING_PARTS: Final[Mapping[str, Tags]] = {
    "room": ROOM,
    "hall": ROOM,
    "corridor": CORRIDOR,
    "verticalpassage": ROOM,
}
# A shape that reaches into both spaces; without the tag `area`, it is its outline.
DOOR_AREA: Final = {"indoor": "door", "door": "yes", "area": "yes"}
DOORWAY: Final = {**DOOR_AREA, "door": "no"}
LEVEL: Final = {"indoor": "level"}
ELEVATOR: Final = {"highway": "elevator"}
STEPS: Final = {"highway": "steps"}
PASSAGES: Final[Mapping[str, Tags]] = {
    **dict.fromkeys(("elevator", "lift"), ELEVATOR),
    **dict.fromkeys(("staircase", "stairs", "stairway", "stairwell"), STEPS),
    "escalator": {"highway": "steps", "conveying": "yes"},
    "ramp": {"ramp": "yes"},
}
INDOOR_VALUES: Final[Mapping[str, Tags]] = {
    "arch": DOORWAY,
    "doorway": DOORWAY,
    "elevator": {"indoor": "room", "highway": "elevator"},
    "floor": LEVEL,
    "hall": OPEN_AREA,
    "hallway": CORRIDOR,
    "pillar": {"indoor": "column"},
    "stairs": {"indoor": "area", "highway": "steps"},
    "steps": {"indoor": "area", "highway": "steps"},
}
SIMPLE_VALUES: Final = frozenset({"area", "column", "corridor", "door", "level", "room", "wall"})
TOILETS: Final = {**ROOM, "room": "toilets", "amenity": "toilets"}
CATEGORY_KEYS: Final = ("category", "feature_type", "type")
CATEGORIES: Final[Mapping[str, Tags]] = {
    **UNIT_TAGS,
    "walkable": CORRIDOR,
    **dict.fromkeys(("atrium", "courtyard", "hall", "rotunda"), OPEN_AREA),
    **{category: {**ROOM, "shop": "yes"} for category in ("retail", "shop", "store")},
    **dict.fromkeys(("food", "unit"), ROOM),
    **dict.fromkeys(("building_outline", "surface"), LEVEL),
    **dict.fromkeys(("bathroom", "toilet"), TOILETS),
    **dict.fromkeys(("inaccessible_space", "wall", "window"), WALL),
    "door": DOOR_AREA,
}
POINT_CATEGORIES: Final[Mapping[str, Tags]] = {
    "door": {"door": "yes"},
    "entrance": {"entrance": "yes"},
}
CONNECTOR_KEYS: Final = frozenset({"conveying", "elevator", "highway", "ramp", "room", "stairs"})
NAME_KEYS: Final = ("name", "ref", "room")
OTHER_KEYS: Final = frozenset(
    {
        "advertising", "aeroway", "amenity", "area:highway", "attraction", "barrier", "boundary",
        "building", "building:part", "conveying", "door", "elevator", "entrance", "highway",
        "historic", "indoor", "landuse", "leisure", "man_made", "natural", "place", "power",
        "public_transport", "railway", "ramp", "stairs", "tourism", "waterway",
    }
)  # fmt: skip
"""Keys that say that a closed way is something else than a room."""
PLACE_KEYS: Final = frozenset({"amenity", "leisure", "tourism"})
"""Keys that may also say what kind of room it is, if there is a tag `room`."""


class _Translation(NamedTuple):
    source: str
    """The tag that was translated, for the note."""
    tags: Tags


def translate_tags(feature: GeoFeature, collector: NoteCollector) -> GeoFeature:
    """Return the feature with the tags of Simple Indoor Tagging that its own tags mean.

    >>> way = GeoFeature("way/1", {"buildingpart": "corridor"}, AreaGeometry(()))
    >>> translate_tags(way, NoteCollector()).tags["indoor"]
    'corridor'
    """
    translation = _translate(feature.tags, isinstance(feature.geometry, AreaGeometry))
    if translation is None:
        return feature
    meaning = ";".join(f"{key}={value}" for key, value in translation.tags.items())
    collector.add(f"{translation.source} read as {meaning}", feature.id)
    return feature._replace(tags={**feature.tags, **translation.tags})


def _translate(tags: Tags, is_area: bool) -> _Translation | None:
    for key in BUILDING_PART_KEYS:
        if is_area and (part := BUILDING_PARTS.get(tags.get(key, ""))):
            return _Translation(f"{key}={tags[key]}", {**part, **_passage_tags(tags)})
    if tags.get("osmAG:type") == "passage":
        return _Translation("osmAG:type=passage", {"door": "yes"})
    indoor = tags.get("indoor", "")
    if meaning := INDOOR_VALUES.get(indoor.lower()):
        return _Translation(f"indoor={indoor}", meaning)
    if indoor != indoor.lower() in SIMPLE_VALUES:
        return _Translation(f"indoor={indoor}", {"indoor": indoor.lower()})
    kind = tags.get("type", "")
    if indoor in AREA_VALUES and kind in PASSAGES and CONNECTOR_KEYS.isdisjoint(tags):
        return _Translation(f"type={kind}", PASSAGES[kind])
    if is_area and not indoor and not tags.keys().isdisjoint(LEVEL_KEYS):
        if tags.get("highway") == "steps":
            return _Translation("closed way with highway=steps", OPEN_AREA)
        if "platform" in (tags.get("railway"), tags.get("public_transport")):
            return _Translation("platform on a level", OPEN_AREA)
    if (OTHER_KEYS - PLACE_KEYS if "room" in tags else OTHER_KEYS).isdisjoint(tags):
        return _translate_category(tags, is_area)
    return None


def _passage_tags(tags: Tags) -> Tags:
    """Return the kind of a vertical passage of IndoorOSM, and its levels if it has none itself.

    With a level, it is one of several shapes: every level draws its own.
    """
    for key in BUILDING_PART_KEYS:
        passage = f"{key}:verticalpassage"
        if tags.get(key) == "verticalpassage":
            kind = PASSAGES.get(tags.get(passage, ""), {})
            levels = "" if tags.get("level") else tags.get(f"{passage}:floorrange")
            return {**kind, "level": levels} if levels else kind
    return {}


def _translate_category(tags: Tags, is_area: bool) -> _Translation | None:
    for key in CATEGORY_KEYS:
        category = tags.get(key, "").lower()
        if meaning := find_category(category, is_area):
            return _Translation(f"{key}={category}", meaning)
    named = next((key for key in NAME_KEYS if tags.get(key, "no") != "no"), None)
    if is_area and tags.get("level") and named:
        if tags[named].lower().endswith("wall"):
            return _Translation("name of a wall", WALL)
        return _Translation(f"closed way with {named} and level", ROOM)
    return None


def find_category(category: str, is_area: bool) -> Tags | None:
    """Return the tags of a category, also as the plural or the last word of it, or None.

    >>> find_category("male_restrooms", is_area=True)
    {'indoor': 'room', 'room': 'toilets', 'amenity': 'toilets'}
    """
    table = CATEGORIES if is_area else POINT_CATEGORIES
    words = category.removesuffix("s") if category not in table else category
    return find_tags(table, words) or find_tags(table, words.rpartition("_")[2])
