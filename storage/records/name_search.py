"""Search for names by the beginnings of their words.

A record's `name_words` hold every beginning of each word of its name, up to `MAX_INDEXED_PREFIX`
characters, and longer words as a whole. A search is then an equality on an indexed array, so that
MongoDB reads its matches in the order of ids and stops at the end of a page. Ranges of words would
have to be sorted. See docs/decisions/storage/name-search.md.
"""

import re
import unicodedata

from storage.records.kinds import Document

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


def build_condition(words: tuple[str, ...]) -> Document:
    """Return the condition that each word begins a word of the name.

    Put the rarest word first: MongoDB looks that one up and filters by the others.

    >>> build_condition(("suite",))
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
