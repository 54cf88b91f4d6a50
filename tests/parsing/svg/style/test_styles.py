"""Styles end up as attributes of shapes: `style`, rules, and what groups pass on."""

import pytest

from parsing.errors import DocumentRejectedError
from parsing.svg.style.styles import parse_declarations, parse_rules
from tests.parsing.tree import Members, parse_content, parse_shapes


def painted(rules: str, shape: str) -> Members:
    """The one shape of a drawing with these style rules."""
    (drawn,) = parse_shapes(f"<style>{rules}</style>{shape}")
    del drawn["type"]
    return drawn


def test_style_attributes_become_attributes() -> None:
    shape = painted(
        "", '<path d="M0 0" style="fill:red; STROKE : #000;unknown:1;stroke-width:2px"/>'
    )
    assert shape == {"d": "M0 0", "fill": "red", "stroke": "#000", "stroke-width": "2px"}


def test_a_resolved_value_takes_the_place_of_the_attribute() -> None:
    shape = painted("", '<path fill="red" d="M0 0" style="fill:blue"/>')
    assert list(shape.items()) == [("fill", "blue"), ("d", "M0 0")]


@pytest.mark.parametrize(
    ("rules", "shape", "letter"),
    [
        ("path{fill:a}", "<path/>", "a"),
        ("*{fill:a}", "<path/>", "a"),
        (".w{fill:a}", '<path class="v w"/>', "a"),
        ("#i{fill:a}", '<path id="i"/>', "a"),
        (".v,.w , #i{fill:a}", '<path class="w"/>', "a"),
        ("path.w#i{fill:a}", '<path id="i" class="w"/>', "a"),
        ("g path{fill:a}", "<g><g><path/></g></g>", "a"),
        ("g>path{fill:a}", "<g><path/></g>", "a"),
        ("g.x path.w{fill:a}", '<g class="x"><path class="w"/></g>', "a"),
        # Rules outweigh the attribute, and style both.
        ("path{fill:a}", '<path fill="b"/>', "a"),
        ("#i{fill:a}", '<path id="i" style="fill:b"/>', "b"),
        # Id over class over type over none, wherever they stand.
        ("#i{fill:a}.w{fill:b}path{fill:c}*{fill:d}", '<path id="i" class="w"/>', "a"),
        (".w{fill:a}path{fill:b}*{fill:c}", '<path class="w"/>', "a"),
        ("path.w{fill:a}.w{fill:b}", '<path class="w"/>', "a"),
        # Among equals the last.
        (".v{fill:a}.w{fill:b}", '<path class="w v"/>', "b"),
        (".w{fill:a;fill:b}", '<path class="w"/>', "b"),
        # What is important outweighs even style.
        (".w{fill:a !important}", '<path class="w" style="fill:b"/>', "a"),
        (".w{fill:a!important}", '<path class="w" style="fill:b ! IMPORTANT"/>', "b"),
    ],
)
def test_rules_cascade(rules: str, shape: str, letter: str) -> None:
    named = [text.replace("fill", "stroke-linecap") for text in (rules, shape)]
    assert painted(*named) == {"stroke-linecap": letter}


@pytest.mark.parametrize(
    ("rules", "shape"),
    [
        (".w{fill:a}", '<path class="W"/>'),
        ("g>path{fill:a}", "<g><a><path/></a></g>"),
        ("path:hover{fill:a}", "<path/>"),
        ("[id]{fill:a}", '<path id="i"/>'),
        ("path+path{fill:a}", "<path/>"),
        ("@media print{path{fill:a}}", "<path/>"),
        ("/* path{fill:a} */", "<path/>"),
        ("path{fill:}", "<path/>"),
    ],
)
def test_rules_that_do_not_apply_or_are_not_read_change_nothing(rules: str, shape: str) -> None:
    assert painted(rules, shape) == {}


def test_rules_hold_before_their_style_element_too_and_through_cdata() -> None:
    (shape,) = parse_shapes("<path/><style><![CDATA[ g > a, path { fill : red } ]]></style>")
    assert shape["fill"] == "red"


def test_at_rules_are_skipped() -> None:
    rules = '@import url("a;b.css"); @font-face{src:url(data:x;y)} @media x{a{b:c}} path{fill:d}'
    assert painted(rules, "<path/>") == {"fill": "d"}


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


@pytest.mark.parametrize(
    ("declared", "written"),
    [
        ("translate(3px, 4px)", "translate(3,4)"),
        ("rotate(.25turn)", "rotate(90)"),
        ("rotate(100grad) skewX(5deg)", "rotate(90) skewX(5)"),
        ("translateX(1in)", "translate(96,0)"),
        ("translateY(5px)", "translate(0,5)"),
        ("scaleX(2)", "scale(2,1)"),
        ("scaleY(2)", "scale(1,2)"),
        ("matrix(1,0,0,1,2,3)", "matrix(1,0,0,1,2,3)"),
    ],
)
def test_transforms_of_style_sheets_become_those_of_attributes(declared: str, written: str) -> None:
    assert painted("", f'<path style="transform:{declared}"/>') == {"transform": written}


def test_a_transform_may_be_taken_back() -> None:
    assert painted("", '<path transform="scale(2)" style="transform:none"/>') == {}


def test_strings_and_parentheses_hide_semicolons() -> None:
    declared = parse_declarations("fill:url('a;b') red;stroke:url(a;b);x:\"(;\"")
    assert declared.normal == {"fill": "url('a;b') red", "stroke": "url(a;b)", "x": '"(;"'}


def test_an_open_block_ends_with_the_sheet() -> None:
    assert list(parse_rules("a{b:c} d{e:f")) == [("a", "b:c"), ("d", "e:f")]


def test_a_sheet_with_too_many_rules_is_rejected() -> None:
    with pytest.raises(DocumentRejectedError, match="more than 20,000 style rules"):
        painted("a," * 20_001 + "b{fill:c}", "<path/>")


@pytest.mark.slow
def test_rules_with_too_many_comparisons_are_rejected() -> None:
    rules = "".join(f".a.b{number}{{fill:c}}" for number in range(15_000))
    shapes = "".join(f'<path class="a b{number}"/>' for number in range(200))
    with pytest.raises(DocumentRejectedError, match="too many comparisons"):
        parse_content(f"<style>{rules}</style>{shapes}")


@pytest.mark.parametrize("long", [f"background:url({'A' * 100_000})", "x" * 100_000])
def test_declarations_that_are_too_long_are_skipped_and_the_others_read(long: str) -> None:
    assert parse_declarations(f"fill:red;{long};stroke:blue").normal == {
        "fill": "red",
        "stroke": "blue",
    }
