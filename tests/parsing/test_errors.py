import pickle

from parsing.errors import InvalidPlanError, ParsingError


def test_the_message_starts_with_the_position_if_it_is_known() -> None:
    assert str(InvalidPlanError("no room")) == "no room"
    assert str(InvalidPlanError("no room").with_position((3, 14))) == "line 3, column 14: no room"


def test_an_error_survives_pickling_with_its_type_and_position() -> None:
    copy: ParsingError = pickle.loads(pickle.dumps(InvalidPlanError("no room", 3, 14)))
    assert type(copy) is InvalidPlanError
    assert (copy.message, copy.line, copy.column) == ("no room", 3, 14)
