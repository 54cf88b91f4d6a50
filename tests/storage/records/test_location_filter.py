"""The filter language of locations: its grammar, its meaning, its use of the index."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymongo import MongoClient

from storage.locations import LOCATIONS
from storage.records import location_filter
from storage.records.location_filter import FilterTerm, InvalidTermError


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
    assert location_filter.parse_filter(text) == meaning


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
        location_filter.parse_filter(text)
    assert any(f"'{part}'" in str(caught.value) for part in [text, *text.split(",")])


def test_a_filter_has_a_bounded_number_of_terms() -> None:
    with pytest.raises(InvalidTermError, match="at most 50 terms, not 51"):
        location_filter.parse_filter(",".join(["a"] * 51))


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
    assert location_filter.parse_filter(text) == wanted


@pytest.fixture
def locations(mongo_url: str, fresh_database_name: str) -> Any:
    with MongoClient[dict[str, Any]](mongo_url) as client:
        collection = client[fresh_database_name].locations
        for index in LOCATIONS.indexes:
            collection.create_index([(field, 1) for field in index])
        yield collection


def located(number: int, **tags: str) -> dict[str, Any]:
    shown = [{"key": key, "value": value} for key, value in tags.items()]
    return {"_id": f"{number:06}", "unit_map_id": "m", "words": location_filter.index_words(shown)}


def found(locations: Any, text: str) -> list[str]:
    parsed = location_filter.parse_filter(text)
    wanted = [term.indexed_word for term in parsed if not term.negated]
    unwanted = [term.indexed_word for term in parsed if term.negated]
    where = {"unit_map_id": "m", **location_filter.build_condition(wanted, unwanted)}
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
