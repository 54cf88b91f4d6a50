import pytest

from parsing.svg.style.nesting import MAX_NESTED_RULES
from tests.parsing.svg.report.drawings import warnings_of
from tests.parsing.tree import parse_shapes

SHAPE = '<g class="a"><path class="b" d="M0 0h9v9z"/></g>'


@pytest.mark.parametrize(
    "sheet",
    [
        "g{fill:blue; path{fill:red}}",
        "g{path{stroke:none;fill:red} stroke:blue}",
        "path{&{fill:blue} fill:red}",
        "g, a{> path{fill:red}}",
        "path{&.b{fill:red}}",
        ".b{.a &{fill:red}}",
        "g{&.a{path, rect{fill:red}}}",
        "path{@media (width > 9px){fill:red}}",
        "path{fill:red; @media print{fill:blue} @media (width < 9px){fill:blue}}",
    ],
)
def test_rules_in_rules_are_read(sheet: str) -> None:
    sheet = sheet.replace("&", "&amp;").replace("<", "&lt;")
    (shape,) = parse_shapes(f"<style>{sheet}</style>{SHAPE}")
    assert shape["fill"] == "red"
    assert "style" not in warnings_of(f"<style>{sheet}</style>{SHAPE}")


@pytest.mark.parametrize(
    "nested",
    [
        "@media (hover){fill:red}",
        "@supports (fill:red){fill:red}",
        "&b{fill:red}",
        "{fill:red}",
        "&:nth-child(2){fill:red}",
        f"{'&' * 500}{{fill:red}}",
        "&{" * (MAX_NESTED_RULES + 1) + "fill:red",
    ],
)
def test_others_are_skipped_with_a_warning(nested: str) -> None:
    drawing = f"<style>path{{fill:blue;{nested}}}</style>{SHAPE}".replace("&", "&amp;")
    (shape,) = parse_shapes(drawing)
    assert shape["fill"] == "blue"
    assert "style" in warnings_of(drawing)
