"""Values are computed: variables, keywords, relative lengths; paints, gradients and patterns."""

import tracemalloc
from typing import Any

import pytest

from parsing.errors import DocumentRejectedError
from parsing.svg import paint_servers, values
from parsing.svg.colors import Color, is_unknown_paint, mix_colors, parse_color
from parsing.svg.lengths import MAX_SIZE, FontSizes, Viewport, parse_length
from parsing.svg.names import INHERITED_PROPERTIES
from parsing.svg.paint_servers import Stop, average_gradient, parse_offset
from parsing.svg.values import INITIAL_VALUES, VariableResolver, resolve_wide_keywords
from tests.parsing.parsed_maps import parse_shapes

VARIABLES = {"--wall": "#333", "--same": "var(--wall)"}


@pytest.mark.parametrize(
    ("value", "result"),
    [
        ("var(--wall)", "#333"),
        ("var( --same , red)", "#333"),
        ("var(--none, rgb(1, 2, 3))", "rgb(1, 2, 3)"),
        ("var(--none, var(--wall))", "#333"),
        ("1px var(--wall) 2px", "1px #333 2px"),
        ("var(--none)", None),
        ("var(--none, var(--none))", None),
        ("var(--wall", "var(--wall"),
    ],
)
def test_variables_are_substituted(value: str, result: str | None) -> None:
    assert VariableResolver().substitute(value, VARIABLES) == result


def test_variables_that_contain_themselves_are_invalid() -> None:
    declared = {"--a": "var(--b)", "--b": "var(--a)", "--c": "var(--a, red)"}
    assert VariableResolver().inherit(declared, {}) == {"--c": "red"}


def test_variables_are_inherited_and_have_the_scope_of_a_group() -> None:
    sheet = "<style>:root{--c:red} .b{--c:blue} path{fill:var(--c)}</style>"
    one, other = parse_shapes(f'{sheet}<path/><g class="b"><path/></g>')
    assert (one["fill"], other["fill"]) == ("red", "blue")


def test_an_invalid_variable_leaves_the_inherited_value() -> None:
    (shape,) = parse_shapes('<g fill="red"><path fill="var(--x)"/></g>')
    assert shape["fill"] == "red"


def test_a_bomb_of_variables_ends_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "MAX_SUBSTITUTED_CHARS", 20_000)
    doubled = ";".join(f"--v{n}:var(--v{n + 1})var(--v{n + 1})" for n in range(30))
    bomb = f'<path style="{doubled};--v30:xxxxxxxxxx;fill:var(--v0)"/>'
    with pytest.raises(DocumentRejectedError, match=r"var\(\) stands for more than 20,000"):
        parse_shapes(bomb)


def test_deeply_nested_fallbacks_are_invalid() -> None:
    nested = "var(--x," * 5_000 + "red" + ")" * 5_000
    assert VariableResolver().substitute(nested, {}) is None


@pytest.mark.parametrize(
    ("value", "result"),
    [("inherit", {}), ("unset", {}), ("initial", {"fill": "black"}), ("red", {"fill": "red"})],
)
def test_keywords_of_all_properties(value: str, result: dict[str, str]) -> None:
    assert resolve_wide_keywords({"fill": value}, {}) == result


def test_opacity_is_inherited_only_if_asked_for() -> None:
    (shape,) = parse_shapes('<g opacity=".5"><path opacity="inherit"/></g>')
    assert shape["opacity"] == "0.25"
    (shape,) = parse_shapes('<g opacity=".5"><g><path opacity="inherit"/></g></g>')
    assert shape["opacity"] == "0.5"


def test_color_is_inherited_by_keyword() -> None:
    (shape,) = parse_shapes('<g color="green"><path color="inherit" fill="currentColor"/></g>')
    assert shape["fill"] == "green"


def test_every_inherited_property_has_an_initial_value() -> None:
    assert INITIAL_VALUES.keys() == INHERITED_PROPERTIES


