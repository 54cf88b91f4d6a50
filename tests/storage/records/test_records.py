"""Page numbers outside, positions inside; filters narrow what is visible and add nothing."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymongo import MongoClient

from storage.catalog import LOCATIONS, UNITS
from storage.errors import InvalidPageRequestError
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
from storage.records.kinds import MAX_INT32
from storage.records.paging import (
    BY_KEY,
    DEFAULT_PER_PAGE,
    MAX_PER_PAGE,
    Order,
    PageCursor,
    PageRequest,
    digest_list,
)

LIST = ("units", ())
DIGEST = digest_list(LIST, BY_KEY)
texts = st.text(st.characters(exclude_categories=["Cs"]))


def cursor(page: int = 2, per_page: int = 10, key: str = "k") -> str:
    return PageCursor(DIGEST, page, per_page, (key,)).encode()


def error_of(**arguments: Any) -> tuple[str, str]:
    with pytest.raises(InvalidPageRequestError) as caught:
        PageRequest.from_arguments(**arguments)
    return caught.value.argument, str(caught.value)


def test_nothing_asked_is_the_first_page_of_a_hundred() -> None:
    assert PageRequest.from_arguments() == PageRequest(1, DEFAULT_PER_PAGE)


def test_a_page_larger_than_the_largest_is_served_as_the_largest() -> None:
    assert PageRequest.from_arguments(1, MAX_INT32) == PageRequest(1, MAX_PER_PAGE)
    assert PageRequest.from_arguments(first=MAX_INT32) == PageRequest(1, MAX_PER_PAGE)


@pytest.mark.parametrize("number", [0, -1, MAX_INT32 + 1, -(2**70)])
@pytest.mark.parametrize(
    ("parameter", "argument"), [("page", "page"), ("per_page", "perPage"), ("first", "first")]
)
def test_pages_and_sizes_are_counted_from_one(number: int, parameter: str, argument: str) -> None:
    expected = (argument, f"must be from 1 to 2147483647, not {number}")
    assert error_of(**{parameter: number}) == expected


@given(st.integers(2, MAX_INT32), st.integers(1, MAX_PER_PAGE), texts)
def test_a_cursor_alone_continues_after_its_key(page: int, per_page: int, key: str) -> None:
    token = cursor(page, per_page, key)
    assert token.isascii() and not set(token) & set("=&?/+#% ")
    request = PageRequest.from_arguments(after=token)
    assert request == PageRequest.from_arguments(page, per_page, token)
    assert (request.page, request.per_page, request.after) == (page, per_page, (key,))
    assert request.skip == 0


@pytest.mark.parametrize(
    ("contradiction", "message"),
    [
        ({"page": 3}, "continues with page 2, not 3: leave out the page"),
        ({"per_page": 11}, "continues with pages of 10, not 11: leave out the page size"),
    ],
)
def test_a_cursor_of_another_page_or_size_is_an_error(
    contradiction: dict[str, int], message: str
) -> None:
    assert error_of(after=cursor(), **contradiction) == ("after", message)


def test_pages_by_first_may_differ_in_size() -> None:
    request = PageRequest.from_arguments(first=3, after=cursor(per_page=10))
    assert (request.page, request.per_page, request.after) == (2, 3, ("k",))


@pytest.mark.parametrize("other", [{"page": 1}, {"per_page": 1}])
def test_first_stands_alone(other: dict[str, int]) -> None:
    assert error_of(first=1, **other) == ("first", "must not be given with page or perPage")


@pytest.mark.parametrize(
    ("list_id", "order"),
    [
        (("floors", ()), BY_KEY),
        (("units", (("asset", "'a'"),)), BY_KEY),
        (LIST, Order(is_descending=True)),
        (LIST, Order("name")),
    ],
)
def test_a_cursor_of_another_list_filter_or_order_is_an_error(list_id: Any, order: Order) -> None:
    PageRequest.from_arguments(after=cursor()).check_list(LIST)
    with pytest.raises(InvalidPageRequestError, match="is of another list"):
        PageRequest.from_arguments(after=cursor(), order=order).check_list(list_id)


class ForgedCursor(msgspec.Struct, array_like=True):
    list_digest: Any
    page: Any
    per_page: Any
    position: Any


@pytest.mark.parametrize(
    "forged",
    [
        (2, 10, "k"),
        ForgedCursor(DIGEST, 1, 10, ("k",)),
        ForgedCursor(DIGEST, MAX_INT32 + 1, 10, ("k",)),
        ForgedCursor(DIGEST, 2, MAX_PER_PAGE + 1, ("k",)),
        ForgedCursor(DIGEST, 2, 10, ({"$gt": ""},)),
        ForgedCursor(DIGEST, 2, 10, (2**63, "k")),
        ForgedCursor(DIGEST[:4], 2, 10, ("k",)),
    ],
)
def test_a_forged_cursor_and_one_of_an_earlier_release_are_errors(forged: Any) -> None:
    argument, message = error_of(after=PageCursor.encode(forged))
    assert argument == "after"
    assert message.startswith("must be a cursor of a page of this service, or absent;")


@given(st.text(min_size=1))
def test_any_other_token_is_rejected(token: str) -> None:
    assert error_of(after=token)[0] == "after"


@pytest.mark.parametrize(
    ("keys", "has_next"), [([], False), (["a", "b"], False), (["a", "b", "c"], True)]
)
def test_one_more_key_than_the_page_holds_means_that_a_page_follows(
    keys: list[str], has_next: bool
) -> None:
    page = PageRequest(1, 2).cut_page(keys, str).of_list(LIST, len(keys))
    assert page.paging.has_next == page.page_info.has_next_page == has_next
    if has_next:
        request = PageRequest.from_arguments(2, 2, page.paging.next)
        request.check_list(LIST)
        assert request.after == ("b",)


def test_no_page_follows_the_last_that_can_be_numbered() -> None:
    assert not PageRequest(MAX_INT32, 1).cut_page(["a", "b"], str).has_next


def test_a_list_in_memory_continues_after_every_edge() -> None:
    keys = ["a", "b", "c", "d"]
    page = PageRequest(1, 3).cut_page(keys, str).of_list(LIST, 4)
    for number, edge in enumerate(page.edges, 1):
        request = PageRequest.from_arguments(after=edge.cursor)
        assert request.cut_page(keys, str).data == keys[number:]
    info = page.page_info
    assert (info.start_cursor, info.end_cursor) == (page.edges[0].cursor, page.edges[-1].cursor)
    assert info.end_cursor == page.paging.next


@given(st.lists(st.tuples(st.integers(0, 3), texts), unique=True), st.booleans(), st.data())
def test_the_ranges_after_a_position_are_what_follows_it(
    positions: list[tuple[int, str]], is_descending: bool, data: st.DataObject
) -> None:
    if not positions:
        return
    order = Order("sort", is_descending)
    ordered = sorted(positions, reverse=is_descending)
    position = data.draw(st.sampled_from(ordered))
    same, beyond, *without = order.split_after(position)
    operator = "$lt" if is_descending else "$gt"
    assert same == {"sort": {"$eq": position[0]}, "_id": {operator: position[1]}}
    assert beyond == {"sort": {operator: position[0]}}
    assert without == ([{"sort": None}] if is_descending else [])


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
