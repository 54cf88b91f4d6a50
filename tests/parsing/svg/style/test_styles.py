"""Styles end up as attributes of shapes: `style`, rules, and what groups pass on."""

import pytest

from parsing.errors import DocumentRejectedError
from parsing.svg.style.styles import parse_declarations, parse_rules
from parsing.svg.style.values import INITIAL_VALUES
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
        (".w{r:1;r:2}", '<path class="w"/>', "2"),
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
    declared = parse_declarations("fill:url('a;b') red;stroke:url(a;b);--x:\"(;\"")
    assert declared.normal == {"fill": "url('a;b') red", "stroke": "url(a;b)", "--x": '"(;"'}


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


@pytest.mark.parametrize(
    ("attribute", "value", "error"),
    [
        ("fill", "lime", "#12"),
        ("fill", "lime", "rgb(1, 2)"),
        ("opacity", "0.5", "half"),
        ("stroke-width", "5", "-1"),
        ("stroke-width", "5", "thin"),
        ("stroke-dasharray", "1 2", "1,,2"),
        ("fill-rule", "evenodd", "odd"),
        ("cx", "5", "left"),
        ("transform", "scale(2)", "rotate(30)"),
        ("transform", "scale(2)", "translate(30 10)"),
    ],
)
def test_a_declaration_in_error_does_not_override(attribute: str, value: str, error: str) -> None:
    shape = f'<path {attribute}="{value}" class="a" style="{attribute}:{error}"/>'
    assert painted(f".a{{{attribute}:{error}}}", shape) == {attribute: value}


def test_a_display_in_error_does_not_show_what_is_hidden() -> None:
    assert parse_shapes('<path display="none" style="display:foo"/>') == []


@pytest.mark.parametrize(
    "declaration",
    [
        "fill:var(--wall)",
        "fill:color-mix(in srgb, red, blue)",
        "stroke-width:calc(1px + 2px)",
        "stroke-width:1E2PX",
        "stroke-dasharray:1em, 5% 3",
        "opacity:50%",
        "font:italic 20px/2 serif",
        "display:inline-block",
        "display:-webkit-box",
        "transform:rotate(calc(1deg * 2))",
        "transform-origin:left 5px",
        "fill:RevERT-layer",
    ],
)
def test_a_valid_declaration_is_kept(declaration: str) -> None:
    name, _, value = declaration.partition(":")
    assert parse_declarations(declaration).normal == {name: value}


@pytest.mark.parametrize("keyword", ["unset", "initial", "inherit"])
def test_all_properties_may_be_reset(keyword: str) -> None:
    rule = f"path{{all:{keyword};r:9}}"
    assert painted(rule, '<path opacity=".5" fill="inherit" transform="scale(2)"/>').keys() <= {
        "r",
        *(INITIAL_VALUES if keyword == "initial" else ()),
    }


def test_a_layer_that_is_reverted_shows_what_is_below_it() -> None:
    style = 'fill="blue" style="fill:revert-layer"'
    assert painted("", f'<g fill="lime"><path {style}/></g>') == {"fill": "blue"}
    assert painted("path{fill:red}", f"<path {style}/>") == {"fill": "red"}
