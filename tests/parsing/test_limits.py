import pytest

from parsing.errors import DocumentRejectedError
from parsing.limits import check_text_length


def test_text_up_to_the_limit_is_returned() -> None:
    assert check_text_length("abc", "id", 3) == "abc"


def test_longer_text_is_rejected_with_the_attribute_and_the_limit() -> None:
    with pytest.raises(DocumentRejectedError, match="id has 4 characters; at most 3 are read"):
        check_text_length("abcd", "id", 3)
