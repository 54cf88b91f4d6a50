"""Names that people write: comparing them, and making ids of them."""

import unicodedata
from collections.abc import Iterable
from difflib import get_close_matches

MAX_COMPARED_CHARACTERS = 100


def fold(name: str) -> str:
    """Return a name without what people write differently.

    >>> fold("Unit #"), fold("floor_id"), fold("Floor-ID")
    ('unit', 'floorid', 'floorid')
    """
    return "".join(filter(str.isalnum, name.casefold()))


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


def suggest(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean "..."?` if a known name resembles this one, else nothing.

    >>> suggest("colums", ["columns", "sheets"])
    '; did you mean "columns"?'
    """
    by_folded = {fold(each): each for each in known}
    close = get_close_matches(fold(name[:MAX_COMPARED_CHARACTERS]), by_folded, n=1)
    return f'; did you mean "{by_folded[close[0]]}"?' if close else ""