def test_an_initial_font_has_the_usual_size() -> None:
    (shape,) = parse_shapes(
        '<g style="font-size:30px"><g style="font-size:initial"><rect width="1em"/></g></g>'
    )
    assert shape["width"] == 16


def test_lengths_follow_the_font_size_around_them() -> None:
    circle, rect = parse_shapes(
        '<g font-size="20"><circle r="1em" stroke-width=".1em" stroke-dasharray="1em 2ex"/>'
        '<rect width="2em" height="10vh" font-size="150%"/></g>'
    )
    assert (circle["r"], circle["stroke-width"], circle["stroke-dasharray"]) == ("20", "2", "20 20")
    assert (rect["width"], rect["height"]) == (60, 10)


@pytest.mark.parametrize("style", ["stroke", "markers stroke", "stroke fill markers"])
def test_a_stroke_below_the_fill_is_a_shape_by_itself(style: str) -> None:
    stroke, fill = parse_shapes(f'<path fill="red" stroke="blue" paint-order="{style}"/>')
    assert (stroke["fill"], stroke["stroke"]) == ("none", "blue")
    assert (fill["fill"], fill["stroke"]) == ("red", "none")


@pytest.mark.parametrize("style", ["normal", "fill", "fill stroke", "stroke stroke", "stroke x"])
def test_any_other_order_is_the_usual_one(style: str) -> None:
    assert len(parse_shapes(f'<path stroke="blue" paint-order="{style}"/>')) == 1


def test_a_text_without_anything_to_compute_stays_as_written() -> None:
    (shape,) = parse_shapes('<circle r=" 1.50 " stroke-width="25%" fill="URGB"/>')
    assert shape == {"r": " 1.50 ", "stroke-width": "25%", "fill": "URGB", "type": "Circle"}


@pytest.mark.parametrize("keyword", ["INHERIT", "Unset", "inherit"])
def test_keywords_may_be_in_capitals(keyword: str) -> None:
    sheet = f"<style>.v{{fill:{keyword}}}</style>"
    (shape,) = parse_shapes(f'{sheet}<g fill="pink"><path class="v"/></g>')
    assert shape["fill"] == "pink"


@pytest.mark.parametrize("paint", ["bogus", "#12345", " #ggg ", "url(#missing) bogus", "-moz-x"])
def test_a_paint_in_error_takes_the_one_of_the_group(paint: str) -> None:
    inner, _ = parse_shapes(f'<g fill="pink"><path fill="{paint}"/><path/></g>')
    assert inner["fill"] == "pink"
    (nested,) = parse_shapes(f'<g fill="pink"><g fill="{paint}"><path/></g></g>')
    assert nested["fill"] == "pink"
    (alone,) = parse_shapes(f'<path fill="{paint}"/>')
    assert alone["fill"] == paint.removeprefix("url(#missing) ")  # viewers draw it black


@pytest.mark.parametrize("offset", ["none", "auto", "calc(2px)", "3"])
@pytest.mark.parametrize("dashes", ["none", "bogus", ""])
def test_an_offset_without_dashes_changes_nothing(dashes: str, offset: str) -> None:
    style = f'stroke-dasharray="{dashes}" stroke-dashoffset="{offset}"'
    (shape,) = parse_shapes(f'<path stroke="red" {style}/>')
    assert shape == {"stroke": "red", "stroke-dasharray": dashes, "type": "Path"}


def test_a_transform_may_be_inherited_or_reset() -> None:
    inherited, reset = parse_shapes(
        '<g style="transform:translate(20px)"><path style="transform:inherit"/></g>'
        '<path transform="scale(2)" style="transform:unset"/>'
    )
    assert inherited["transform"] == "translate(20,0) translate(20,0)"
    assert "transform" not in reset


def test_a_relative_length_is_inherited_as_the_group_has_it() -> None:
    group = "font-size:10px;stroke:red;stroke-width:1em;stroke-dasharray:1em 50%"
    shape, inner = parse_shapes(
        f'<g style="{group}"><path style="font-size:20px"/>'
        '<g font-size="30"><path style="stroke-width:1em"/></g></g>'
    )
    assert (shape["stroke-width"], inner["stroke-width"]) == ("10", "30")
    assert shape["stroke-dasharray"].startswith("10 ")


