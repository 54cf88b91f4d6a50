"""Names that people write: comparing them, finding the one that was meant, making ids of them."""

import re
import unicodedata
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import NamedTuple, TypeAlias

from storage.records.kinds import MAX_ID_CHARACTERS

MAX_COMPARED_CHARACTERS = 100
"""Comparing takes quadratic time in the length."""
MAX_SUGGESTIONS = 1000
"""A run looks for no more: a file may have a million names, all of them wrong."""

Suggest: TypeAlias = Callable[[str, Iterable[str]], str | None]


def suggest(name: str, known: Iterable[str], min_ratio: float = 0.6) -> str | None:
    """Return the known name that resembles the given one most, or None.

    `min_ratio` is that of difflib, from 0 to 1.

    >>> suggest("flor", ["id", "asset_id", "floor_id", "name"])
    'floor_id'
    >>> suggest("Name", ["id", "name"])
    'name'
    """
    if len(name) > MAX_COMPARED_CHARACTERS:
        return None
    by_folded = {_fold_name(each): each for each in known}
    close = get_close_matches(_fold_name(name), by_folded, n=1, cutoff=min_ratio)
    return by_folded[close[0]] if close else None


class Suggestions:
    """Suggestions of one run. A mistake that is repeated is looked up once.

    >>> suggestions = Suggestions()
    >>> suggestions.find("nmae", ["id", "name"])
    'name'
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, ...], str | None] = {}

    def find(self, name: str, known: Iterable[str]) -> str | None:
        """Return what `suggest` returns, or None after too many different names."""
        question = (name, *known)
        if question not in self._found and len(self._found) < MAX_SUGGESTIONS:
            self._found[question] = suggest(name, known)
        return self._found.get(question)


def _fold_name(name: str) -> str:
    """Return a name without what people write differently: `floorId` and `floor_id` are one."""
    return name.casefold().replace("_", "").replace("-", "").replace(" ", "")


def fold(name: str) -> str:
    """Return a name without what people write differently.

    >>> fold("Unit #"), fold("floor_id"), fold("Floor-ID")
    ('unit', 'floorid', 'floorid')
    """
    return "".join(filter(str.isalnum, name.casefold()))


def squeeze(name: str) -> str:
    """Return a name with single blanks between its words.

    >>> squeeze("Oak  Street"), squeeze("Oak\N{NO-BREAK SPACE}Street")
    ('Oak Street', 'Oak Street')
    """
    return " ".join(name.split())


def is_same_name(name: str, other: str) -> bool:
    """Return whether two names differ only in what people write differently.

    >>> is_same_name("Oak  Street", "oak street"), is_same_name("?", "!"), is_same_name("", "")
    (True, False, True)
    """
    return (fold(name) or name) == (fold(other) or other)


def slug(*names: str) -> str:
    """Return a name for an id: lowercase letters, digits and single hyphens.

    >>> slug("Oak Street", "Unit #101"), slug("Café 7½")
    ('oak-street-unit-101', 'cafe-71-2')
    """
    plain = unicodedata.normalize("NFKD", " ".join(names).casefold())
    letters = (
        character if character.isalnum() else " "
        for character in plain
        if not unicodedata.combining(character) and character != "'"
    )
    return "-".join("".join(letters).split())


def name_symbol(character: str) -> str:
    """Return the name of a symbol in Unicode; nothing for punctuation, which has no meaning alone.

    >>> name_symbol("\N{CHECK MARK}"), name_symbol("-")
    ('CHECK MARK', '')
    """
    is_symbol = unicodedata.category(character).startswith("S")
    return unicodedata.name(character, "") if is_symbol else ""


def header_of(field: str) -> str:
    """Return the header of the column with a field.

    >>> header_of("asset_id"), header_of("map_ids"), header_of("feet_per_unit")
    ('Asset ID', 'Map IDs', 'Feet per unit')
    """
    words = [{"id": "ID", "ids": "IDs", "url": "URL"}.get(word, word) for word in field.split("_")]
    return " ".join([words[0][:1].upper() + words[0][1:], *words[1:]])


def hint_at(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean "..."?` if a known name resembles this one, else nothing.

    >>> hint_at("colums", ["columns", "sheets"])
    '; did you mean "columns"?'
    """
    meant = suggest(name, sorted(known))
    return f'; did you mean "{meant}"?' if meant else ""


