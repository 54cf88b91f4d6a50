"""Interpret tags of Simple Indoor Tagging, and translate other vocabularies into it.

https://wiki.openstreetmap.org/wiki/Simple_Indoor_Tagging
"""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from parsing.drawing import (
    AREA_VALUES,
    FEET_PER_METRE,
    AreaGeometry,
    Bounds,
    Geometry,
    NoteCollector,
    Tags,
    compute_bounds,
)

# Parse the `level` tag of Simple Indoor Tagging: `0`, `-1;0`, `0-3`, `-2--1`, `0.5`. Other ways to
# write it are normalized first: `0,5`, `0,1,2`, `from 0 to 3`, `0~3`, `EG`, `B1`.

LEVEL_KEYS: Final = ("level", "level_name", "floor", "levels", "level_id")
"""The tag `level`, and those that may have the level of a feature without it."""
MAX_STOREYS: Final = 250
LEVEL_NUMBER: Final = r"[+-]?[0-9]{1,4}(?:\.[0-9]{1,3})?"
LEVEL_SPAN: Final = re.compile(rf"\s*({LEVEL_NUMBER})(?:\s*-\s*({LEVEL_NUMBER}))?\s*")
WORDY_SPAN: Final = re.compile(
    rf"(?:from\s+)?({LEVEL_NUMBER})\s*(?:to|~|\.\.)\s*({LEVEL_NUMBER})", re.IGNORECASE
)
DECIMAL_COMMA: Final = re.compile(r"([+-]?[0-9]{1,3}),(25|5|50|75)")
# A level in the name of a file, folder or floor: E_-1, floor_2, level-3, 1F, L2, B2, 3, ground.
NAMED_LEVEL: Final = re.compile(
    r"(?:.*[ _.])?(-?[0-9]{1,2})|.*(?:ebene|etage|floor|geschoss|level|niveau|stock|story|storey)"
    r"[ _-]?([0-9]{1,2})|(?:.*[ _-])?(?:f|l|og)?([0-9]{1,2})(?:f|st|nd|rd|th)?"
    r"(?:[ _-]?(?:floor|level))?|(?:.*[ _-])?(?:b|ug)([0-9]{1,2})f?"
    r"|(?:.*[ _-])?(?:gf|ground|eg|erdgeschoss|rdc)",
    re.IGNORECASE,
)

# A level in a tag, in the words of the names of files: EG, G, 2F, L3, B1, 2. OG, UG.
LEVEL_WORD: Final = re.compile(
    r"(?P<ground>e\.?g\.?|g\.?f\.?|g|ground(?:[ _-]?floor)?|erdgeschoss|parterre|rdc)"
    r"|(?P<below>u\.?g|basement|(?:b|ug) ?(?:[0-9]{1,2})|[0-9]{1,2}\.? ?ug)"
    r"|(?P<above>o\.?g|(?:l|og|floor|level)[ _-]?[0-9]{1,2}|[0-9]{1,2}(?:f|\.? ?og|\. ?stock))",
    re.IGNORECASE,
)


class LevelSpan(NamedTuple):
    """A range of levels, both ends included; a single level has equal ends."""

    lowest: float
    highest: float

    def iter_levels(self, known: Collection[float]) -> Iterator[float]:
        """Iterate upwards over both ends, and the whole numbers and `known` levels between them."""
        whole = map(float, range(math.ceil(self.lowest), math.floor(self.highest) + 1))
        between = (level for level in known if self.lowest < level < self.highest)
        yield from sorted({self.lowest, *whole, *between, self.highest})


class UnreadableLevelError(ValueError):
    """A level tag that cannot be parsed; the message shows valid ones."""


def normalize_levels(text: str, known: Collection[str] = ()) -> str:
    """Return a level tag with semicolons, points, hyphens and numbers for other signs and words.

    One comma is a decimal one if a half or a quarter follows, unless that is one of the `known`
    levels; other commas separate levels.

    >>> normalize_levels("0,5"), normalize_levels("0,5", {"5"}), normalize_levels("UG;EG")
    ('0.5', '0;5', '-1;0')
    """
    parts = (part.strip() for part in text.split(";"))
    return ";".join(_normalize_part(part, known) for part in parts if part)


