"""The filters of lists that need more than a comparison: names, and tags and types of locations."""

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from storage.records.kinds import KEY_SEPARATOR, Document

# Search for names by the beginnings of their words.
#
# A record's `name_words` hold every beginning of each word of its name, up to `MAX_INDEXED_PREFIX`
# characters, and longer words as a whole. A search is then an equality on an indexed array, so that
# MongoDB reads its matches in the order of ids and stops at the end of a page. Ranges of words
# would have to be sorted. See docs/decisions/storage/lists.md.


MAX_INDEXED_WORDS = 24
"""Words of a name that are indexed: the first, without repetitions."""
MAX_INDEXED_PREFIX = 8
"""Characters of the longest beginning that is indexed by itself."""
MAX_WORD_CHARACTERS = 64
"""Characters of a word that count."""
NAME_WORDS_FIELD = "name_words"
AFTER_ALL_CHARACTERS = "\U0010ffff"

_WORD = re.compile(r"\w+")


def split_words(text: str) -> list[str]:
    """Return the distinct words of a text in lower case, without accents.

    >>> split_words("Café Zoë, 2nd Straße")
    ['cafe', 'zoe', '2nd', 'strasse']
    """
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(each for each in decomposed if not unicodedata.combining(each))
    # Folding again: a few characters decompose to capital letters.
    words = (word[:MAX_WORD_CHARACTERS] for word in _WORD.findall(plain.casefold()))
    return list(dict.fromkeys(words))


def index_name(document: Document) -> Document:
    """Return the derived field of a document with a `name`.

    >>> index_name({"name": "Suite 2"})
    {'name_words': ['2', 's', 'su', 'sui', 'suit', 'suite']}
    """
    words = split_words(document["name"])[:MAX_INDEXED_WORDS]
    prefixes = {
        word[:length]
        for word in words
        for length in range(1, min(len(word), MAX_INDEXED_PREFIX) + 1)
    }
    return {NAME_WORDS_FIELD: sorted(prefixes | {*words})}


def build_name_condition(words: tuple[str, ...]) -> Document:
    """Return the condition that each word begins a word of the name.

    Put the rarest word first: MongoDB looks that one up and filters by the others.

    >>> build_name_condition(("suite",))
    {'name_words': {'$all': ['suite']}}
    """
    where: Document = {NAME_WORDS_FIELD: {"$all": [word[:MAX_INDEXED_PREFIX] for word in words]}}
    long = [word for word in words if len(word) > MAX_INDEXED_PREFIX]
    if not long:
        return where
    # `$elemMatch`: one word must be in the range, not one above its start and one below its end.
    ranges: list[Document] = [
        {NAME_WORDS_FIELD: {"$elemMatch": {"$gte": word, "$lt": word + AFTER_ALL_CHARACTERS}}}
        for word in long
    ]
    return {"$and": [where, *ranges]}


# The filter language of locations: conditions on tags, separated by commas, all required.
#
#     filter  = term *( "," term )
#     term    = [ "-" ] key [ "==" value ]
#     key     = 1*character      ; its first character is no bare "-" and no blank
#     value   = 1*character
#     character = any but "," "=" "\" | "\," | "\=" | "\-" | "\\"
#
# `key` matches locations with a tag of this key, `key==value` those with a tag of this key and
# value; `-` negates. Blanks around a term do not count. Keys and values are compared as a whole,
# ignoring case.


MAX_TERMS = 50

_BLANKS = " \t"
_ESCAPED = r"\\[,=\-\\]"
_FIRST_CHARACTER = rf"(?:[^,=\\\x00{_BLANKS}-]|{_ESCAPED})"
_VISIBLE_CHARACTER = rf"(?:[^,=\\\x00{_BLANKS}]|{_ESCAPED})"
_CHARACTER = rf"(?:[^,=\\\x00]|{_ESCAPED})"
_KEY_PATTERN = f"(-?)({_FIRST_CHARACTER}{_CHARACTER}*)"
_TERM_PATTERN = f"[{_BLANKS}]*{_KEY_PATTERN}(?:==([{_BLANKS}]*{_VISIBLE_CHARACTER}{_CHARACTER}*))?"
FILTER_PATTERN = f"^{_TERM_PATTERN}(?:,{_TERM_PATTERN}){{0,{MAX_TERMS - 1}}}$"
"""The grammar as a regular expression that JavaScript reads, too."""
_TERM = re.compile(rf"{_TERM_PATTERN}\Z", re.S)
_SPLIT = re.compile(r"((?:[^,\\]|\\.)*)(?:,|\Z)", re.S)
_ESCAPE = re.compile(r"\\(.)", re.S)


class InvalidTermError(ValueError):
    """A term that does not follow the grammar; the message quotes it."""


class FilterTerm(NamedTuple):
    """One condition; without a `value`, on the key alone."""

    key: str
    value: str | None = None
    negated: bool = False

    @property
    def indexed_word(self) -> str:
        """The indexed word to look up for this term."""
        return index_word(self.key, self.value)


def parse_filter(text: str) -> list[FilterTerm]:
    """Parse a filter. Raises InvalidTermError.

    >>> for term in parse_filter("svc:amenity==pool,-closed"):
    ...     print(term)
    FilterTerm(key='svc:amenity', value='pool', negated=False)
    FilterTerm(key='closed', value=None, negated=True)
    >>> parse_filter(" -closed ") == parse_filter("-closed")
    True
    """
    terms = [_parse_term(part) for part in _split_terms(text)]
    if len(terms) > MAX_TERMS:
        raise InvalidTermError(f"must have at most {MAX_TERMS} terms, not {len(terms)}")
    return terms


def build_tag_condition(required: Sequence[str], excluded: Sequence[str] = ()) -> Document:
    """Build the MongoDB condition on a location's indexed words.

    Put the rarest required word first: MongoDB looks that one up in the index and filters by the
    others.
    """
    conditions: Document = {}
    if required:
        conditions["$all"] = list(required)
    if excluded:
        conditions["$nin"] = list(excluded)
    return {"words": conditions}


def index_words(tags: list[Document]) -> list[str]:
    """Return the words to index for a location's tags: each key, and each key with its value."""
    return sorted(
        {index_word(tag["key"]) for tag in tags}
        | {index_word(tag["key"], tag["value"]) for tag in tags}
    )


def index_word(key: str, value: str | None = None) -> str:
    """Return one indexed word. Keys cannot contain the separator, so the two forms are distinct."""
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
    match = _TERM.match(part.strip(_BLANKS))
    if match is None:
        raise InvalidTermError(
            "must have terms such as key, -key, key==value or -key==value, with "
            rf"\, \= \- \\ for the characters themselves, not '{part}'"
        )
    minus, key, value = match.groups()
    return FilterTerm(
        _ESCAPE.sub(r"\1", key),
        None if value is None else _ESCAPE.sub(r"\1", value),
        bool(minus),
    )
