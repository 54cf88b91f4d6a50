"""Page numbers outside, keys inside."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.errors import InvalidPageRequestError
from storage.records.fields import MAX_INT32
from storage.records.paging import DEFAULT_PER_PAGE, MAX_PER_PAGE, PageCursor, PageRequest


def test_nothing_asked_is_the_first_page_of_a_hundred() -> None:
    assert PageRequest.from_arguments(None, None) == PageRequest(1, DEFAULT_PER_PAGE)


def test_a_page_larger_than_the_largest_is_served_as_the_largest() -> None:
    assert PageRequest.from_arguments(1, MAX_INT32) == PageRequest(1, MAX_PER_PAGE)


@pytest.mark.parametrize("number", [0, -1, MAX_INT32 + 1, -(2**70)])
def test_pages_and_sizes_are_counted_from_one(number: int) -> None:
    for page, per_page, argument in ((number, 1, "page"), (1, number, "perPage")):
        with pytest.raises(InvalidPageRequestError, match="must be from 1 to 2147483647") as caught:
            PageRequest.from_arguments(page, per_page)
        assert caught.value.argument == argument


@given(
    st.integers(1, MAX_INT32),
    st.integers(1, MAX_PER_PAGE),
    st.text(st.characters(exclude_categories=["Cs"])),
)
def test_a_cursor_leads_to_behind_its_key(page: int, per_page: int, key: str) -> None:
    token = PageCursor(page, per_page, key).encode()
    assert token.isascii() and not set(token) & set("=&?/+#% ")
    slice = PageRequest.from_arguments(page, per_page, token)
    assert (slice.after_key, slice.skip) == (key, 0)


@pytest.mark.parametrize(("page", "per_page"), [(3, 10), (2, 11)])
def test_a_cursor_of_another_page_or_size_does_not_count(page: int, per_page: int) -> None:
    assert PageRequest.from_arguments(
        page, per_page, PageCursor(2, 10, "k").encode()
    ) == PageRequest(page, per_page)


@given(st.text())
def test_any_other_token_is_rejected_or_is_a_cursor(token: str) -> None:
    try:
        slice = PageRequest.from_arguments(1, 1, token)
    except InvalidPageRequestError as error:
        assert error.argument == "after"
    else:
        assert slice.page == 1


@pytest.mark.parametrize(
    ("keys", "has_next"), [([], False), (["a", "b"], False), (["a", "b", "c"], True)]
)
def test_one_more_key_than_the_page_holds_means_that_a_page_follows(
    keys: list[str], has_next: bool
) -> None:
    paging = PageRequest(1, 2).build_paging(keys, str)
    assert paging.has_next == has_next
    if has_next:
        assert PageRequest.from_arguments(2, 2, paging.next).after_key == "b"


def test_no_page_follows_the_last_that_can_be_numbered() -> None:
    assert not PageRequest(MAX_INT32, 1).build_paging(["a", "b"], str).has_next