def test_a_variable_that_is_no_value_of_the_property_is_unset() -> None:
    (shape,) = parse_shapes('<g fill="pink"><path style="--w:12px;fill:var(--w)"/></g>')
    assert shape["fill"] == "pink"


@pytest.mark.parametrize(
    ("declared", "transform"),
    [
        ("transform:translate(10%, 5px)", "translate(20,5)"),  # of the canvas
        ("translate:50% 10%;transform:none", "translate(100,10)"),
        ("--x:30px;transform:translate(var(--x),10px)", "translate(30,10)"),
        ("--d:30deg;transform:rotate(VAR(--d))", "rotate(30)"),
        ("font-size:20px;transform:translate(1em,2vw)", "translate(20,4)"),
        ("transform:scale(50%)", "scale(0.5)"),
    ],
)
def test_transforms_are_computed_to_what_browsers_read(declared: str, transform: str) -> None:
    (shape,) = parse_shapes(f'<path transform="scale(3)" style="{declared}"/>')
    assert shape["transform"] == transform


@pytest.mark.parametrize("declared", ["d:path('M1 1h2')", "--d:path('M1 1h2');d:var(--d)"])
def test_rules_set_paths(declared: str) -> None:
    (shape,) = parse_shapes(f'<path d="M0 0" style="{declared}"/>')
    assert shape["d"] == "M1 1h2"


ROOT = FontSizes(size=20, viewport=Viewport(400, 200)).as_root()


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("32", 32),
        ("2EM", 40),
        ("x-large", 20),
        ("-3px", 20),
        ("1e9px", MAX_SIZE),
    ],
)
def test_font_sizes_are_computed(text: str, size: float) -> None:
    assert ROOT.enter(text).size == pytest.approx(size)


@pytest.mark.parametrize(
    ("text", "px"),
    [
        ("2em", 20),
        ("2rem", 40),
        ("1ex", 5),
        ("1ic", 10),
        ("10vw", 40),
        ("10vh", 20),
        ("10vmin", 20),
        ("10vmax", 40),
    ],
)
def test_relative_lengths_follow_the_font_and_the_viewport(text: str, px: float) -> None:
    font = ROOT.enter("10px")
    assert parse_length(text, 0, font.px_per_unit) == pytest.approx(px)


GRADIENT = (
    '<linearGradient id="g"><stop stop-color="#000"/><stop offset="1" stop-color="#fff"/>'
    "</linearGradient>"
)


def fill_of(definitions: str, paint: str = "url(#g)") -> str | None:
    (shape,) = parse_shapes(f'<defs>{definitions}</defs><path d="M0 0h9v9z" fill="{paint}"/>')
    return shape.get("fill")


def test_a_gradient_is_drawn_in_its_average_color() -> None:
    assert fill_of(GRADIENT) == "#808080"
    assert fill_of(GRADIENT, "  URL( '#g' ) red") == "#808080"


def test_stops_are_styled_by_rules_and_have_opacity() -> None:
    sheet = "<style>.a{stop-color:red;stop-opacity:.5}</style>"
    stop = '<stop class="a"/><stop offset="1" style="stop-color:red;stop-opacity:50%"/>'
    assert fill_of(f'{sheet}<radialGradient id="g">{stop}</radialGradient>') == "#ff000080"


@pytest.mark.parametrize(
    ("gradient", "stop"),
    [
        ("", 'style="stop-color:var(--c,red)"'),
        ('style="--c:red"', 'style="stop-color:var(--c)"'),
        ('stop-color="red"', 'stop-color="inherit"'),
        ('style="color:red"', 'stop-color="currentColor"'),
        ("", ""),
    ],
)
def test_stops_inherit_from_their_gradient(gradient: str, stop: str) -> None:
    gradient = f'<linearGradient id="g" {gradient}><stop {stop}/></linearGradient>'
    assert fill_of(gradient) == ("#ff0000" if stop else "#000000")


