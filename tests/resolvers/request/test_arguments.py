"""Arguments that many fields share."""

import pytest

from resolvers.request.arguments import MAX_PER_PAGE, parse_page_request
from resolvers.request.errors import InvalidInputError


def test_a_page_is_at_most_as_large_as_the_maximum() -> None:
    assert parse_page_request(2, MAX_PER_PAGE + 1, None).per_page == MAX_PER_PAGE


@pytest.mark.parametrize(
    ("page", "per_page", "after", "argument"),
    [(0, 1, None, "page"), (1, 0, None, "perPage"), (1, 1, "!", "after")],
)
def test_an_invalid_page_is_reported_under_the_name_of_its_argument(
    page: int, per_page: int, after: str | None, argument: str
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_page_request(page, per_page, after)
    assert [*caught.value.extensions["fields"]] == [argument]
