"""Errors have a position, cross processes, and name the limits."""

import pickle

import pytest

from parsing.errors import DocumentRejectedError, InvalidPlanError, ParsingError
from parsing.limits import check_text_length


def test_the_message_starts_with_the_position_if_it_is_known() -> None:
    assert str(InvalidPlanError("no room")) == "no room"
    assert str(InvalidPlanError("no room").with_position((3, 14))) == "line 3, column 14: no room"


def test_an_error_survives_pickling_with_its_type_and_position() -> None:
    copy: ParsingError = pickle.loads(pickle.dumps(InvalidPlanError("no room", 3, 14)))
    assert type(copy) is InvalidPlanError
    assert (copy.message, copy.line, copy.column) == ("no room", 3, 14)


def test_text_up_to_the_limit_is_returned() -> None:
    assert check_text_length("abc", "id", 3) == "abc"


def test_longer_text_is_rejected_with_the_attribute_and_the_limit() -> None:
    with pytest.raises(DocumentRejectedError, match="id has 4 characters; at most 3 are read"):
        check_text_length("abcd", "id", 3)
