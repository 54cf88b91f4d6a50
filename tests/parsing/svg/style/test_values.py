import pytest

from parsing.errors import DocumentRejectedError
from parsing.svg.names import INHERITED_PROPERTIES
from parsing.svg.style.values import INITIAL_VALUES, VariableResolver, resolve_wide_keywords
from parsing.svg.unit_map import parse_unit_map
from tests.cpu_cost import measure_cost
from tests.parsing.tree import parse_shapes

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


def test_a_bomb_of_variables_ends_soon() -> None:
    doubled = ";".join(f"--v{n}:var(--v{n + 1})var(--v{n + 1})" for n in range(30))
    bomb = f'<path style="{doubled};--v30:xxxxxxxxxx;fill:var(--v0)"/>' * 200
    drawing = f'<svg xmlns="http://www.w3.org/2000/svg">{bomb}</svg>'.encode()

    def parse() -> None:
        with pytest.raises(DocumentRejectedError, match=r"var\(\) stands for"):
            parse_unit_map(drawing)

    assert measure_cost(parse) < 2_500


def test_deeply_nested_fallbacks_are_invalid() -> None:
    nested = "var(--x," * 5_000 + "red" + ")" * 5_000
    assert VariableResolver().substitute(nested, {}) is None


@pytest.mark.parametrize(
    ("value", "result"),
    [
        ("inherit", {}),
        ("unset", {}),
        ("revert", {}),
        ("initial", {"fill": "black"}),
        ("red", {"fill": "red"}),
    ],
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