def _normalize_part(part: str, known: Collection[str]) -> str:
    if span := WORDY_SPAN.fullmatch(part):
        return span[1] if span[1] == span[2] else f"{span[1]}-{span[2]}"
    if word := LEVEL_WORD.fullmatch(part):
        number = re.search("[0-9]+", part)
        storey = 0 if word["ground"] else int(number[0]) if number else 1
        return f"{-storey if word['below'] else storey}"
    decimal = DECIMAL_COMMA.fullmatch(part)
    if decimal and decimal[2] not in known:
        return f"{decimal[1]}.{decimal[2]}"
    if "," in part:
        levels = (level.strip() for level in part.split(","))
        return ";".join(_normalize_part(level, known) for level in levels if level)
    return part


def find_level_in_name(path: str) -> str:
    """Return the level that the name of a file or of its innermost folder ends with, or "".

    >>> [find_level_in_name(name) for name in ("E_-1.geojson", "B2/rooms.json", "plan.json")]
    ['-1', '-2', '']
    """
    *folders, name = path.split("/")
    for part in (name.partition(".geo")[0].partition(".json")[0], *reversed(folders)):
        if match := NAMED_LEVEL.fullmatch(part):
            basement, storey = match[4], match[1] or match[2] or match[3]
            return f"-{int(basement)}" if basement else f"{int(storey or 0)}"
    return ""


def parse_levels(text: str) -> tuple[LevelSpan, ...]:
    """Parse a level tag into spans. Raises `UnreadableLevelError`.

    >>> expand_spans(parse_levels("-1;1-3"))
    (-1.0, 1.0, 2.0, 3.0)
    """
    matches = [LEVEL_SPAN.fullmatch(part) for part in text.split(";")]
    spans = [LevelSpan(float(match[1]), float(match[2] or match[1])) for match in matches if match]
    if len(spans) < len(matches):
        raise UnreadableLevelError(f"level={text}; expected numbers such as 0, -1;0 or 0-3")
    ordered = tuple(LevelSpan(min(span), max(span)) for span in spans)
    if sum(high - low + 1 for low, high in ordered) > MAX_STOREYS:
        raise UnreadableLevelError(f"level={text} spans more than {MAX_STOREYS} storeys")
    return ordered


def expand_spans(
    spans: Iterable[LevelSpan], known: Collection[float] = (), absent: Collection[float] = ()
) -> tuple[float, ...]:
    """Return the levels of spans from the lowest.

    Ranges include the `known` levels between their ends and leave out the `absent` ones; a level
    named by itself always counts.
    """
    levels = {
        level
        for span in spans
        for level in span.iter_levels(known)
        if span.lowest == span.highest or level not in absent
    }
    return tuple(sorted(levels))


def format_level(level: float) -> str:
    """Format a level as in a tag: 0, -1, 0.5."""
    return f"{level + 0:g}"


# Parse lengths as OpenStreetMap writes them: `0.9`, `90 cm`, `3'`, `2'6"` (wiki, Key:width).

FEET_BY_UNIT: Final = {
    "": FEET_PER_METRE,
    "m": FEET_PER_METRE,
    "cm": FEET_PER_METRE / 100,
    "mm": 1 / 304.8,
    "ft": 1.0,
    "'": 1.0,
    "in": 1 / 12,
    '"': 1 / 12,
}
NUMBER_PATTERN: Final = r"[0-9]{1,6}(?:\.[0-9]{1,6})?"
LENGTH_PATTERN: Final = re.compile(rf"({NUMBER_PATTERN})\s*(m|cm|mm|ft|in|'|\")?")
FEET_AND_INCHES: Final = re.compile(rf"([0-9]{{1,5}})\s*(?:'|ft)\s*({NUMBER_PATTERN})\s*(?:\"|in)")


