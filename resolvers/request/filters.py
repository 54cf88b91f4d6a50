"""Filters that lists of many kinds have: by ids, by words of the name, by the last change."""

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Annotated, Any, NamedTuple, TypeAlias

import strawberry

from resolvers.request.context import Context, Relation
from resolvers.request.input_rules import (
    ID,
    NO_NUL,
    Each,
    Items,
    Length,
    Syntax,
    argument,
)
from resolvers.request.times import IS_TIME, DateTime, parse_time
from storage.records import filters
from storage.records.kinds import UPDATED_AT, Document, RecordType
from storage.records.visibility import NOTHING

MAX_IDS = 1_000
MAX_SEARCH_CHARACTERS = 255
MAX_SEARCH_WORDS = 10
MAX_COUNTED_NAMES = 2_000
"""Where counting the names with a word stops: planning needs to know only the rarest words."""


@lru_cache(maxsize=256)  # parsed by the check of the input, then by the resolver
def parse_search(text: str) -> tuple[str, ...]:
    """Return the words of a search. Raises ValueError.

    >>> parse_search("Conf. 21"), parse_search("#")
    (('conf', '21'), ())
    """
    words = filters.split_words(text)
    if len(words) > MAX_SEARCH_WORDS:
        raise ValueError(f"must have at most {MAX_SEARCH_WORDS} words, not {len(words)}")
    return tuple(words)


IdsFilter: TypeAlias = Annotated[
    list[strawberry.ID] | None,
    argument(
        "Only those with these ids. Unknown ids are left out.",
        Items(0, MAX_IDS, "ids"),
        Each(ID),
        example=["ugwo2tfiznm"],
    ),
]
NameSearch: TypeAlias = Annotated[
    str | None,
    argument(
        "Only those with a name in which each of these words begins a word, in any order, without "
        f"regard to case and accents. At most {MAX_SEARCH_WORDS} words; signs are none, and a "
        "search without words finds nothing.",
        Length(1, MAX_SEARCH_CHARACTERS),
        NO_NUL,
        Syntax(parse_search),
        example="10",
    ),
]
UpdatedSince: TypeAlias = Annotated[
    DateTime | None,
    argument(
        "Only those created or changed at this time or later, in ISO 8601, to the second.",
        IS_TIME,
        example="2026-01-31T12:00:00+00:00",
    ),
]


class RecordFilter(NamedTuple):
    """The filters of one list; None for one that is not given."""

    ids: tuple[str, ...] | None = None
    words: tuple[str, ...] | None = None
    since: str | None = None

    def build_conditions(self) -> list[Document]:
        """Return the conditions, all of which must hold.

        >>> RecordFilter(ids=("a",), since="2026-01-31T12:00:00+00:00").build_conditions()
        [{'_id': {'$in': ['a']}}, {'updated_at': {'$gte': '2026-01-31T12:00:00+00:00'}}]
        """
        conditions: list[Document] = []
        if self.ids is not None:
            conditions.append({"_id": {"$in": [*self.ids]}})
        if self.words is not None:
            found = filters.build_name_condition(self.words) if self.words else NOTHING
            conditions.append(found)
        if self.since is not None:
            conditions.append({UPDATED_AT: {"$gte": self.since}})
        return conditions


async def build_filter(
    context: Context,
    kind: RecordType[Any],
    ids: Sequence[str] | None = None,
    search: str | None = None,
    updated_since: str | None = None,
) -> RecordFilter:
    """Return the filter that the arguments of a list stand for."""
    words = None if search is None else await _order_by_rarity(context, kind, parse_search(search))
    return RecordFilter(
        None if ids is None else tuple(sorted({*ids})),
        words,
        # Stored times have whole seconds.
        updated_since and parse_time(updated_since).replace(microsecond=0).isoformat(),
    )


def combine(conditions: Sequence[Document]) -> Document:
    """Return the condition that all conditions hold.

    >>> combine([]), combine([{"a": 1}])
    ({}, {'a': 1})
    """
    if len(conditions) < 2:
        return conditions[0] if conditions else {}
    return {"$and": [*conditions]}


@lru_cache(maxsize=256)
def narrow(relation: Relation[Any], filter: RecordFilter) -> Relation[Any]:
    """Return a relation with only the records that meet a filter.

    The same arguments give the same relation, so that the reads of siblings are batched.
    """
    conditions = filter.build_conditions()
    if not conditions:
        return relation
    return Relation(
        relation.kind,
        lambda *key: combine([relation.where(*key), *conditions]),
        relation.identity_length,
        base=relation,
    )


@cache
def _relate_to_words(kind: RecordType[Any]) -> Relation[Any]:
    return Relation(kind, lambda word: filters.build_name_condition((word,)))


async def _order_by_rarity(
    context: Context, kind: RecordType[Any], words: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the words, the rarest first: MongoDB looks up the first in the index."""
    if len(words) < 2:
        return words
    keys = [(word,) for word in words]
    counts = await context.count_lists(_relate_to_words(kind), keys, MAX_COUNTED_NAMES)
    return tuple(word for _, word in sorted(zip(counts, words, strict=True)))
