"""Where warnings are on the map."""

from collections import Counter
from typing import Any

import pytest

from parsing.svg.outcome import WarningPlace
from parsing.svg.resolving import StyleResolver
from parsing.svg.walk import DrawingWalker
from parsing.svg.warnings import MAX_BOXES
from tests.parsing.parsed_maps import CLEAN, parse, warnings_of

GRADIENT = '<linearGradient id="g"><stop stop-color="red"/></linearGradient>'
SYMBOL = """<symbol id="s" viewBox="0 0 10 10">
  <rect width="4" height="4" fill="url(#g)"/><text x="5" y="5">A</text></symbol>"""
TEXT = '<text x="30" y="20">Gym</text>'


def places_of(content: str, code: str) -> list[WarningPlace]:
    return warnings_of(content)[code].places


def positions_of(content: str, code: str) -> list[tuple[float | None, float | None]]:
    return [(place.x, place.y) for place in places_of(content, code)]


@pytest.mark.parametrize(
    ("content", "position"),
    [
        (TEXT, (30, 20)),
        (f'<g transform="translate(10 0)"><g transform="scale(2)">{TEXT}</g></g>', (70, 40)),
        (f'<svg x="100" width="20" height="20" viewBox="0 0 40 40">{TEXT}</svg>', (115, 10)),
        ('<text transform="rotate(90 60 40)" x="60" y="40">A</text>', (60, 40)),
        ('<text x="30 40 50" y="20, 21">Gym</text>', (30, 20)),
        ('<text x="50%" y="10%">Gym</text>', (100, 10)),
        ('<text><tspan x="60" y="40">A</tspan><tspan x="1" y="2">B</tspan></text>', (60, 40)),
        ('<text y="5"><tspan>A</tspan><tspan x="60" y="40">B</tspan></text>', (60, 5)),
        ("<text>A</text>", (0, 0)),
        (  # not where one is that is hidden
            '<defs><g id="a"><text x="1" display="none">H</text><text x="3">A</text></g></defs>'
            '<use href="#a"/>',
            (3, 0),
        ),
        ('<defs><g id="a"><text x="1" y="2">A</text></g></defs><use href="#a" x="9"/>', (10, 2)),
        (
            '<defs><text id="a" x="1" y="2">A</text><g id="b"><use href="#a" y="3"/></g></defs>'
            '<use href="#b" x="9" transform="scale(2)"/>',
            (20, 10),
        ),
    ],
)
def test_a_text_is_where_it_begins(content: str, position: tuple[float, float]) -> None:
    assert positions_of(content, "text") == [position]


@pytest.mark.parametrize(
    ("content", "code", "extent"),
    [
        ('<image x="10" y="20" width="30" height="40" href="a.png"/>', "image", (25, 40, 30, 40)),
        ('<image width="20" href="a.png"/>', "image", (10, 10, 20, 20)),
        (
            '<foreignObject transform="scale(2)" x="1" width="8" height="4"/>',
            "foreign-object",
            (10, 4, 16, 8),
        ),
        ('<path d="M10 10H30V20" fill="url(#g)"/>', "paint", (20, 15, 20, 10)),
        ('<rect x="10" y="20" width="0" height="5" fill="url(#g)"/>', "paint", (10, 20, 0, 0)),
        ('<rect x="300" width="9" height="9"/>', "shape-outside", (304.5, 4.5, 9, 9)),
        ('<path d="M10 20 L30 x"/>', "geometry", (10, 20, 0, 0)),
        ('<path data-type="Level" d="M0 0h8v4"/>', "misplaced-type", (4, 2, 8, 4)),
        (  # a group is where its shapes are
            '<g data-type="level" transform="translate(9)"><g><path d="M0 0h8v4"/></g>'
            '<rect x="90" width="2" height="2"/></g>',
            "misspelt-type",
            (55, 2, 92, 4),
        ),
        ('<g mask="url(#m)"><rect width="8" height="4"/></g>', "mask", (4, 2, 8, 4)),
        ('<g data-type="level"/>', "misspelt-type", (None, None, None, None)),
        ("", "no-level", (None,) * 4),
        ('<switch><text>A</text><path d="M0 0h8v4"/></switch>', "text", (0, 0, 0, 0)),
        (  # the whole shape, not what the viewport leaves of it
            '<svg width="10" height="10"><rect x="5" width="10" height="10" fill="url(#g)"/></svg>',
            "paint",
            (10, 5, 10, 10),
        ),
    ],
)
def test_an_element_has_its_middle_and_size(
    content: str, code: str, extent: tuple[float | None, ...]
) -> None:
    [place] = places_of(GRADIENT + content, code)
    assert (place.x, place.y, place.width, place.height) == extent


