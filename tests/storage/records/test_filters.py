"""The filter language of locations: its grammar, its meaning, its use of the index."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymongo import MongoClient

from storage.catalog import LOCATIONS, UNITS
from storage.records import filters
from storage.records.filters import (
    MAX_INDEXED_PREFIX,
    MAX_INDEXED_WORDS,
    NAME_WORDS_FIELD,
    FilterTerm,
    InvalidTermError,
    build_name_condition,
    index_name,
    split_words,
)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("amenity", [FilterTerm("amenity")]),
        ("-amenity", [FilterTerm("amenity", negated=True)]),
        ("svc:amenity==yes", [FilterTerm("svc:amenity", "yes")]),
        ("-leisure==pool", [FilterTerm("leisure", "pool", negated=True)]),
        (
            "svc:amenity==yes,-amenity",
            [FilterTerm("svc:amenity", "yes"), FilterTerm("amenity", negated=True)],
        ),
        ("a-b==-c", [FilterTerm("a-b", "-c")]),  # a hyphen negates only in front of a key
        (r"\-a", [FilterTerm("-a")]),
        (r"a\,b\=c==d\\e", [FilterTerm("a,b=c", "d\\e")]),
        (" a ,\t-b c == d ", [FilterTerm("a"), FilterTerm("b c ", " d", negated=True)]),
    ],
)
def test_a_filter_is_terms_joined_by_commas(text: str, meaning: list[FilterTerm]) -> None:
    assert filters.parse_filter(text) == meaning


@pytest.mark.parametrize(
    "text",
    [
        "",
        ",",
        "a,,b",
        "a=b",
        "a==",
        "==b",
        "-",
        "a\\",
        r"a\b",
        " ",
        "a==  ",
    ],
)
def test_anything_else_is_rejected_and_quoted(text: str) -> None:
    with pytest.raises(InvalidTermError) as caught:
        filters.parse_filter(text)
    assert any(f"'{part}'" in str(caught.value) for part in [text, *text.split(",")])


def test_a_filter_has_a_bounded_number_of_terms() -> None:
    with pytest.raises(InvalidTermError, match="at most 50 terms, not 51"):
        filters.parse_filter(",".join(["a"] * 51))


CHARACTERS = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
WORDS = st.text(CHARACTERS, min_size=1, max_size=5).filter(lambda text: text == text.strip(" \t"))
"""Blanks around a term do not count, so none begins or ends with them."""


def escaped(text: str) -> str:
    return "".join(f"\\{each}" if each in "\\,=-" else each for each in text)


@given(
    st.lists(st.builds(FilterTerm, WORDS, st.none() | WORDS, st.booleans()), min_size=1, max_size=5)
)
def test_every_key_and_value_can_be_written(wanted: list[FilterTerm]) -> None:
    text = ",".join(
        ("-" if term.negated else "")
        + escaped(term.key)
        + ("" if term.value is None else f"=={escaped(term.value)}")
        for term in wanted
    )
    assert filters.parse_filter(text) == wanted


@pytest.fixture
def locations(mongo_url: str, fresh_database_name: str) -> Any:
    with MongoClient[dict[str, Any]](mongo_url) as client:
        collection = client[fresh_database_name].locations
        for index in LOCATIONS.indexes:
            collection.create_index([(field, 1) for field in index])
        yield collection


def located(number: int, **tags: str) -> dict[str, Any]:
    shown = [{"key": key, "value": value} for key, value in tags.items()]
    return {"_id": f"{number:06}", "unit_map_id": "m", "words": filters.index_words(shown)}


def found(locations: Any, text: str) -> list[str]:
    parsed = filters.parse_filter(text)
    wanted = [term.indexed_word for term in parsed if not term.negated]
    unwanted = [term.indexed_word for term in parsed if term.negated]
    where = {"unit_map_id": "m", **filters.build_tag_condition(wanted, unwanted)}
    return sorted(document["_id"] for document in locations.find(where))


def test_terms_mean_what_they_say(locations: Any) -> None:
    locations.insert_many(
        [
            located(1, amenity="yes", leisure="Swimming_Pool"),
            located(2, amenity="no"),
            located(3, room="STRASSE"),
        ]
    )
    assert found(locations, "amenity") == ["000001", "000002"]
    assert found(locations, "-amenity") == ["000003"]
    assert found(locations, "AMENITY==Yes") == ["000001"]
    assert found(locations, "-amenity==yes") == ["000002", "000003"]
    assert found(locations, "amenity,-leisure") == ["000002"]
    assert found(locations, "leisure==swimming_pool,amenity==yes") == ["000001"]
    assert found(locations, "room==straße") == ["000003"]
    assert found(locations, "leisure==swimming") == []
    assert found(locations, "yes") == []


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
        where = build_name_condition(tuple(split_words(search)))
        cursor = database[UNITS.name].find(where).sort("_id", 1)
        assert [each["name"] for each in await cursor.to_list(None)] == found
