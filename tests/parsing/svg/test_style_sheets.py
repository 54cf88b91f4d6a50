"""Rules in other rules, and rules for some screens."""

import pytest

from parsing.svg.lengths import Viewport
from parsing.svg.style_sheets import MAX_MEDIA_CHARS, MAX_NESTED_RULES, evaluate_media
from tests.parsing.parsed_maps import parse_shapes, warnings_of


def evaluate(text: str) -> bool | None:
    return evaluate_media(text, Viewport(200, 100))


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        # A light screen
        ("", True),
        ("print, screen", True),
        ("not print", True),
        ("SCREEN and (color)", True),
        ("(prefers-color-scheme: light)", True),
        ("not all and (prefers-color-scheme:dark)", True),
        ("print", False),
        ("not screen", False),
        ("(prefers-color-scheme: dark)", False),
        # as large as the drawing,
        ("(min-width: 200px)", True),
        ("(max-width: 199px)", False),
        ("(width > 100px)", True),
        ("(100px <= width <= 400px)", True),
        ("(150px > height)", True),
        ("(height = 99px)", False),
        ("(min-width: 12.5em)", True),
        ("(min-width: 0) and (width)", True),
        ("(orientation: landscape)", True),
        ("(orientation: portrait)", False),
        ("(aspect-ratio: 2/1)", True),
        ("(1 < aspect-ratio < 3/2)", False),
        # with conditions that are joined.
        ("(width < 9px) or (width > 9px)", True),
        ("not (width < 9px)", True),
        ("screen and (not (width < 9px))", True),
        ("((width) and (height)) or (hover)", True),
        ("(width < 9px) and (hover)", False),
        ("print and (hover)", False),
        # What a drawing does not know and faults have no answer.
        ("(hover)", None),
        ("(min-width: 9)", None),
        ("(min-width: 9%)", None),
        ("(1px < width > 2px)", None),
        ("(1px < width: 2px)", None),
        ("(width) and (width) or (width)", None),
        ("a b", None),
        ("(", None),
        ("and (width)", None),
        (f"(width > {'1' * 60}px)", None),
        (f"{'(' * 10}width{')' * 10}", None),
    ],
)
def test_a_query_is_about_a_screen_as_large_as_the_drawing(text: str, matches: bool | None) -> None:
    assert evaluate(text) is matches


def test_a_query_may_have_any_blanks() -> None:
    assert evaluate("\n screen \t and\n(color) ")
    assert evaluate(f"screen{' ' * 2_000}")
    assert evaluate("\n print \n") is False


def test_a_query_that_is_too_long_has_no_answer() -> None:
    assert evaluate("screen," * MAX_MEDIA_CHARS) is None


def test_queries_of_sheets_and_rules_are_about_the_drawing() -> None:
    shape = '<path d="M0 0h9v9z"/>'
    nested = "<style>@media screen{@media (min-width:90px){path{fill:red}}}</style>"
    sheet = '<style media="(height > 9000px)">path{fill:blue}</style>'
    (drawn,) = parse_shapes(nested + sheet + shape)
    assert drawn["fill"] == "red"


SHAPE = '<g class="a"><path class="b" d="M0 0h9v9z"/></g>'


@pytest.mark.parametrize(
    "sheet",
    [
        "g{fill:blue; path{fill:red}}",
        "g{path{stroke:none;fill:red} stroke:blue}",
        "path{&{fill:blue} fill:red}",
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
