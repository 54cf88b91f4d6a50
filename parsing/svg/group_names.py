"""Read names of groups and shapes as markup, for programs that cannot write `data-type`.

The rules are the table "Names as markup" of docs/unit-maps.md.
"""

import html
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from parsing.errors import InvalidMarkupError
from parsing.limits import DEFAULT_LIMITS
from parsing.svg.elements import (
    COPY_NUMBER,
    HIT_PREFIX,
    ILLUSTRATOR_MARKER,
    INKSCAPE_LABEL,
    Identity,
    ShapeContainer,
    UnitGroup,
    designer_name,
    identify,
    inkscape_label,
    is_made_up,
    parse_georeference,
    parse_tags,
)

LAYER_KINDS: Final = {"unitlayer": "UnitLayer", "hitarealayer": "HitAreaLayer"}
GROUP_TYPES: Final = ("Level", "UnitLayer", "HitAreaLayer", "Georeference", "Layer")
"""Values of `data-type`. A Layer is what every other group is too."""
TYPES: Final = frozenset({"level", "unitlayer", "hitarealayer", "georeference"})

NUMBERS: Final = "one|two|three|four|five|six|seven|eight|nine|ten"
ORDINALS: Final = (
    r"[0-9]{1,3}(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth"
)
NAMED_STOREYS: Final = "(?:(?:lower|upper)[\\s_-]+)?(?:ground|basement|mezzanine|lobby|roof)"
STOREY_WORDS: Final = "level|lvl|floor|storey|story"
OTHER_STOREYS: Final = (
    rf"(?:(?:top|main|parking|eleventh|twelfth|(?:thir|four|fif|six|seven|eigh|nine)teenth|twentieth)"
    rf"[\s_-]+(?:{STOREY_WORDS})|(?P<ordinal>[0-9]{{1,3}})\.?[\s_-]*(?:{STOREY_WORDS})"
    rf"|(?:{STOREY_WORDS})s?[\s_-]+[0-9]{{1,9}}[a-z]{{0,9}})"
)

# Most groups have another name, so these few characters decide for them.
NAME_START: Final = re.compile(
    rf"[\s_-]*(?:unit|uint|hit|georef|{STOREY_WORDS}|l[0-9]|{ORDINALS}|{NAMED_STOREYS}"
    rf"|{OTHER_STOREYS})",
    re.IGNORECASE,
)
BETWEEN_WORDS: Final = re.compile(r"[\s_-]+")
LAYER_NAME: Final = re.compile(r"(unitlayer|hitarealayer)(?:copy)?[0-9]*")
LAYER_START: Final = re.compile("unitlayer|hitarealayer")
OTHER_LEVEL: Final = "Level: floor=<id of the floor>"
STOREY_NUMBER: Final = r"[\s_-]*-?[0-9]{1,3}(?:\.[0-9])?[a-z]?"
STOREY_PATTERN: Final = (
    rf"level{STOREY_NUMBER}|level[\s_-]+[a-z]{{1,2}}[0-9]{{0,2}}"
    rf"|(?:{STOREY_WORDS}){STOREY_NUMBER}|(?:{STOREY_WORDS})[\s_-]+[a-z]{{1,2}}[0-9]{{1,2}}"
    rf"|(?:{STOREY_WORDS})[\s_-]+(?:{NAMED_STOREYS}|{NUMBERS})"
    rf"|(?:{NAMED_STOREYS}|{ORDINALS})[\s_-]+(?:{STOREY_WORDS})"
)
LEVEL_NAME: Final = re.compile(
    rf"\s*(level|(?P<storey>{STOREY_PATTERN}))[\s_]*(?::(?P<tags>.*))?", re.IGNORECASE | re.DOTALL
)
NEAR_LEVEL_NAME: Final = re.compile(
    rf"[\s_-]*(?:level:|(?P<storey>{STOREY_PATTERN})(?![^\W_])|l(?P<number>[0-9]{{1,2}})[\s_-]*$"
    rf"|(?P<other>{NAMED_STOREYS})[\s_-]*$|(?P<another>{OTHER_STOREYS})(?![^\W_]))",
    re.IGNORECASE,
)
GEOREFERENCE_NAME: Final = re.compile(r"\s*georeference[\s_]*:(.*)", re.IGNORECASE | re.DOTALL)
UNDERSCORES: Final = re.compile(r"_*([;=])_*")
HINTS: Final = {
    **LAYER_KINDS,
    "units": "UnitLayer",
    "unit": "UnitLayer",
    "hits": "HitAreaLayer",
    "hitlayer": "HitAreaLayer",
    "hitarea": "HitAreaLayer",
    "hitareas": "HitAreaLayer",
}
MAX_NAME_CHARACTERS: Final = 500
"""Length up to which a name may be markup."""


