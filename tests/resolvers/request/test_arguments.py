"""Arguments that many fields share."""

import pytest

from resolvers.request.arguments import (
    MAX_PER_PAGE,
    PageArguments,
    find_cursor_page_size,
)
from resolvers.request.errors import InvalidInputError
from storage.records.paging import PageCursor


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
