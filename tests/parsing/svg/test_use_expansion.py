"""What `use` elements expand to is counted without expanding them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsing.errors import DocumentRejectedError
from parsing.limits import DEFAULT_LIMITS, DocumentLimits
from parsing.svg.definitions import Definitions, read_definitions
from parsing.svg.unit_map import UnitMapWriter
from parsing.svg.use_expansion import ExpansionCounter, find_drawn_uses
from parsing.svg.walk import DrawingWalker
from parsing.svg.walk_drawing import walk_drawing
from parsing.xml.decoding import XmlDocument
from tests.parsing.tree import parse_shapes

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


def read(markup: str) -> Definitions:
    return read_definitions(XmlDocument(f"<svg>{markup}</svg>".encode(), False), DEFAULT_LIMITS)


def count(markup: str, name: str, limits: DocumentLimits = DEFAULT_LIMITS) -> int:
    counter = ExpansionCounter(read(markup), limits)
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
    definitions = read(
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