@pytest.mark.parametrize("selector", ["linearGradient stop", "#g > stop", "stop", "pattern *"])
def test_rules_see_stops_in_gradients_and_the_content_of_patterns(selector: str) -> None:
    sheet = f"<style>{selector}{{fill:red;stop-color:red}}</style>"
    server = '<linearGradient id="g"><stop/></linearGradient>'
    if "pattern" in selector:
        server = pattern('<rect width="10" height="10"/>')
    assert fill_of(sheet + server) == "#ff0000"


@pytest.mark.parametrize("around", ['fill="red"', 'style="color:red;fill:currentColor"'])
def test_the_content_of_a_pattern_inherits_from_it_and_not_from_what_it_paints(around: str) -> None:
    square = '<rect width="10" height="10"/>'
    assert fill_of(pattern(square, around)) == "#ff0000"
    (shape,) = parse_shapes(f'{pattern(square)}<g {around}><path stroke="url(#g)"/></g>')
    assert shape["stroke"] == "#000000"


def test_opacity_and_transforms_around_a_pattern_do_not_change_its_content() -> None:
    half = pattern('<rect width="5" height="10"/>')
    assert fill_of(f'<g opacity=".5" transform="scale(9)">{half}</g>') == "#00000080"


def test_a_tile_may_be_as_large_as_its_font() -> None:
    half = '<pattern id="g" width="1em" height="2" patternUnits="userSpaceOnUse" font-size="10">'
    assert fill_of(f'{half}<rect width=".5em" height="2"/></pattern>') == "#00000080"


def test_a_gradient_takes_the_stops_of_the_one_it_refers_to() -> None:
    copy = '<linearGradient id="h" href="#g" x1="3" x2="9"/>'
    assert fill_of(GRADIENT + copy, "url(#h)") == "#808080"


def test_gradients_that_refer_to_each_other_paint_nothing() -> None:
    circle = '<linearGradient id="g" href="#h"/><linearGradient id="h" href="#g"/>'
    assert fill_of(circle) == "none"


@pytest.mark.parametrize(
    ("paint", "fill"),
    [
        ("url(#missing)", "none"),
        ("url(#missing) red", "red"),
        ("url(#missing) currentColor", "black"),
        ("url(other.svg#g) #123", "#123"),
        ("url(#shape) red", "red"),
    ],
)
def test_what_is_no_gradient_takes_the_color_after_it(paint: str, fill: str) -> None:
    assert fill_of('<path id="shape"/>', paint) == fill


def test_a_shape_without_area_has_no_gradient_that_is_sized_by_it() -> None:
    (flat, sized) = parse_shapes(
        f'{GRADIENT}<linearGradient id="u" href="#g" gradientUnits="userSpaceOnUse"/>'
        '<line x2="9" stroke="url(#g) red"/><line x2="9" stroke="url(#u) red"/>'
    )
    assert (flat["stroke"], sized["stroke"]) == ("red", "#808080")


def pattern(content: str, attributes: str = "") -> str:
    return (
        f'<pattern id="g" width="10" height="10" patternUnits="userSpaceOnUse" {attributes}>'
        f"{content}</pattern>"
    )


def test_a_pattern_is_drawn_in_the_average_color_of_its_tile() -> None:
    half = '<rect width="5" height="10" fill="red"/>'
    assert fill_of(pattern(half)) == "#ff000080"
    assert fill_of(pattern(f'<rect width="20" height="20" fill="#fff"/>{half}')) == "#ff8080"


def test_lines_of_a_pattern_cover_their_length_times_their_width() -> None:
    line = '<path d="M0 5H10" stroke="#00f" stroke-width="2"/>'
    assert fill_of(pattern(line)) == "#0000ff33"


def test_half_of_a_line_along_the_edge_of_a_tile_is_outside_of_it() -> None:
    hatch = '<line x2="0" y2="10" stroke="#000" stroke-width="2"/>'
    assert fill_of(pattern(hatch)) == "#0000001a"  # a tenth
    assert fill_of(pattern(hatch, 'patternTransform="rotate(45)"')) == "#0000001a"