def parse_feet(text: str) -> float | None:
    """Parse a length into feet, or return None; a number without unit is in metres.

    >>> parse_feet("3 ft"), parse_feet("wide")
    (3.0, None)
    """
    text = text.strip().lower()
    if both := FEET_AND_INCHES.fullmatch(text):
        return float(both[1]) + float(both[2]) / 12
    match = LENGTH_PATTERN.fullmatch(text)
    return float(match[1]) * FEET_BY_UNIT[match[2] or ""] if match else None


# Find the grounds around the rooms of a plan and the buildings that stand on them. Simple Indoor
# Tagging does not cover the street between two rows of shops of one mall. The mall's outline does:
# its buildings subtracted from it, the rest can be walked on.

SITE_TAGS: Final[Mapping[str, frozenset[str]]] = {
    "shop": frozenset({"mall"}),
    "amenity": frozenset({"marketplace", "hospital", "university", "college", "school"}),
    "place": frozenset({"square"}),
    "highway": frozenset({"pedestrian"}),
}
BUILDING_KEYS: Final = ("building", "building:part")
OPEN_BELOW_VALUES: Final = frozenset({"no", "roof", "canopy", "carport", "balcony"})
"""Values of a building tag that leave the ground below walkable."""


class GeoFeature(NamedTuple):
    """A tagged feature of a geographic file, with an id such as `way/123`, in degrees."""

    id: str
    tags: Tags
    geometry: Geometry


def is_building(tags: Tags) -> bool:
    """Return whether the tags describe a building that covers the ground."""
    return any(tags.get(key, "no") not in OPEN_BELOW_VALUES for key in BUILDING_KEYS)


def is_site(tags: Tags) -> bool:
    """Return whether the tags describe walkable grounds that are neither room nor building."""
    return (
        "indoor" not in tags
        and not is_building(tags)
        and any(tags.get(key) in values for key, values in SITE_TAGS.items())
    )


def find_surroundings(
    outdoors: Iterable[GeoFeature], indoors: Iterable[GeoFeature]
) -> list[GeoFeature]:
    """Return the sites around the indoor features of the ground level and the buildings on them."""
    rooms = [feature.geometry for feature in indoors if isinstance(feature.geometry, AreaGeometry)]
    areas = [
        feature
        for feature in outdoors
        if isinstance(feature.geometry, AreaGeometry) and feature.geometry.rings
    ]
    if not rooms:
        return []
    indoors_bounds = compute_bounds(rooms)
    sites = [
        area
        for area in areas
        if is_site(area.tags) and _bounds_overlap(compute_bounds([area.geometry]), indoors_bounds)
    ]
    site_bounds = [compute_bounds([site.geometry]) for site in sites]
    buildings = [
        feature
        for feature in areas
        if is_building(feature.tags)
        and any(
            _bounds_overlap(compute_bounds([feature.geometry]), bounds) for bounds in site_bounds
        )
    ]
    return sites + buildings


def _bounds_overlap(one: Bounds, other: Bounds) -> bool:
    return (
        one.west <= other.east
        and other.west <= one.east
        and one.north <= other.south
        and other.north <= one.south
    )


# Translate IMDF's categories to OpenStreetMap's indoor tags (OGC 20-094, Categories). A category
# with a suffix (`restroom.female.wheelchair`) means the same as without it, unless it has its own
# row.

ROOM: Final = {"indoor": "room"}
PRIVATE_ROOM: Final = {**ROOM, "access": "private"}
CORRIDOR: Final = {"indoor": "corridor"}
OPEN_AREA: Final = {"indoor": "area"}
WALL: Final = {"indoor": "wall", "area": "yes"}

