"""`use` and `symbol`, `switch`, and `svg` inside `svg`."""

from typing import Any

import pytest

from parsing.errors import DocumentRejectedError
from parsing.svg.walk import DrawingWalker
from tests.parsing.tree import parse_content, parse_drawing, parse_shapes

CHAIR = '<defs><rect id="chair" width="4" fill="red"/></defs>'


def test_a_used_shape_is_drawn_at_its_use() -> None:
    assert parse_content(f'{CHAIR}<use href="#chair" x="3" y="4"/>') == [
        {"width": 4, "fill": "red", "transform": "translate(3 4)", "type": "Rect"}
    ]


def test_transform_then_place_then_own_transform() -> None:
    (shape,) = parse_shapes(
        '<use href="#a" x="1" transform="scale(2)"/>'
        '<defs><path id="a" transform="rotate(3)"/></defs>'
    )
    assert shape["transform"] == "scale(2) translate(1 0) rotate(3)"


def test_a_used_group_or_symbol_is_a_layer() -> None:
    assert (
        parse_content(
            '<defs><g id="a"><path/></g></defs><symbol id="b"><path/></symbol>'
            '<use href="#a"/><use href="#b"/>'
        )
        == [{"type": "Layer", "elements": [{"type": "Path"}]}] * 2
    )


def test_xlink_references_and_later_definitions_work() -> None:
    markup = '<use xmlns:l="http://www.w3.org/1999/xlink" l:href="#later"/>'
    assert len(parse_shapes(f'{markup}<g><path id="later"/></g>')) == 2


def test_a_use_passes_its_style_on() -> None:
    (shape,) = parse_shapes(f'{CHAIR}<g stroke="blue"><use href="#chair" opacity=".5"/></g>')
    assert (shape["fill"], shape["stroke"], shape["opacity"]) == ("red", "blue", "0.5")


def test_a_symbol_fits_its_view_box_into_the_size_of_the_use() -> None:
    (shape,) = parse_shapes(
        '<symbol id="a" viewBox="0 0 10 10"><path/></symbol>'
        '<use href="#a" x="5" width="40" height="20"/>'
    )
    assert shape["transform"] == "translate(5 0) translate(10 0) scale(2 2)"


def test_a_use_in_a_unit_layer_names_the_unit() -> None:
    (unit,) = [
        element
        for element in parse_shapes(
            f'{CHAIR}<g data-type="UnitLayer"><use id="101" href="#chair"/></g>'
        )
        if element["type"] == "Unit"
    ]
    assert unit["id"] == "101"


@pytest.mark.parametrize(
    "address", ["#nothing", "#", "", "other.svg#chair", "https://e.org/#chair"]
)
def test_a_reference_to_an_unknown_id_draws_nothing(address: str) -> None:
    assert parse_content(f'{CHAIR}<use href="{address}"/>') == []


def test_a_use_inside_its_own_target_draws_nothing() -> None:
    markup = '<g id="a"><path/><use href="#b"/></g><defs><g id="b"><use href="#a"/></g></defs>'
    assert len(parse_shapes(markup)) == 1


def test_nested_uses_are_counted_before_expansion(monkeypatch: pytest.MonkeyPatch) -> None:
    ten = '<use href="#a{}"/>' * 10
    layers = "".join(
        f'<g id="a{level}">{ten.replace("{}", str(level - 1))}</g>' for level in range(1, 12)
    )
    drawing = f'<defs><path id="a0"/>{layers}</defs><path/><use href="#a11"/>'
    drawn: list[str] = []
    draw_shape = DrawingWalker._draw_shape

    def note_shape(walker: DrawingWalker, kind: str, *others: Any) -> None:
        drawn.append(kind)
        draw_shape(walker, kind, *others)

    monkeypatch.setattr(DrawingWalker, "_draw_shape", note_shape)
    message = r'use of "a11" expands to 222,222,222,221 elements; .* 500,000 together'
    with pytest.raises(DocumentRejectedError, match=message) as caught:
        parse_drawing(drawing)
    assert drawn == ["Path"]
    assert (caught.value.line, caught.value.column > len(layers)) == (1, True)


def test_uses_do_not_nest_without_end() -> None:
    chain = "".join(f'<g id="a{n}"><use href="#a{n - 1}"/></g>' for n in range(1, 70))
    with pytest.raises(DocumentRejectedError, match="refer to each other 64 deep"):
        parse_drawing(f'<defs><path id="a0"/>{chain}</defs><use href="#a69"/>')


def test_layers_that_uses_nest_count_as_nested() -> None:
    chain = "".join(
        f'<g id="a{n}">{"<g>" * 50}<use href="#a{n - 1}"/>{"</g>" * 50}</g>' for n in range(1, 8)
    )
    with pytest.raises(DocumentRejectedError, match="groups nest deeper than 256"):
        parse_drawing(f'<defs><path id="a0"/>{chain}</defs><use href="#a7"/>')


def test_a_switch_draws_the_first_child_that_applies() -> None:
    markup = """<switch>
      <foreignObject requiredExtensions="http://ns.adobe.com/AdobeIllustrator/10.0/"/>
      <path d="klingon" systemLanguage="tlh"/>
      <g><path d="chosen"/><path d="too"/></g>
      <path d="late"/>
    </switch>"""
    assert [shape["d"] for shape in parse_shapes(markup)] == ["chosen", "too"]


def test_conditions_hold_outside_of_a_switch() -> None:
    assert parse_shapes('<path systemLanguage="tlh"/><g requiredExtensions="x"><path/></g>') == []
    assert len(parse_shapes('<path systemLanguage="de, en-GB"/><path requiredExtensions=""/>')) == 2


@pytest.mark.parametrize(
    ("attributes", "transform"),
    [
        ('x="5" y="6"', "translate(5 6)"),
        ('x="10%" y="10%"', "translate(20 10)"),
        ('width="20" height="10" viewBox="0 0 2 1"', "scale(10 10)"),
        ('width="40" height="10" viewBox="0 0 1 1"', "translate(15 0) scale(10 10)"),
        (
            'width="40" height="10" viewBox="0 0 1 1" preserveAspectRatio="xMaxYMin"',
            "translate(30 0) scale(10 10)",
        ),
        (
            'width="40" height="10" viewBox="0 0 1 1" preserveAspectRatio="xMinYMax slice"',
            "translate(0 -30) scale(40 40)",
        ),
        (
            'width="40" height="10" viewBox="0 0 1 1" preserveAspectRatio="none"',
            "scale(40 10)",
        ),
        ('viewBox="5 6 200 100"', "translate(-5 -6)"),
    ],
)
def test_an_inner_svg_places_its_content(attributes: str, transform: str) -> None:
    (shape,) = parse_shapes(f"<svg {attributes}><path/></svg>")
    assert shape["transform"] == transform


def test_percentages_in_an_inner_svg_become_user_units() -> None:
    circle, rect = parse_shapes(
        '<svg viewBox="0 0 30 40" overflow="visible">'
        '<circle cx="50%" cy="25%" r="100%"/><rect width="10%"/></svg>'
    )
    assert (circle["cx"], circle["cy"], circle["r"]) == ("15", "10", "35.3553390593")
    assert rect["width"] == 3