def test_groups_uses_and_view_boxes_of_a_pattern_count() -> None:
    content = '<g transform="scale(2)" fill="red"><use href="#r"/></g>'
    square = '<rect id="r" width="5" height="5"/>'
    assert fill_of(square + pattern(content, 'viewBox="0 0 20 20"')) == "#ff000040"


def test_patterns_within_patterns_are_averaged_and_circles_end() -> None:
    inner = '<pattern id="h" width="1" height="1"><rect width="1" height="1" fill="red"/></pattern>'
    outer = '<rect width="10" height="10" fill="url(#{})"/>'
    assert fill_of(inner + pattern(outer.format("h"))) == "#ff0000"
    assert fill_of(pattern(outer.format("g"))) == "none"


def test_a_chain_of_patterns_costs_little() -> None:
    """Without a limit, 20 paths lead from each pattern to the next."""
    chain = "".join(
        f'<pattern id="p{n}" width="1" height="1">'
        + f'<rect width="1" height="1" fill="url(#p{n + 1})"/>' * 20
        + "</pattern>"
        for n in range(100)
    )
    assert fill_of(chain, "url(#p0)") == "none"


def test_a_use_paints_its_instance_with_context_fill() -> None:
    mark = '<defs><path id="m" fill="context-stroke" stroke="context-fill"/></defs>'
    (shape,) = parse_shapes(f'{mark}<use href="#m" fill="red" stroke="blue"/>')
    assert (shape["fill"], shape["stroke"]) == ("blue", "red")
    (bare,) = parse_shapes('<path fill="context-fill"/>')
    assert bare["fill"] == "none"


def test_gradients_that_share_their_stops_are_averaged_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[str] = []

    def count_average(*arguments: Any) -> Any:
        calls.append("average")
        return average_gradient(*arguments)

    monkeypatch.setattr(paint_servers, "average_gradient", count_average)
    copies = (f'<linearGradient id="g{n}" href="#g"/><path fill="url(#g{n})"/>' for n in range(50))
    assert {shape["fill"] for shape in parse_shapes(GRADIENT + "".join(copies))} == {"#808080"}
    assert len(calls) < 5


def test_gradients_in_many_groups_with_many_variables_take_little_memory() -> None:
    variables = ";".join(f"--v{n}:{n}" for n in range(5_000))
    groups = "".join(
        f'<g style="--w:{n}"><linearGradient id="g{n}"><stop/></linearGradient></g>'
        f'<path fill="url(#g{n})"/>'
        for n in range(500)
    )
    tracemalloc.start()
    parse_shapes(f'<g style="{variables}">{groups}</g><path fill="var(--v0)"/>')
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()


def test_uses_and_patterns_that_nest_in_each_other_end() -> None:
    chains = "".join(
        pattern(f'<use href="#u{n}-0"/>').replace('"g"', f'"p{n}"')
        + "".join(f'<g id="u{n}-{step}"><use href="#u{n}-{step + 1}"/></g>' for step in range(50))
        + f'<rect id="u{n}-50" width="10" height="10" fill="url(#p{n + 1})"/>'
        for n in range(9)
    )
    assert fill_of(chains, "url(#p0)") == "none"


# Colours of CSS, and gradients as their average colour.


@pytest.mark.parametrize(
    ("text", "formatted"),
    [
        ("red", "#ff0000"),
        ("  RebeccaPurple ", "#663399"),
        ("#abcd", "#aabbccdd"),
        ("rgb(255, 128, 0)", "#ff8000"),
        ("rgba(0,0,0,.5)", "#00000080"),
        ("rgb(100% 0% 0% / 50%)", "#ff000080"),
        ("rgb(300, -5, 0)", "#ff0000"),
        ("hsl(120deg, 100%, 25%)", "#008000"),
        ("hsl(120, 100%, 25%)", "#008000"),
        ("hsl(.5turn 100% 50%)", "#00ffff"),
        ("transparent", "none"),
        ("color(srgb 1 50% none)", "#ff8000"),
        ("color(display-p3 .5 .2 0)", "#8a2c00"),
        ("color(display-p3 1e999 -1e999 0)", "#ff0000"),
    ],
)
def test_colors_of_css_are_read(text: str, formatted: str) -> None:
    color = parse_color(text)
    assert color is not None and color.format() == formatted


