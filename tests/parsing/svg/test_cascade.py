"""Styles end up as attributes of shapes: `style`, rules, and what groups pass on."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from parsing.errors import DocumentRejectedError
from parsing.limits import DEFAULT_LIMITS, DocumentLimits
from parsing.svg import cascade
from parsing.svg.cascade import OUTSIDE, Cascade, ElementStyle, MatchState, RuleMatcher
from parsing.svg.style_sheets import (
    MAX_COMPOUNDS,
    MAX_MEDIA_CHARS,
    CompoundSelector,
    Declarations,
    evaluate_media,
    parse_declarations,
    parse_rules,
    parse_selector,
    specificity,
    split_selectors,
)
from parsing.svg.unit_map import parse_unit_map
from tests.parsing.parsed_maps import Members, messages_of, parse_shapes, warnings_of


def painted(rules: str, shape: str) -> Members:
    """Return the one shape of a drawing with these style rules."""
    (drawn,) = parse_shapes(f"<style>{rules}</style>{shape}")
    del drawn["type"]
    return drawn


def test_style_attributes_become_attributes() -> None:
    shape = painted(
        "", '<path d="M0 0" style="fill:red; STROKE : #000;unknown:1;stroke-width:2px"/>'
    )
    assert shape == {"d": "M0 0", "fill": "red", "stroke": "#000", "stroke-width": "2px"}


@pytest.mark.parametrize(
    ("rules", "shape", "radius"),
    [
        ("path{r:1}", "<path/>", "1"),
        ("*{r:1}", "<path/>", "1"),
        (".w{r:1}", '<path class="v w"/>', "1"),
        ("#i{r:1}", '<path id="i"/>', "1"),
        (".v,.w , #i{r:1}", '<path class="w"/>', "1"),
        ("path.w#i{r:1}", '<path id="i" class="w"/>', "1"),
        ("g path{r:1}", "<g><g><path/></g></g>", "1"),
        ("g>path{r:1}", "<g><path/></g>", "1"),
        ("g.x path.w{r:1}", '<g class="x"><path class="w"/></g>', "1"),
        # Rules outweigh the attribute, and style both.
        ("path{r:1}", '<path r="2"/>', "1"),
        ("#i{r:1}", '<path id="i" style="r:2"/>', "2"),
        # Id over class over type over none, wherever they stand.
        ("#i{r:1}.w{r:2}path{r:3}*{r:4}", '<path id="i" class="w"/>', "1"),
        (".w{r:1}path{r:2}*{r:3}", '<path class="w"/>', "1"),
        ("path.w{r:1}.w{r:2}", '<path class="w"/>', "1"),
        # Among equals the last.
        (".v{r:1}.w{r:2}", '<path class="w v"/>', "2"),
        # What is important outweighs even style.
        (".w{r:1 !important}", '<path class="w" style="r:2"/>', "1"),
        (".w{r:1!important}", '<path class="w" style="r:2 ! IMPORTANT"/>', "2"),
    ],
)
def test_rules_cascade(rules: str, shape: str, radius: str) -> None:
    assert painted(rules, shape) == {"r": radius}


@pytest.mark.parametrize(
    ("rules", "shape"),
    [
        (".w{fill:red}", '<path class="W"/>'),
        ("g>path{fill:red}", "<g><a><path/></a></g>"),
        ("path:hover{fill:red}", "<path/>"),
        ("[id]{fill:red}", '<path id="i"/>'),
        ("path+path{fill:red}", "<path/>"),
        ("@media print{path{fill:red}}", "<path/>"),
        ("/* path{fill:red} */", "<path/>"),
        ("path{fill:}", "<path/>"),
    ],
)
def test_rules_that_do_not_apply_or_are_not_read_change_nothing(rules: str, shape: str) -> None:
    assert painted(rules, shape) == {}


def test_rules_hold_before_their_style_element_too_and_through_cdata() -> None:
    (shape,) = parse_shapes("<path/><style><![CDATA[ g > a, path { fill : red } ]]></style>")
    assert shape["fill"] == "red"


def test_at_rules_are_skipped() -> None:
    rules = '@import url("a;b.css"); @font-face{src:url(data:x;y)} @media x{a{b:c}} path{fill:red}'
    assert painted(rules, "<path/>") == {"fill": "red"}


def test_groups_pass_paint_on_and_shapes_have_the_last_word() -> None:
    first, second = parse_shapes(
        '<g fill="red" stroke="blue"><g style="stroke:green">'
        '<path d="M0 0"/><path fill="none" d="M1 1"/></g></g>'
    )
    assert first == {"d": "M0 0", "fill": "red", "stroke": "green", "type": "Path"}
    assert list(second) == ["fill", "d", "stroke", "type"]
    assert second["fill"] == "none"


def test_the_root_passes_paint_on_as_figma_wants() -> None:
    svg = '<svg fill="none"><path stroke="red"/></svg>'
    assert parse_shapes(svg) == [{"stroke": "red", "fill": "none", "type": "Path"}]


def test_transforms_of_groups_stand_before_those_of_shapes() -> None:
    inner, outer = parse_shapes(
        '<g transform="translate(1,2)"><g transform="scale(2)"><path transform="rotate(3)"/></g>'
        "<path/></g>"
    )
    assert inner["transform"] == "translate(1,2) scale(2) rotate(3)"
    assert outer["transform"] == "translate(1,2)"


def test_opacities_of_groups_multiply() -> None:
    shapes = parse_shapes('<g opacity=".5"><path opacity="50%"/><path/></g>')
    assert [shape["opacity"] for shape in shapes] == ["0.25", "0.5"]


def test_inherit_takes_what_the_group_has() -> None:
    shapes = parse_shapes('<path fill="inherit"/><g fill="red"><path fill="inherit"/></g>')
    assert shapes == [{"type": "Path"}, {"fill": "red", "type": "Path"}]


def test_current_color_becomes_the_color_where_one_is_given() -> None:
    shapes = parse_shapes(
        '<path fill="currentColor"/><g color="red"><path fill="currentColor"/></g>'
    )
    assert [shape["fill"] for shape in shapes] == ["currentColor", "red"]


def test_a_shape_may_be_visible_in_a_hidden_group_but_not_displayed() -> None:
    group = '<g {}="{}"><path visibility="visible" display="inline"/></g>'
    assert parse_shapes(group.format("visibility", "hidden")) == [{"type": "Path"}]
    assert parse_shapes(group.format("display", "none")) == []


def test_a_transform_may_be_taken_back() -> None:
    assert painted("", '<path transform="scale(2)" style="transform:none"/>') == {}


def test_strings_and_parentheses_hide_semicolons() -> None:
    declared = parse_declarations("fill:url('a;b') red;stroke:url(a;b);--x:\"(;\"")
    assert declared.normal == {"fill": "url('a;b') red", "stroke": "url(a;b)", "--x": '"(;"'}


def test_an_open_block_ends_with_the_sheet() -> None:
    assert list(parse_rules("a{b:c} d{e:f")) == [("a", "b:c"), ("d", "e:f")]


@pytest.mark.parametrize("long", [f"background:url({'A' * 100_000})", "x" * 100_000])
def test_declarations_that_are_too_long_are_skipped_and_the_others_read(long: str) -> None:
    assert parse_declarations(f"fill:red;{long};stroke:blue").normal == {
        "fill": "red",
        "stroke": "blue",
    }


@pytest.mark.parametrize(
    ("attribute", "value", "error"),
    [
        ("fill", "lime", "#12"),
        ("transform", "scale(2)", "translate(30 10)"),
    ],
)
def test_a_declaration_in_error_does_not_override(attribute: str, value: str, error: str) -> None:
    shape = f'<path {attribute}="{value}" class="a" style="{attribute}:{error}"/>'
    assert painted(f".a{{{attribute}:{error}}}", shape) == {attribute: value}


@pytest.mark.parametrize(
    "declaration",
    [
        "fill:var(--wall)",
        "fill:color-mix(in srgb, red, blue)",
        "stroke-width:calc(1px + 2px)",
        "stroke-dasharray:1em, 5% 3",
        "display:-webkit-box",
        "transform:rotate(calc(1deg * 2))",
        "transform-origin:left 5px",
    ],
)
def test_a_valid_declaration_is_kept(declaration: str) -> None:
    name, _, value = declaration.partition(":")
    assert parse_declarations(declaration).normal == {name: value}


def style_of(sheet: str, **attributes: str) -> ElementStyle:
    names = {name.replace("_", "-"): value for name, value in attributes.items()}
    return Cascade(sheet, DEFAULT_LIMITS).compute_style("rect", names, OUTSIDE)


def test_values_of_a_class_stand_where_the_class_is_written() -> None:
    sheet = ".st0{opacity:0.5;fill:red}"
    with_class = style_of(sheet, x="1", **{"class": "st0"}, points="0,0")
    with_attributes = style_of("", x="1", opacity="0.5", fill="red", points="0,0")
    assert [*with_class.output.items()] == [*with_attributes.output.items()]


def test_a_value_of_a_class_that_is_an_attribute_too_stays_in_its_place() -> None:
    overridden = style_of(".st0{fill:red}", fill="blue", x="1", **{"class": "st0"}, y="2")
    assert [*overridden.output.items()] == [("fill", "red"), ("x", "1"), ("y", "2")]


def test_styles_are_cached_by_what_is_around_the_element() -> None:
    cascade = Cascade("g rect{fill:red}", DEFAULT_LIMITS)
    inside = cascade.match_rules("g", {}, OUTSIDE).inside
    assert cascade.compute_style("rect", {}, inside).output == {"fill": "red"}
    assert cascade.compute_style("rect", {}, OUTSIDE).output == {}


def test_too_many_rules_are_rejected() -> None:
    with pytest.raises(DocumentRejectedError, match="more than 2 style rules"):
        Cascade("a,b,c{fill:red}", DocumentLimits(style_rules=2))


@pytest.mark.parametrize(
    ("style", "shown"),
    [("transform:rotateX(9deg)", "transform: rotateX(9deg)"), ("rotate:x 9deg", "rotate: x 9deg")],
)
def test_transforms_in_three_dimensions_are_reported(style: str, shown: str) -> None:
    drawing = f'<rect width="9" height="9" style="{style}"/>'
    assert messages_of(drawing, "style") == [f"style is not read or not applied: {shown}"]


def test_flat_transforms_are_not_reported() -> None:
    style = "transform:scale(2) rotate(9deg);rotate:none"
    assert "style" not in warnings_of(f'<rect width="9" height="9" style="{style}"/>')


SHEET = "<style>.wall{fill:gray;stroke-width:1em} #front{fill:red} .far{transform:scale(2)}</style>"
SHAPES = [
    '<rect class="wall" x="1" y="2" width="3" height="4"/>',
    '<rect class="wall" x="10%" y="2" width="3" height="4"/>',
    '<rect class="wall" x="2em" y="wide" width="3" height="4"/>',
    '<rect class="far" x="1" y="2" width="3" height="4" transform="rotate(9)"/>',
    '<rect id="front" class="wall" x="1" y="2" width="3" height="4"/>',
    '<rect id="back" class="wall" x="1" y="2" width="3" height="4"/>',
    '<circle class="wall" cx="1" cy="2em" r="3"/>',
    '<circle class="wall" cx="1" cy="2" r="3"/>',
    '<circle cx="1" cy="2" r="inherit"/>',
    '<path d="M0 0h9" transform="rotate(9)" fill="red"/>',
    '<path d="M0 0h9" transform="translate(9%,5)" fill="red"/>',
    '<path d="M0 0h9" transform="none" fill="red"/>',
    '<path d="M0 0h9" transform="inherit" fill="red"/>',
    '<path d="M0 0h9" transform="unset" fill="red"/>',
    '<path d="inherit" fill="red"/>',
    '<path d="M0 0h7" fill="red"/>',
    '<path d="M0 0h7" fill="currentColor"/>',
    '<path d="M0 0h7" fill="inherit"/>',
    '<path d="M0 0h7" style="d:path(&quot;M1 1h2&quot;)"/>',
    '<path d="M1 1h2" style="d:path(&quot;M1 1h2&quot;)"/>',
    '<path d="M0 0h7" visibility="hidden" fill="red"/>',
    '<path d="M0 0h7" fill="red" visibility="visible"/>',
]
GROUPS = [
    "<g>{}</g>",
    '<g color="blue" font-size="20" transform="translate(1 2)" opacity=".5">{}</g>',
    '<g stroke="green" visibility="hidden">{}</g>',
]


@pytest.mark.parametrize("group", GROUPS)
def test_neighbours_do_not_matter(group: str) -> None:
    alone = [shape for each in SHAPES for shape in parse_shapes(SHEET + group.format(each))]
    for shapes in (SHAPES, SHAPES[::-1]):
        together = parse_shapes(SHEET + group.format("".join(shapes)))
        assert sorted(map(str, together)) == sorted(map(str, alone))


@pytest.mark.parametrize("style", ["", SHEET])
def test_an_attribute_with_percentages_is_dropped_as_by_browsers(style: str) -> None:
    """Only style has percentages in a transform."""
    path = '<path d="M0 0h9" transform="{}" fill="red"/>'
    [_, *moved] = parse_shapes(
        style + path.format("rotate(9)") + path.format("translate(9%,5)") * 2
    )
    assert moved == [{"d": "M0 0h9", "fill": "red", "type": "Path"}] * 2


def test_shapes_in_other_groups_do_not_matter() -> None:
    alone = [shape for group in GROUPS for shape in parse_shapes(group.format(SHAPES[14]))]
    assert parse_shapes("".join(group.format(SHAPES[14]) for group in GROUPS)) == alone


# Selectors are matched from the root to the leaves; XPath says which elements they must find.

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
    """Return the same selector for libxml2."""
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
    """Return each element with the rules that match it; a rule declares its own selector."""
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
        patch.setattr(cascade, "MAX_CACHED_MATCHES", max_cached)
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


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        # A light screen
        ("", True),
        ("print, screen", True),
        ("not print", True),
        ("(prefers-color-scheme: light)", True),
        ("not all and (prefers-color-scheme:dark)", True),
        ("print", False),
        ("not screen", False),
        ("(prefers-color-scheme: dark)", False),
        ("print and (hover)", False),
        # What a drawing does not know and faults have no answer.
        ("(hover)", None),
        ("screen and (min-width: 9px)", None),
        ("not (hover)", None),
        ("a b", None),
        ("(", None),
    ],
)
def test_a_query_is_about_a_light_screen(text: str, matches: bool | None) -> None:
    assert evaluate_media(text) is matches


def test_a_query_may_have_any_blanks() -> None:
    assert evaluate_media("\n screen \t and\n( prefers-color-scheme:light) ")
    assert evaluate_media(f"screen{' ' * 2_000}")
    assert evaluate_media("\n print \n") is False


def test_a_query_that_is_too_long_has_no_answer() -> None:
    assert evaluate_media("screen," * MAX_MEDIA_CHARS) is None


def test_queries_of_sheets_and_rules_count() -> None:
    shape = '<path d="M0 0h9v9z"/>'
    nested = "<style>@media screen{@media (prefers-color-scheme:light){path{fill:red}}}</style>"
    sheet = '<style media="print">path{fill:blue}</style>'
    (drawn,) = parse_shapes(nested + sheet + shape)
    assert drawn["fill"] == "red"


@pytest.mark.parametrize(
    "nested",
    [
        "@media (hover){fill:red}",
        "@supports (fill:red){fill:red}",
        "&b{fill:red}",
        "{fill:red}",
        "&:nth-child(2){fill:red}",
    ],
)
def test_rules_in_rules_are_skipped_with_a_warning(nested: str) -> None:
    path = '<path class="b" d="M0 0h9v9z"/>'
    drawing = f"<style>path{{fill:blue;{nested}}}</style>{path}".replace("&", "&amp;")
    (shape,) = parse_shapes(drawing)
    assert shape["fill"] == "blue"
    assert "style" in warnings_of(drawing)
