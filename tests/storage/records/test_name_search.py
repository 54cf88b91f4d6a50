"""Search for names: which words are indexed, and what finds them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.records.name_search import (
    MAX_INDEXED_PREFIX,
    MAX_INDEXED_WORDS,
    NAME_WORDS_FIELD,
    build_condition,
    index_name,
    split_words,
)
from storage.units import UNITS

NAMES = ["Suite 210", "Suite 21", "Conference Room", "Confidential", "Café Zoë", "Straße 7"]
TIMES = {"created_at": "2026-01-31T12:00:00+00:00", "updated_at": "2026-01-31T12:00:00+00:00"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        (" - / ", []),
        ("Suite 210-B", ["suite", "210", "b"]),
        ("suite Suite SUITE", ["suite"]),
        ("Café CAFE\u0301", ["cafe"]),
        ("Straße", ["strasse"]),
        ("\u2167", ["viii"]),  # the Roman numeral eight
        ("会議室 3", ["会議室", "3"]),
    ],
)
def test_words_are_compared_without_case_and_accents(text: str, words: list[str]) -> None:
    assert split_words(text) == words


def test_few_words_of_a_long_name_are_indexed() -> None:
    name = " ".join(f"{number:0>20}" for number in range(1000))
    words = index_name({"name": name})[NAME_WORDS_FIELD]
    assert len(words) <= MAX_INDEXED_WORDS * (MAX_INDEXED_PREFIX + 1)


@given(st.text(max_size=30), st.integers(1, 30))
def test_every_beginning_of_a_word_is_found(name: str, length: int) -> None:
    indexed = index_name({"name": name})[NAME_WORDS_FIELD]
    for word in split_words(name):
        beginning = word[:length]
        assert beginning[:MAX_INDEXED_PREFIX] in indexed
        assert any(each.startswith(beginning) for each in indexed)


@pytest.mark.anyio
async def test_mongodb_finds_names_by_the_beginnings_of_their_words(database: Any) -> None:
    place = {"asset_id": "a", "floor_id": "f", **TIMES}
    await database[UNITS.name].insert_many(
        [
            {"_id": str(number), "name": name, **place, **index_name({"name": name})}
            for number, name in enumerate(NAMES)
        ]
    )
    for search, found in (
        ("21 sui", ["Suite 210", "Suite 21"]),
        ("210", ["Suite 210"]),
        ("conf", ["Conference Room", "Confidential"]),
        ("conferen r", ["Conference Room"]),
        ("confidential", ["Confidential"]),
        ("conferences", []),
        ("zoe", ["Café Zoë"]),
        ("STRASSE", ["Straße 7"]),
        ("uite", []),  # not the beginning of a word
    ):
        where = build_condition(tuple(split_words(search)))
        cursor = database[UNITS.name].find(where).sort("_id", 1)
        assert [each["name"] for each in await cursor.to_list(None)] == found