@pytest.mark.parametrize(
    "text",
    [
        "",
        "#12",
        "#12345",
        "none",
        "rgb(1,2)",
        "rgb(a,b,c)",
        "wood",
        "oklch(.9 .4 140)",
        "color(xyz 1 2 3)",
        "color()",
    ],
)
def test_other_text_is_no_color(text: str) -> None:
    assert parse_color(text) is None


def test_paints_in_error_are_those_that_no_viewer_knows() -> None:
    in_error = ["bogus", "#12345", "-moz-x", "icc-color(x)", "url(#a) bogus", "url('#a') #12345"]
    known = ["canvasText", "rgb(1,2,3)", "color-mix(in lab, red, blue)", "context-fill"]
    references = ["url( '#a' ) none", "url(#a) rgba(1, 2, 3, .4)"]
    assert [*filter(is_unknown_paint, [*in_error, *known, *references])] == in_error


def test_a_translucent_color_counts_less_in_a_mixture() -> None:
    mixed = mix_colors([(Color(1, 0, 0), 1), (Color(0, 0, 1, 0.5), 2)])
    assert mixed[:3] == (0.5, 0, 0.5)
    assert mixed.alpha == pytest.approx(2 / 3)


def test_a_color_over_another_hides_it_by_its_opacity() -> None:
    assert Color(1, 1, 1, 0.5).lay_over(Color(0, 0, 0)) == (0.5, 0.5, 0.5, 1)
    assert Color(1, 1, 1, 0.5).lay_over(Color(0, 0, 0, 0)) == (1, 1, 1, 0.5)


BLACK, WHITE = Color(0, 0, 0), Color(1, 1, 1)


def linear(*stops: tuple[float, Color]) -> str:
    color = average_gradient(False, [Stop(*stop) for stop in stops])
    assert color is not None
    return color.format()


def test_a_gradient_becomes_the_mean_of_its_colors() -> None:
    assert linear((0, BLACK), (1, WHITE)) == "#808080"


def test_colors_count_by_the_way_between_their_stops() -> None:
    assert linear((0, BLACK), (0.5, BLACK), (0.5, WHITE), (1, WHITE)) == "#808080"
    assert linear((0, BLACK), (0.8, BLACK), (0.8, WHITE)) == "#333333"  # a fifth is white


def test_stops_out_of_order_move_to_the_one_before() -> None:
    assert linear((0.5, BLACK), (0.2, WHITE)) == linear((0.5, BLACK), (0.5, WHITE))


def test_the_outside_of_a_radial_gradient_counts_more() -> None:
    color = average_gradient(True, [Stop(0, WHITE), Stop(1, BLACK)])
    assert color is not None and color.red == pytest.approx(1 / 3)  # a cone has a third


def test_a_gradient_of_one_color_is_that_color() -> None:
    assert linear((0.3, Color(0, 0, 1, 0.5))) == "#0000ff80"


def test_colors_between_stops_are_not_weighed_by_their_opacity_before_they_are_mixed() -> None:
    # SVG interpolates colour and opacity by themselves: half way it is purple, half opaque.
    assert linear((0, Color(1, 0, 0)), (1, Color(0, 0, 1, 0))) == "#aa005580"


def test_a_gradient_without_stops_paints_nothing() -> None:
    assert average_gradient(False, []) is None


def test_offsets_are_numbers_and_percentages_from_0_to_1() -> None:
    assert [parse_offset(text) for text in ("25%", ".5", "-1", "7", "x")] == [0.25, 0.5, 0, 1, 0]