def test_what_uses_draw_is_where_they_draw_it() -> None:
    uses = '<use href="#s" width="20" height="20"/><use href="#s" x="50" width="10" height="10"/>'
    content = GRADIENT + SYMBOL + uses
    assert positions_of(content, "text") == [(10, 10), (55, 5)]
    assert positions_of(content, "paint") == [(4, 4), (52, 2)]


def test_the_texts_of_one_use_are_told_apart() -> None:
    texts = "".join(f'<text x="{x}" y="1">A</text>' for x in range(5))
    content = f'<defs><g id="a">{texts}</g></defs><use href="#a" y="7"/>'
    assert positions_of(content, "text") == [(x, 8) for x in range(5)]


def test_a_place_has_the_number_and_the_id_of_its_level() -> None:
    levels = [f'<g data-type="Level" id="{id}">{TEXT}<path d="M0 0h9v9"/></g>' for id in "ab"]
    texts = places_of("".join(levels) + TEXT, "text")
    assert [(place.level, place.level_index) for place in texts] == [("a", 0), ("b", 1), ("", None)]
    [blank] = places_of(levels[0] + '<g data-type="Level" id="c"/>', "blank")
    assert (blank.level, blank.level_index) == ("", 1)


def test_levels_that_uses_draw_are_numbered_too() -> None:
    content = f"""<defs><g id="d"><g data-type="Level" id="a"><path d="M0 0h9v9"/></g></g></defs>
        <use href="#d"/><g data-type="Level" id="b">{TEXT}</g>"""
    assert [place.level_index for place in places_of(content, "text")] == [1]


def test_units_that_lack_a_hit_area_are_found_by_their_names_too() -> None:
    content = CLEAN.replace('"101"', '"101" x="20" y="30"').replace("hit101", "hit102")
    [unit] = places_of(content, "unit-without-hit-area")
    assert (unit.name, unit.level, unit.x, unit.y) == ("101", "one", 24.5, 34.5)


def count_calls(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> Counter[int]:
    """Return how often each object of a class has had a method called."""
    calls, method = Counter[int](), getattr(owner, name)

    def counted(self: object, *arguments: Any, **options: Any) -> Any:
        calls[id(self)] += 1
        return method(self, *arguments, **options)

    monkeypatch.setattr(owner, name, counted)
    return calls


def test_a_drawing_without_warnings_is_walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = count_calls(monkeypatch, DrawingWalker, "_enter_root")
    parse(CLEAN)
    assert calls.total() == 1
    parse(CLEAN + TEXT)
    assert calls.total() == 3


def test_few_elements_of_many_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = '<path d="M0 0h9v9"/>' * 10_000
    calls = count_calls(monkeypatch, StyleResolver, "draw")
    places = places_of(f'<g data-type="level">{TEXT * 10_000}{shapes}</g>', "text")
    assert len(places) == 10
    assert calls.total() == 10_000 + MAX_BOXES


def test_a_use_of_many_texts_is_not_read_to_its_end() -> None:
    content = f'<defs><g id="a">{TEXT * 10_000}</g></defs><use href="#a"/><use href="#a" x="9"/>'
    assert positions_of(content, "text") == [(30, 20)] * 10


def test_places_are_as_many_as_are_asked_for() -> None:
    [*_, text] = parse(TEXT * 200, max_places=50).warnings
    assert (text.code, text.count, len(text.places)) == ("text", 200, 50)
    assert text.places[-1].x == 30