class NamedType(NamedTuple):
    """The type that a group has by its name; a Level has tags, a Georeference members as tags."""

    kind: str
    id: str = ""
    tags: dict[str, str] | None = None


@lru_cache(maxsize=1_000)
def read_layer_name(name: str, illustrator: bool = False) -> NamedType | None:
    """Return what a group of this name is, or None for a Layer.

    >>> read_layer_name("Hit Area Layer").kind
    'HitAreaLayer'
    >>> read_layer_name("Level 2: floor=second; building=1")
    NamedType(kind='Level', id='Level 2', tags={'floor': 'second', 'building': '1'})
    """
    if not NAME_START.match(name):
        return None
    if layer := LAYER_NAME.fullmatch(_fold(name)):
        return NamedType(LAYER_KINDS[layer[1]])
    try:
        if level := LEVEL_NAME.fullmatch(name):
            tags = _parse_tags(level["tags"] or "", illustrator)
            return NamedType("Level", level[1].strip() if level["storey"] else "", tags or None)
        if georeference := GEOREFERENCE_NAME.fullmatch(name):
            tags = _parse_tags(georeference[1], illustrator)
            attributes = {f"data-{key}": value for key, value in tags.items()}
            parse_georeference(attributes, DEFAULT_LIMITS.magnitude)
            return NamedType("Georeference", tags=tags)
    except InvalidMarkupError:
        return None  # `suggest_name` says so
    return None


@lru_cache(maxsize=1_000)
def suggest_name(name: str) -> str:
    """Return the markup that this name of a group was probably meant to be, or "".

    >>> suggest_name("Unit Layers"), suggest_name("Level 4 East"), suggest_name("Furniture")
    ('UnitLayer', 'Level 4', '')
    """
    if not NAME_START.match(name):
        return ""
    folded = _fold(name)
    if near_level := NEAR_LEVEL_NAME.match(name):
        if named := near_level["number"] or near_level["other"]:
            return f"Level {named}"
        if near_level["another"]:
            return f"Level {near_level['ordinal']}" if near_level["ordinal"] else OTHER_LEVEL
        if near_level["storey"] and "=" in name:
            return f"{near_level['storey']}: {name[near_level.end() :].strip()[:40]}"
        return near_level["storey"] or "Level: floor=2"
    if folded.startswith("georeference"):
        return "Georeference: latitude=41.88; longitude=-87.62; zoom=18"
    if layer := LAYER_START.match(folded):
        return LAYER_KINDS[layer[0]]
    near = get_close_matches(folded[:40].rstrip("0123456789"), HINTS, 1, 0.85)
    return HINTS[near[0]] if near else ""


@lru_cache(maxsize=1_000)
def suggest_type(value: str) -> str:
    """Return the value of `data-type` that this one was probably meant to be, or "".

    >>> suggest_type("Unit Layer"), suggest_type("level"), suggest_type("Wall")
    ('UnitLayer', 'Level', '')
    """
    types = {_fold(name): name for name in GROUP_TYPES} | HINTS
    near = get_close_matches(_fold(value[:40]), types, 1, 0.8)
    return types[near[0]] if near else ""


def is_type(value: str) -> bool:
    """Return whether a value is a type but Layer, in any capitals.

    >>> is_type("unitlayer"), is_type("room")
    (True, False)
    """
    return _fold(value[:40]) in TYPES


def _fold(name: str) -> str:
    return BETWEEN_WORDS.sub("", name).lower()


def _parse_tags(text: str, illustrator: bool) -> dict[str, str]:
    """Parse tags in a name. Illustrator writes a blank as an underscore."""
    return parse_tags(UNDERSCORES.sub(r"\1", text.strip("_ ")) if illustrator else text)


