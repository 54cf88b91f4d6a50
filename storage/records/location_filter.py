"""The filter language of locations: terms about tags, joined by commas, all of which must hold.

    filter  = term *( "," term )
    term    = [ "-" ] key [ "==" value ]
    key     = 1*character      ; its first character is no bare "-"
    value   = 1*character
    character = any but "," "=" "\\" | "\\," | "\\=" | "\\-" | "\\\\"

`key`: has a tag with this key. `-key`: has none. `key==value`: has a tag with this key and this
value; `-key==value`: has none. Keys and values compare exactly, but for case.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from storage.records.kinds import KEY_SEPARATOR, Document

MAX_TERMS = 50

_CHARACTER = r"(?:[^,=\\\x00]|\\[,=\-\\])"
_TERM = re.compile(rf"(?P<no>-?)(?P<key>(?!-){_CHARACTER}+)(?:==(?P<value>{_CHARACTER}+))?\Z", re.S)
_SPLIT = re.compile(r"((?:[^,\\]|\\.)*)(?:,|\Z)", re.S)
_ESCAPE = re.compile(r"\\(.)", re.S)


class InvalidTermError(ValueError):
    """A term that the language does not have; the message quotes it."""


class FilterTerm(NamedTuple):
    """One condition; `value` None asks for the key alone."""

    key: str
    value: str | None = None
    negated: bool = False

    @property
    def indexed_word(self) -> str:
        """The indexed word that the term is about."""
        return index_word(self.key, self.value)


def parse_filter(text: str) -> list[FilterTerm]:
    """The terms of a filter. Raises InvalidTerm."""
    terms = [_parse_term(part) for part in _split_terms(text)]
    if len(terms) > MAX_TERMS:
        raise InvalidTermError(f"must have at most {MAX_TERMS} terms, not {len(terms)}")
    return terms


def build_condition(wanted: Sequence[str], unwanted: Sequence[str] = ()) -> Document:
    """The MongoDB condition on a location's indexed words.

    MongoDB looks up the first of the wanted words in the index and filters by the others: the
    rarest should stand first.
    """
    conditions: Document = {}
    if wanted:
        conditions["$all"] = list(wanted)
    if unwanted:
        conditions["$nin"] = list(unwanted)
    return {"words": conditions}


def index_words(tags: list[Document]) -> list[str]:
    """What is indexed of a location's tags: each key, and each key with its value."""
    return sorted(
        {index_word(tag["key"]) for tag in tags}
        | {index_word(tag["key"], tag["value"]) for tag in tags}
    )


def index_word(key: str, value: str | None = None) -> str:
    """One indexed word; no key holds the separator, so that the two forms never meet."""
    if value is None:
        return key.casefold()
    return f"{key.casefold()}{KEY_SEPARATOR}{value.casefold()}"


def _split_terms(text: str) -> list[str]:
    parts = []
    position = 0
    while True:
        match = _SPLIT.match(text, position)
        if match is None:
            raise InvalidTermError(f"must not end in a single backslash, as '{text}' does")
        parts.append(match[1])
        if match.end() == match.end(1):
            return parts
        position = match.end()


def _parse_term(part: str) -> FilterTerm:
    match = _TERM.match(part)
    if match is None:
        raise InvalidTermError(
            f"has the term '{part}'; a term is key, -key, key==value or -key==value, "
            r"with \, \= \- \\ for the characters themselves"
        )
    value = match["value"]
    return FilterTerm(
        _ESCAPE.sub(r"\1", match["key"]),
        None if value is None else _ESCAPE.sub(r"\1", value),
        bool(match["no"]),
    )
