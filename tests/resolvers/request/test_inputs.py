"""Rules of inputs: what a rule checks is what its JSON schema says."""

import json
from functools import cache
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from resolvers.locations import LocationTags
from resolvers.maps import MapTags
from resolvers.request.errors import InvalidInputError
from resolvers.request.input_checks import read_annotation
from resolvers.request.inputs import (
    ID,
    MAX_PER_PAGE,
    Items,
    Length,
    OneOf,
    PageArguments,
    Pattern,
    Range,
    Rule,
    Syntax,
    find_cursor_page_size,
)
from storage.records.filters import MAX_TERMS
from storage.records.paging import PageCursor


def is_described(rule: Rule, value: Any) -> bool:
    """Whether a value is valid under the JSON schema of a rule."""
    return _build_validator(json.dumps(rule.json_schema())).is_valid(value)


@cache
def _build_validator(schema: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(json.loads(schema))


TEXTS = st.text("ab1-\x00é", max_size=6)


@given(TEXTS)
@pytest.mark.parametrize(
    "rule",
    [ID, Length(2, 4), Length(0, 3), OneOf("a", "ab"), Pattern("[a-z][a-z0-9-]{1,3}", "a key")],
    ids=lambda rule: type(rule).__name__,
)
def test_a_rule_of_texts_is_its_json_schema(rule: Rule, text: str) -> None:
    assert (rule.check(text) is None) == is_described(rule, text)


@given(st.integers(-3, 110) | st.floats(allow_nan=False, allow_infinity=False))
def test_a_range_is_its_json_schema(number: float) -> None:
    assert (Range(1, 100).check(number) is None) == is_described(Range(1, 100), number)


@given(st.lists(st.integers(), max_size=5))
def test_a_number_of_items_is_its_json_schema(items: list[int]) -> None:
    assert (Items(1, 3).check(items) is None) == is_described(Items(1, 3), items)


@pytest.mark.parametrize("argument", [MapTags, LocationTags], ids=["maps", "locations"])
@given(st.text(st.sampled_from("ab:=\\-, \t\n\x1c\x85\xa0\0é"), max_size=12) | st.text(max_size=8))
@example("ils,mls")
@example(" ils , mls ")
@example("svc:amenity==yes,-amenity")
@example("--a")
@example(r"\--a,\=")
@example("a==b==c")
@example("")
@example(",".join("a" * MAX_TERMS))
@example(",".join("a" * (MAX_TERMS + 1)))
def test_tags_are_their_json_schema(argument: Any, text: str) -> None:
    """Lists of tags and filters by tags have patterns, which clients may check before they ask."""
    rules = read_annotation(argument)[1].rules
    assert all(is_described(rule, text) for rule in rules) == (
        not any(rule.check(text) for rule in rules)
    )


@pytest.mark.parametrize(
    ("rule", "value", "message"),
    [
        (Range(-1e9, 1e9), 2e9, "must be from -1000000000 to 1000000000, not 2000000000.0"),
        (Range(0, 1), float("nan"), "must be from 0 to 1, not nan"),
        (Length(1, 3), "", "must have 1 to 3 characters, not 0"),
        (Length(3, 3), "abcd", "must have 3 characters, not 4"),
        (Length(0, 3), "abcd", "must have at most 3 characters, not 4"),
        (Items(1, 50, "waypoints"), [], "must hold 1 to 50 waypoints, not 0"),
        (OneOf("pedestrian"), "car", "must be pedestrian, not 'car'"),
        (OneOf("a", "b", "c"), "x" * 99, f"must be a, b or c, not {'x' * 50!r}"),
        (Pattern("[a-z]+", "lowercase letters"), "A", "must be lowercase letters, not 'A'"),
        (ID, "u" * 256, "must have 1 to 255 characters, not 256"),
        (ID, "a\x00", "must not contain NUL or a lone surrogate"),
        (ID, "\ud800", "must not contain NUL or a lone surrogate"),
        (ID, "tab\tand newline\n", None),
        (Syntax(int), "x", "invalid literal for int() with base 10: 'x'"),
        (Syntax(int), "7", None),
    ],
)
def test_a_message_says_the_rule_and_the_value(rule: Rule, value: Any, message: str | None) -> None:
    assert rule.check(value) == message


def test_a_page_is_at_most_as_large_as_the_maximum() -> None:
    assert PageArguments(2, MAX_PER_PAGE + 1).parse().per_page == MAX_PER_PAGE
    assert PageArguments(first=MAX_PER_PAGE).limit_to(100).parse().per_page == 100
    assert PageArguments().limit_to(50).parse().per_page == 50


@pytest.mark.parametrize(
    ("pages", "argument"),
    [
        (PageArguments(0, 1), "page"),
        (PageArguments(1, 0), "perPage"),
        (PageArguments(1, 1, "!"), "after"),
        (PageArguments(first=0), "first"),
        (PageArguments(1, first=1), "first"),
    ],
)
def test_an_invalid_page_is_reported_under_the_name_of_its_argument(
    pages: PageArguments, argument: str
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        pages.parse()
    assert [*caught.value.extensions["fields"]] == [argument]


def test_the_page_size_in_a_cursor_is_known_before_the_operation_runs() -> None:
    assert find_cursor_page_size(PageCursor(b"12345678", 2, 77, ("k",)).encode()) == 77
    assert find_cursor_page_size("no cursor") is None
