"""Floors by the names that people give them."""

import re
from typing import NamedTuple

from storage.bundles.reading.tables.names import fold, slug

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
    """What the name of a floor says of it."""

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