TYPED_GROUP: Final = re.compile(
    rb"<(?:[^\s<>/!?:]+:)?g(?:\s+[^\s=<>/]+\s*=\s*(?:\"[^\"]*\"|'[^']*'))*?"
    rb"\s+data-type\s*=\s*[\"'](?:Level|UnitLayer|HitAreaLayer)[\"']"
)
NOT_MARKUP: Final = {b"<!--": b"-->", b"<![CDATA[": b"]]>"}
NOT_MARKUP_START: Final = re.compile(rb"<!--|<!\[CDATA\[")
ID_ATTRIBUTE: Final = re.compile(rb"\sid\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
MAX_SUGGESTIONS: Final = 500
"""Names that resemble markup for which it is looked up which markup was meant."""
INKSCAPE_LAYER: Final = "{http://www.inkscape.org/namespaces/inkscape}groupmode"
HIT_NAME: Final = re.compile(r"hit[\s_-]*(.+)", re.IGNORECASE | re.DOTALL)
NAME_ATTRIBUTES: Final = (INKSCAPE_LABEL, "data-name", "id")
"""Attributes that may have the name of a group, the first that has one counts."""
OTHER_NAMES: Final = frozenset({INKSCAPE_LABEL, "data-name"})


class NameReader:
    """Reads the names of one drawing."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._illustrator = ILLUSTRATOR_MARKER.search(text) is not None
        self._other_names = 0  # that begin like markup
        self._taken: dict[str, set[str]] = {}  # names of units, by layer

    @cached_property
    def are_markup(self) -> bool:
        """Return whether no group has a `data-type` that makes it a part of the map."""
        text = self._text
        return b"data-type" not in text or not any(
            map(TYPED_GROUP.search, _split_at_comments(text))
        )

    def read_group(self, attributes: Mapping[str, str]) -> tuple[str, NamedType | str] | None:
        """Return the first name of a group that names a type, and the type.

        If a name only resembles markup, return that name and the markup; if none does, None.
        """
        # Most groups have no name, or one that is no markup.
        if OTHER_NAMES.isdisjoint(attributes) and not NAME_START.match(attributes.get("id", "")):
            return None
        names = [
            designer_name(attributes, self._illustrator) if attribute == "id" else name
            for attribute in NAME_ATTRIBUTES
            if 0 < len(name := attributes.get(attribute, "")) <= MAX_NAME_CHARACTERS
        ]
        for name in names:
            if named := read_layer_name(name, self._illustrator):
                return name, named
        self._other_names += 1
        for name in names if self._other_names <= MAX_SUGGESTIONS else ():
            if suggestion := suggest_name(name):
                return name, suggestion
        return None

    def enter_unit_group(
        self, attributes: Mapping[str, str], position: ShapeContainer
    ) -> ShapeContainer:
        """Return the position inside a group of a layer, which may have the name of a unit."""
        if attributes.get(INKSCAPE_LAYER) == "layer":
            return position
        name, outer = self._unit_name(attributes, position), position.group
        if not name or (outer is not None and outer.name == name):
            return position
        self._take(name, position)
        return position._replace(group=UnitGroup(name))

    def identify(self, attributes: Mapping[str, str], position: ShapeContainer) -> Identity | None:
        """Return the identity of a shape in a layer, by its own name or that of its group."""
        if not self.are_markup:
            return identify(position.layer, attributes, self._illustrator)
        name, group = self._unit_name(attributes, position), position.group
        if group is not None and name in ("", group.name):
            if group.is_drawn:
                return None
            group.is_drawn = True
            name = group.name
        elif name:
            self._take(name, position)
        if not name:
            return None
        named = {**attributes, "data-id": name}
        if position.layer == "HitAreaLayer" and not attributes.get("data-target-id"):
            prefixed = HIT_NAME.fullmatch(name)
            named["data-id"] = HIT_PREFIX + (prefixed[1] if prefixed else name)
        return identify(position.layer, named, self._illustrator)

    def find_name(self, attributes: Mapping[str, str]) -> str:
        """Return the name that the designer gave to an element, or ""."""
        return designer_name(attributes, self._illustrator)

    def _unit_name(self, attributes: Mapping[str, str], position: ShapeContainer) -> str:
        """Return the name of an object, or "" for one that its program made up."""
        if data_id := attributes.get("data-id", "").strip():
            return data_id
        label = inkscape_label(attributes)
        if label and not is_made_up(label):
            return label
        name = designer_name(attributes, self._illustrator).strip()
        if not name or is_made_up(name):
            return ""
        copy = COPY_NUMBER.fullmatch(name)
        if copy and self._is_of_another(copy[1], attributes.get("id", ""), position):
            return copy[1]
        return name

    def _is_of_another(self, name: str, numbered: str, position: ShapeContainer) -> bool:
        """Return whether an id is that of a label or a group around it, and of no other unit.

        Figma numbers what comes later, so only an id before the one with the number counts.
        """
        if position.group is not None and position.group.name == name:
            return True
        if name in self._taken.get(position.layer, ()) or name not in self._ids:
            return False
        return numbered not in self._ids or self._ids[name] < self._ids[numbered]

    def _take(self, name: str, position: ShapeContainer) -> None:
        self._taken.setdefault(position.layer, set()).add(name)

    @cached_property
    def _ids(self) -> dict[str, int]:
        """Return all ids of the drawing, numbered in order."""
        ids: dict[str, int] = {}
        for double, single in ID_ATTRIBUTE.findall(self._text):
            ids.setdefault(html.unescape((double or single).decode()), len(ids))
        return ids


def _split_at_comments(text: bytes) -> Iterator[bytes]:
    """Yield the parts of a text that are no comments or CDATA, in time linear in its length."""
    start = 0
    while opening := NOT_MARKUP_START.search(text, start):
        yield text[start : opening.start()]
        closing = NOT_MARKUP[opening[0]]
        end = text.find(closing, opening.end())
        if end < 0:
            return
        start = end + len(closing)
    yield text[start:]
