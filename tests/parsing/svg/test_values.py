"""Values are computed: variables, keywords, relative lengths, paints in error."""

import pytest

from parsing.errors import DocumentRejectedError
from parsing.svg import values
from parsing.svg.lengths import MAX_SIZE, FontSizes, Viewport, parse_length
from parsing.svg.names import INHERITED_PROPERTIES
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
        '<g style="font-size:30px"><g style="font:initial"><rect width="1em"/></g></g>'
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
    ("controls", "size"),
    [
        ({"font-size": "32"}, 32),
        ({"font-size": "2em"}, 40),
        ({"font-size": "x-large"}, 24),
        ({"font-size": "larger"}, 24),
        ({"font": "italic bold 12pt/2 Arial, serif"}, 16),
        ({"font": "small serif"}, 13),
        ({"font-size": "-3px"}, 20),
        ({"font-size": "1e9px"}, MAX_SIZE),
    ],
)
def test_font_sizes_are_computed(controls: dict[str, str], size: float) -> None:
    assert ROOT.enter(controls).size == pytest.approx(size)


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
        ("1lh", 30),
        ("1rlh", 24),
    ],
)
def test_relative_lengths_follow_the_font_and_the_viewport(text: str, px: float) -> None:
    font = ROOT.enter({"font": "10px/3 x"})
    assert parse_length(text, 0, font.px_per_unit) == pytest.approx(px)
