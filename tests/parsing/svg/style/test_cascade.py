"""Styles end up as attributes of shapes: `style`, rules, and what groups pass on."""

import pytest

from parsing.errors import DocumentRejectedError
from parsing.limits import DEFAULT_LIMITS, DocumentLimits
from parsing.svg.style.cascade import Cascade, ElementStyle
from parsing.svg.style.matching import OUTSIDE
from parsing.svg.style.styles import parse_declarations, parse_rules
from parsing.svg.style.values import INITIAL_VALUES
from tests.parsing.svg.report.drawings import messages_of, warnings_of
from tests.parsing.tree import Members, parse_shapes


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
        ("opacity", "0.5", "half"),
        ("stroke-width", "5", "-1"),
        ("stroke-dasharray", "1 2", "1,,2"),
        ("fill-rule", "evenodd", "odd"),
        ("cx", "5", "left"),
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
        "stroke-dasharray:1em, 5% 3",
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
    [
        ("transform:rotateX(9deg)", "transform: rotateX(9deg)"),
        ("rotate:x 9deg", "rotate: x 9deg"),
    ],
)
def test_transforms_in_three_dimensions_are_reported(style: str, shown: str) -> None:
    drawing = f'<rect width="9" height="9" style="{style}"/>'
    assert messages_of(drawing, "style") == [f"style is not read or not applied: {shown}"]


def test_flat_transforms_are_not_reported() -> None:
    style = "transform:translateZ(0) rotate(9deg);rotate:none"
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