UNIT_TAGS: Final[Mapping[str, Tags]] = {
    **dict.fromkeys(("corridor", "footbridge", "hallway", "walkway"), CORRIDOR),
    **dict.fromkeys(
        (
            "fieldofplay", "lobby", "parking", "platform", "road", "terrace", "unenclosedarea",
            "waitingroom",
        ),
        OPEN_AREA,
    ),
    **dict.fromkeys(
        ("brick", "column", "concrete", "drywall", "glass", "structure", "vegetation", "wood"), WALL
    ),
    "opentobelow": {**WALL, "wall": "opentobelow"},
    "elevator": {**ROOM, "highway": "elevator"},
    "stairs": {**ROOM, "highway": "steps"},
    "steps": {**OPEN_AREA, "stairs": "yes"},
    "escalator": {**ROOM, "highway": "steps", "conveying": "yes"},
    "ramp": {**ROOM, "ramp": "yes"},
    "movingwalkway": CORRIDOR,
    # The residential ones are not the standard's own, but in use.
    **dict.fromkeys(
        (
            "apartment", "bedroom", "condominium", "dwelling", "dwellingunit", "guestroom",
            "hotelroom", "livingroom", "nonpublic", "residence", "residential", "suite",
        ),
        PRIVATE_ROOM,
    ),
    "restroom": {**ROOM, "room": "toilets", "amenity": "toilets"},
    "foodservice": {**ROOM, "amenity": "food_court"},
    "firstaid": {**ROOM, "amenity": "first_aid"},
    "fitnessroom": {**ROOM, "leisure": "fitness_centre"},
    "library": {**ROOM, "amenity": "library"},
    "lounge": {**ROOM, "amenity": "lounge"},
    "mailroom": {**ROOM, "amenity": "letter_box"},
    "mothersroom": {**ROOM, "amenity": "baby_care"},
    "movietheater": {**ROOM, "amenity": "cinema"},
    "shower": {**ROOM, "amenity": "shower"},
    "smokingarea": {**OPEN_AREA, "amenity": "smoking_area"},
    "theater": {**ROOM, "amenity": "theatre"},
    **dict.fromkeys(("room", "unspecified"), ROOM),
    **{
        name: {**ROOM, "room": name}
        for name in (
            "auditorium", "classroom", "conferenceroom", "huddleroom", "kitchen", "laboratory",
            "office", "phoneroom", "privatelounge", "recreation", "serverroom", "storage",
        )
    },
}  # fmt: skip

OPENING_TAGS: Final[Mapping[str, Tags]] = {
    "pedestrian": {},
    "pedestrian.principal": {"entrance": "main"},
    "emergencyexit": {"entrance": "emergency"},
    "service": {"entrance": "service", "access": "private"},
    "automobile": {"access": "no"},
    "bicycle": {},
}

# Where OpenStreetMap has its own term; any other category is its own term.
AMENITY_TAGS: Final[Mapping[str, Tags]] = {
    "restroom": {"amenity": "toilets"},
    "babychanging": {"amenity": "baby_care"},
    "drinkingfountain": {"amenity": "drinking_water"},
    "wheelchairassist": {"amenity": "wheelchair_assistance"},
    "parkingbicycle": {"amenity": "bicycle_parking"},
    "defibrillator": {"emergency": "defibrillator"},
    "aed": {"emergency": "defibrillator"},
    "fireextinguisher": {"emergency": "fire_extinguisher"},
    "information": {"tourism": "information"},
    "swimmingpool": {"leisure": "swimming_pool"},
    "firstaid": {"amenity": "first_aid"},
    "vending": {"amenity": "vending_machine"},
    "mailbox": {"amenity": "post_box"},
}


def find_tags(table: Mapping[str, Tags], category: str) -> Tags | None:
    """Return the tags of a category or of its nearest parent category, or None.

    >>> find_tags(UNIT_TAGS, "restroom.female.wheelchair")
    {'indoor': 'room', 'room': 'toilets', 'amenity': 'toilets'}
    """
    while category and category not in table:
        category = category.rpartition(".")[0]
    return table.get(category)


# Translate other ways to tag the inside of a building into Simple Indoor Tagging. IndoorOSM
# (https://wiki.openstreetmap.org/wiki/IndoorOSM), the area graphs of osmAG, and properties that
# editors of GeoJSON use: a `category` or `feature_type` like those of IMDF, or only a name.

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
