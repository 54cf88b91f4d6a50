"""`use`, `symbol` and `switch`, and the definitions that they refer to."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsing.errors import DocumentRejectedError
from parsing.limits import DEFAULT_LIMITS, DocumentLimits
from parsing.svg.definitions import (
    Definitions,
    ExpansionCounter,
    conditions_hold,
    find_drawn_uses,
    read_definitions,
)
from parsing.svg.names import referenced_id
from parsing.svg.unit_map import UnitMapWriter
from parsing.svg.walk import DrawingWalker
from parsing.svg.walk_drawing import walk_drawing
from parsing.xml_documents import XmlDocument
from tests.parsing.parsed_maps import parse_content, parse_drawing, parse_shapes

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


@pytest.mark.parametrize(
    "address", ["#nothing", "#", "", "other.svg#chair", "https://e.org/#chair"]
)
def test_a_reference_to_an_unknown_id_draws_nothing(address: str) -> None:
    assert parse_content(f'{CHAIR}<use href="{address}"/>') == []


def test_a_use_inside_its_own_target_draws_nothing() -> None:
    markup = '<g id="a"><path/><use href="#b"/></g><defs><g id="b"><use href="#a"/></g></defs>'
    assert len(parse_shapes(markup)) == 1


def test_nested_uses_are_counted_before_expansion() -> None:
    ten = '<use href="#a{}"/>' * 10
    layers = "".join(
        f'<g id="a{level}">{ten.replace("{}", str(level - 1))}</g>' for level in range(1, 12)
    )
    drawing = f'<defs><path id="a0"/>{layers}</defs><path/><use href="#a11"/>'
    message = r'use of "a11" expands to 222,222,222,221 elements; .* 500,000 together'
    with pytest.raises(DocumentRejectedError, match=message) as caught:
        parse_drawing(drawing)
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


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, True),
        ({"systemLanguage": "de, en-GB"}, True),
        ({"systemLanguage": "de"}, False),
        ({"systemLanguage": ""}, False),
        ({"requiredExtensions": ""}, True),
        ({"requiredExtensions": "http://example.org/"}, False),
    ],
)
def test_conditions_are_those_of_an_english_viewer(
    attributes: dict[str, str], expected: bool
) -> None:
    assert conditions_hold(attributes) is expected


XLINK_HREF = "{http://www.w3.org/1999/xlink}href"


@pytest.mark.parametrize(
    ("attributes", "id"),
    [
        ({}, ""),
        ({"href": " #a "}, "a"),
        ({XLINK_HREF: "#b"}, "b"),
        ({XLINK_HREF: "#b", "href": "#a"}, "a"),
        ({XLINK_HREF: "#b", "href": "other.svg#a"}, ""),
        ({"href": "#"}, ""),
    ],
)
def test_a_reference_is_an_id_of_the_same_document(attributes: dict[str, str], id: str) -> None:
    assert referenced_id(attributes) == id


def definitions_of(markup: str, limits: DocumentLimits = DEFAULT_LIMITS) -> Definitions:
    return read_definitions(XmlDocument(f"<svg>{markup}</svg>".encode(), False), limits)


def test_the_text_of_all_style_sheets_is_joined() -> None:
    sheets = "<style>a{}</style><style type='text/css'>b{}</style><style type='x'>c{}</style>"
    assert definitions_of(sheets).style_sheet == "a{}\nb{}"


def test_of_equal_ids_the_first_counts() -> None:
    definitions = definitions_of('<use href="#a"/><path id="a" d="M0 0"/><path id="a"/>')
    assert definitions.instance_tokens("a")[0] == ("path", {"id": "a", "d": "M0 0"})


def test_definitions_are_read_wherever_they_stand_in_a_long_document() -> None:
    shapes = "<path/>" * 20_000
    sheet = f"a{{}}{'/* long */' * 10_000}b{{}}"
    # Text comes in parts, the borders of which are nowhere in the sheet.
    late = definitions_of(
        f"<style>{sheet}</style>{shapes}<linearGradient id='g'>{shapes}<stop/></linearGradient>"
    )
    assert late.style_sheet == sheet
    assert len(late.paint_servers["g"].stops) == 1


IDS = "abcd"


USES = st.sampled_from([f'<use href="#{name}"/>' for name in (*IDS, "unknown")])


CONDITIONS = st.sampled_from(["", ' systemLanguage="tlh"'])


MARKUP: st.SearchStrategy[str] = st.recursive(
    USES | st.just("<path/>"),
    lambda content: st.builds(
        lambda tag, condition, children: f"<{tag}{condition}>{''.join(children)}</{tag}>",
        st.sampled_from(["g", "switch", "svg", "defs", "symbol", "text", "path"]),
        CONDITIONS,
        st.lists(content, max_size=4),
    ),
    max_leaves=6,
)


def count(markup: str, name: str, limits: DocumentLimits = DEFAULT_LIMITS) -> int:
    counter = ExpansionCounter(definitions_of(markup), limits)
    counter.add_use(name)
    return counter.expanded_elements


@given(st.lists(MARKUP, min_size=4, max_size=4), st.lists(USES, min_size=1, max_size=4))
def test_the_count_is_what_is_expanded(targets: list[str], uses: list[str]) -> None:
    definitions = "".join(
        f'<g id="{name}">{content}</g>' for name, content in zip(IDS, targets, strict=True)
    )
    drawing = f"<svg><defs>{definitions}</defs>{''.join(uses)}</svg>"
    expanded = 0
    counters: list[ExpansionCounter] = []
    original_expand, original_init = DrawingWalker._expand_use, ExpansionCounter.__init__

    def expand(walker: DrawingWalker, attributes: dict[str, str], context: Any) -> None:
        nonlocal expanded
        name = attributes["href"][1:]
        if name not in context.open_uses:
            expanded += len(walker._definitions.instance_tokens(name)) // 2
        original_expand(walker, attributes, context)

    def init(counter: ExpansionCounter, *arguments: Any) -> None:
        original_init(counter, *arguments)
        counters.append(counter)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DrawingWalker, "_expand_use", expand)
        patch.setattr(ExpansionCounter, "__init__", init)
        walk_drawing(drawing.encode(), UnitMapWriter(DEFAULT_LIMITS))
    assert [counter.expanded_elements for counter in counters] == [expanded]


def test_many_circles_are_rejected_without_following_all_of_them() -> None:
    # Each of 20 groups uses all 20: there are 20! ways through them.
    uses = "".join(f'<use href="#a{n}"/>' for n in range(20))
    groups = "".join(f'<g id="a{n}">{uses}</g>' for n in range(20))
    limits = DocumentLimits(elements=5_000)
    with pytest.raises(DocumentRejectedError, match="expands to more than 5,000 elements"):
        count(groups, "a0", limits)


def test_only_drawn_uses_are_found() -> None:
    definitions = definitions_of(
        '<use href="#a"/><symbol id="a">'
        '<use href="#1"/><g><use href="#2"/></g><defs><use href="#3"/></defs>'
        '<symbol><use href="#4"/></symbol><g data-type="Georeference"><use href="#5"/></g>'
        '<switch><use href="#6" systemLanguage="tlh"/><use href="#7"/><use href="#8"/></switch>'
        "</symbol>"
    )
    assert find_drawn_uses(definitions.instance_tokens("a")) == ["1", "2", "7"]


def test_style_moves_a_copy_and_does_not_size_it() -> None:
    """As in Chromium."""
    _, copy = parse_shapes(
        '<path id="a"/><use href="#a" x="9" style="font-size:20px;x:2em;y:5px;width:50px"/>'
    )
    assert copy["transform"] == "translate(40 5)"
