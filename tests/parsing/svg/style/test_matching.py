"""Selectors are matched from the root to the leaves; XPath says which elements they must find."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from parsing.errors import DocumentRejectedError
from parsing.limits import DEFAULT_LIMITS, DocumentLimits
from parsing.svg.style import matching
from parsing.svg.style.matching import OUTSIDE, MatchState, RuleMatcher
from parsing.svg.style.selectors import (
    MAX_COMPOUNDS,
    CompoundSelector,
    parse_selector,
    specificity,
    split_selectors,
)
from parsing.svg.style.styles import Declarations
from parsing.svg.unit_map import parse_unit_map

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


def test_specificity_counts_ids_classes_and_types() -> None:
    assert specificity(parse_selector("g.a.b#i > * rect") or ()) == (1, 2, 2)


def test_a_list_of_selectors_is_split_at_its_own_commas_only() -> None:
    """A class in `:is(...)` is none of a selector beside it."""
    assert split_selectors("a,b") == ["a", "b"]
    assert split_selectors("a:is(.b, .c:not(.d, e)), f") == ["a:is(.b, .c:not(.d, e))", " f"]
    assert split_selectors("a), b") == ["a)", " b"]


COMPOUNDS = st.sampled_from(
    ["*", "g", "a", "rect", ".x", ".y", "g.x", ".x.y", "#i", "g#i.x", "rect.y", "*.x"]
)
SELECTORS = st.builds(
    lambda first, others: first + "".join(map("".join, others)),
    COMPOUNDS,
    st.lists(st.tuples(st.sampled_from([" ", ">", " > "]), COMPOUNDS), max_size=5),
)
ATTRIBUTES = st.fixed_dictionaries(
    {},
    optional={
        "class": st.sampled_from(["x", "y", "x y", " y  x ", "z", "x z", ""]),
        "id": st.sampled_from(["i", "j"]),
    },
)
TREES: st.SearchStrategy[Any] = st.recursive(
    st.tuples(st.sampled_from(["g", "a", "rect"]), ATTRIBUTES, st.just([])),
    lambda trees: st.tuples(
        st.sampled_from(["g", "a"]), ATTRIBUTES, st.lists(trees, min_size=1, max_size=4)
    ),
    max_leaves=25,
)


def build(tree: tuple[str, dict[str, str], list]) -> etree._Element:  # type: ignore[type-arg]
    tag, attributes, children = tree
    element = etree.Element(tag, attributes)
    element.extend(map(build, children))
    return element


def to_xpath(selector: str) -> str:
    """The same selector for libxml2."""
    path = ""
    for combinator, compound in re.findall(r"(\s*>\s*|\s+|^)([^\s>]+)", selector):
        tag, names = re.fullmatch(r"(\*|\w*)(.*)", compound).groups()  # type: ignore[union-attr]
        tests = "".join(
            f"[@id='{name}']"
            if kind == "#"
            else f"[contains(concat(' ', normalize-space(@class), ' '), ' {name} ')]"
            for kind, name in re.findall(r"([.#])(\w+)", names)
        )
        path += f"{'/' if '>' in combinator else '//'}{tag or '*'}{tests}"
    return path


def find_matches(
    matcher: RuleMatcher, element: etree._Element, outer: MatchState = OUTSIDE
) -> Iterator[tuple[etree._Element, set[str]]]:
    """Each element with the rules that match it; a rule declares its own selector."""
    match = matcher.match(str(element.tag), element.get("id"), element.get("class", ""), outer)
    yield element, set(match.declarations.normal)
    for child in element:
        yield from find_matches(matcher, child, match.inside)


def build_matcher(*selectors: str, limits: DocumentLimits = DEFAULT_LIMITS) -> RuleMatcher:
    matcher = RuleMatcher(limits)
    for order, selector in enumerate(selectors):
        compounds = parse_selector(selector)
        assert compounds is not None
        matcher.add_rule(compounds, order, Declarations({selector: "x"}, {}))
    return matcher


@given(TREES, st.lists(SELECTORS, min_size=1, max_size=8), st.sampled_from([1, 20_000]))
def test_rules_match_the_elements_that_xpath_finds(
    tree: tuple[str, dict[str, str], list],  # type: ignore[type-arg]
    selectors: list[str],
    max_cached: int,
) -> None:
    root = build(tree)
    document = etree.ElementTree(root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "MAX_CACHED_MATCHES", max_cached)
        found = dict(find_matches(build_matcher(*selectors), root))
    for selector in selectors:
        expected = set(document.xpath(to_xpath(selector)))  # type: ignore[arg-type]
        assert {element for element, rules in found.items() if selector in rules} == expected


def test_rules_are_merged_by_specificity_then_by_order() -> None:
    matcher = RuleMatcher(DEFAULT_LIMITS)
    for order, (selector, fill) in enumerate([("#i", "a"), ("g", "b"), (".x", "c"), (".y", "d")]):
        matcher.add_rule(parse_selector(selector) or (), order, Declarations({"fill": fill}, {}))
    fills = [
        matcher.match("g", element_id, classes, OUTSIDE).declarations.normal["fill"]
        for element_id, classes in [("i", "x"), (None, "x"), (None, "y x"), (None, "")]
    ]
    assert fills == ["a", "c", "d", "b"]


def test_elements_that_are_alike_to_the_rules_are_matched_once() -> None:
    matcher = build_matcher("g .x", "#i", limits=DocumentLimits(selector_matches=9))
    outer = matcher.match("g", None, "", OUTSIDE).inside
    for number in range(1_000):
        assert matcher.match("rect", f"id{number}", f"x c{number}", outer).declarations.normal
        assert matcher.match("g", None, f"c{number}", outer).inside is outer


def bomb(selector: str, depth: int) -> bytes:
    shapes = '<rect width="5" height="5"/>' * 100
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg"><style>{selector}{{fill:red}}</style>'
        f"{'<g>' * depth}{shapes}{'</g>' * depth}</svg>"
    ).encode()


def test_a_selector_is_not_searched_for_in_every_order_of_ancestors() -> None:
    """With backtracking, 31 of 200 ancestors can be chosen in 10^36 ways that all fail."""
    for selector in ("a " + "g " * 30 + "rect", "g > a " + "g " * 29 + "rect", "g " * 31 + "rect"):
        is_found = selector.startswith("g g")
        assert (b"red" in parse_unit_map(bomb(selector, 200)).json) == is_found


def test_comparisons_are_limited() -> None:
    matcher = build_matcher(
        *[f".a.b{n}" for n in range(10)], limits=DocumentLimits(selector_matches=120)
    )
    for number in range(9):
        matcher.match("g", None, f"a b{number}", OUTSIDE)
    with pytest.raises(DocumentRejectedError, match="too many comparisons"):
        matcher.match("g", None, "a b9", OUTSIDE)


def test_merged_declarations_count_too() -> None:
    matcher = RuleMatcher(DocumentLimits(selector_matches=10))
    for order in range(4):
        matcher.add_rule(parse_selector("g") or (), order, Declarations({"fill": "a"}, {"x": "1"}))
    with pytest.raises(DocumentRejectedError, match="too many comparisons"):
        matcher.match("g", None, "", OUTSIDE)


def test_the_parts_of_all_selectors_are_limited_and_equal_beginnings_count_once() -> None:
    limits = DocumentLimits(selector_parts=4)
    build_matcher("g a", "g a > rect", "g a path", "g a", limits=limits)
    with pytest.raises(DocumentRejectedError, match="more than 4 different parts"):
        build_matcher("g a", "g > a", "rect", "path", limits=limits)
