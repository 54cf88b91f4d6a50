import pytest

from parsing.errors import DocumentRejectedError
from parsing.svg.style.selectors import (
    MAX_COMPOUNDS,
    CompoundSelector,
    SelectedElement,
    parse_selector,
    specificity,
    split_selectors,
)

ANY = CompoundSelector(None, None, frozenset(), is_child=False)


def test_compounds_stand_from_left_to_right() -> None:
    assert parse_selector(" g.a > *  #b ") == (
        ANY._replace(tag="g", classes=frozenset("a")),
        ANY._replace(is_child=True),
        ANY._replace(id="b"),
    )


@pytest.mark.parametrize("selector", ["", ">a", "a>", "a b:c", "a~b", ".", "#", "a..b", "1a"])
def test_selectors_that_are_not_read_are_none(selector: str) -> None:
    assert parse_selector(selector) is None


def test_a_selector_has_at_most_32_parts() -> None:
    longest = parse_selector("g " * MAX_COMPOUNDS)
    assert longest is not None
    assert len(longest) == MAX_COMPOUNDS == 32
    with pytest.raises(DocumentRejectedError, match=r'"g g .*…" has more than 32 parts'):
        parse_selector("g " * 33)


@pytest.mark.parametrize(
    ("selector", "key"), [("g.b.a#i", "#i"), ("g.b.a", ".a"), ("g", "g"), ("*", "*")]
)
def test_a_compound_is_found_by_one_part_that_its_elements_have(selector: str, key: str) -> None:
    assert [compound.index_key for compound in parse_selector(selector) or ()] == [key]


def test_a_compound_matches_by_tag_id_and_classes() -> None:
    element = SelectedElement("g", "i", frozenset("ab"))
    for selector, matches in {
        "g.a#i": True,
        "*": True,
        "a": False,
        "#j": False,
        ".c": False,
    }.items():
        [compound] = parse_selector(selector) or ()
        assert compound.matches(element) is matches


def test_specificity_counts_ids_classes_and_types() -> None:
    assert specificity(parse_selector("g.a.b#i > * rect") or ()) == (1, 2, 2)


def test_a_list_of_selectors_is_split_at_its_own_commas_only() -> None:
    """A class in `:is(...)` is none of a selector beside it."""
    assert split_selectors("a,b") == ["a", "b"]
    assert split_selectors("a:is(.b, .c:not(.d, e)), f") == ["a:is(.b, .c:not(.d, e))", " f"]
    assert split_selectors("a), b") == ["a)", " b"]
