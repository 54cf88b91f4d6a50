"""The grammar of `data-tags`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsing.errors import InvalidMarkupError
from parsing.svg.data_tags import format_tags, parse_tags
from tests.parsing.tree import parse_drawing


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("building=1;floor=2", {"building": "1", "floor": "2"}),
        (" building = 1 ;\n floor = 2 ; ", {"building": "1", "floor": "2"}),
        ("name=A=B", {"name": "A=B"}),
        ("name=a\\;b;c=d", {"name": "a;b", "c": "d"}),
        ("name=", {"name": ""}),
        ("svg:id=\\n", {"svg:id": "\\n"}),
        ("", {}),
        (" ;; ", {}),
    ],
)
def test_tags_are_pairs(text: str, tags: dict[str, str]) -> None:
    assert parse_tags(text) == tags


@given(st.text(st.sampled_from("ab=; \\"), max_size=12))
def test_tags_survive_being_written(text: str) -> None:
    try:
        tags = parse_tags(text)
    except InvalidMarkupError:
        return
    assert parse_tags(format_tags(tags)) == tags


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("building", "data-tags has 'building'; expected key=value pairs joined by ;"),
        ("a=1;=2", "data-tags has '=2'"),
        ("a=1;a=2", "data-tags gives 'a' twice"),
    ],
)
def test_an_invalid_pair_is_an_error_with_its_position(text: str, reason: str) -> None:
    with pytest.raises(InvalidMarkupError) as caught:
        parse_drawing(f'\n<g data-type="Level" data-tags="{text}"/>')
    assert reason in caught.value.message
    assert (caught.value.line, caught.value.column) == (2, 1)


def test_tags_of_shapes_are_not_shown_and_not_checked() -> None:
    assert parse_drawing('<path data-tags="what ever"/>')["elements"] == [{"type": "Path"}]
