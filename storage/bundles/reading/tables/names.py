"""Names that people write: comparing them, and making ids of them."""

import unicodedata
from collections.abc import Iterable

from storage.bundles.reading.suggestions import suggest


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
