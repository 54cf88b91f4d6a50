"""Read the type of a group from its name, for programs that cannot write `data-type`.

The rules are the table "Names as markup" of docs/unit-maps.md.
"""

import re
from difflib import get_close_matches
from functools import lru_cache
from typing import Final, NamedTuple

from parsing.errors import InvalidMarkupError
from parsing.limits import DEFAULT_LIMITS
from parsing.svg.data_tags import parse_tags
from parsing.svg.georeferences import parse_georeference

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
    rf"\s*(level|(?P<storey>{STOREY_PATTERN}))[\s_]*(?::(?P<tags>.*))?",
    re.IGNORECASE | re.DOTALL,
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
    """What a group's name makes of it; tags are those of a Level or members of a Georeference."""

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