ROOF_SORT = 1000
WORD_SORTS = {
    **dict.fromkeys(("ground", "groundfloor", "g", "gf", "lobby", "l", "street", "main"), 0),
    **dict.fromkeys(("basement", "cellar", "lowerground", "lg", "b"), -1),
    **dict.fromkeys(("penthouse", "ph"), ROOF_SORT - 100),
    **dict.fromkeys(("roof", "rooftop", "roofterrace", "roofdeck"), ROOF_SORT),
}
ORDINALS = (
    *("first", "second", "third", "fourth", "fifth"),
    *("sixth", "seventh", "eighth", "ninth", "tenth"),
)
_ORDINAL = re.compile(rf"({'|'.join(ORDINALS)})(?=[ ._-]*(floor|level|storey|story)?$)", re.I)
_NUMBERED = re.compile(
    r"(?:(?:floor|level|lvl|storey|story|fl|l)[ ._]+)?(?P<minus>-\d{1,2})"
    r"|(?:floor|level|lvl|storey|story|fl|l)?[ ._-]*(?P<number>\d{1,3})(?:st|nd|rd|th)?"
    r"(?:[ ._-]*(?:floor|level|storey|story))?"
    r"|(?:basement|b|p|parking)[ ._-]*(?P<below>\d{1,2})",
    re.IGNORECASE,
)


class NamedFloor(NamedTuple):
    """A floor as its name describes it."""

    name: str
    slug: str
    short_label: str
    sort: int | None
    """None if the name does not say how high the floor is."""


def parse_floor(text: str) -> NamedFloor:
    """Return what the name of a floor says.

    >>> parse_floor("2nd floor")
    NamedFloor(name='2nd floor', slug='floor-2', short_label='2', sort=2)
    >>> parse_floor("Second floor") == parse_floor("2nd floor")._replace(name="Second floor")
    True
    >>> parse_floor("02").name, parse_floor("B1").sort, parse_floor("Roof").sort
    ('Floor 2', -1, 1000)
    >>> parse_floor("Level -1").sort, parse_floor("Level-1").sort
    (-1, 1)
    >>> parse_floor("Mezzanine")
    NamedFloor(name='Mezzanine', slug='mezzanine', short_label='Mezzanine', sort=None)
    """
    digits = _ORDINAL.sub(lambda word: f"{ORDINALS.index(word[0].lower()) + 1}", text)
    if match := _NUMBERED.fullmatch(digits):
        below = match["below"] or (match["minus"] or "").lstrip("-")
        number = -int(below) if below else int(match["number"])
        is_plain = text.lstrip("-").isdecimal()
        if number < 0:
            name = f"Basement {-number}" if is_plain else text
            return NamedFloor(name, f"basement-{-number}", f"B{-number}", number)
        name = f"Floor {number}" if is_plain else text
        return NamedFloor(name, f"floor-{number}", str(number), number)
    return NamedFloor(text, slug(text), text, WORD_SORTS.get(fold(text)))


def floor_key(name: str) -> tuple[str, str]:
    """Return what all names of one floor have in common, also with its building behind them.

    >>> floor_key("1st floor, Tower A"), floor_key("Floor 1")
    (('floor-1', 'tower-a'), ('floor-1', ''))
    """
    floor, _, building = name.partition(", ")
    return parse_floor(floor).slug, slug(building)


# Records without an id in their sheet get one that is made of what identifies them for people: the
# same names give the same ids in every import, and other names other ids.

ID_SOURCES = {
    "assets": ("name",),
    "floors": ("asset_id", "name"),
    "backgrounds": ("unit_map_id", "name"),
    "maps": ("asset_id", "name"),
    "units": ("asset_id", "name"),
    "asset_references": ("asset_id", "key"),
    "attribute_groups": ("group_name",),
    "locations": ("unit_map_id", "name"),
}
"""Ids are made of these fields, by kind."""


def derive_id(owner_id: str, *names: str) -> str | None:
    """Return the id of a record: that of its owner, then its names. None if they have no letters.

    >>> derive_id("oak-street", "Tower A", "#101"), derive_id("", "Oak Street"), derive_id("a", "?")
    ('oak-street-tower-a-101', 'oak-street', None)
    """
    own = slug(*names)
    if not own:
        return None
    return f"{owner_id}-{own}"[:MAX_ID_CHARACTERS] if owner_id else own[:MAX_ID_CHARACTERS]
