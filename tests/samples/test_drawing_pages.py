"""What the pages on drawing programs say of their templates and of common mistakes is so."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from gateway.cli.parse import parse
from parsing.svg.unit_map import parse_unit_map
from samples.draw import SCALES
from samples.output.files import CHECKOUT
from tests.doc_pages import page, rows, section

DRAWINGS = CHECKOUT / "samples" / "drawings"
PageChange = Callable[[str], str]


def replace(old: str, new: str) -> PageChange:
    """Change the first place of a text that the template has."""

    def change(svg: str) -> str:
        assert old in svg
        return svg.replace(old, new, 1)

    return change


def insert(element: str) -> PageChange:
    return replace("</svg>", f"{element}</svg>")


# Program, what someone did wrong, and the beginning of the warning.
MISTAKES: list[tuple[str, PageChange, str]] = [
    ("inkscape", lambda svg: re.sub("inkscape:label=.*", "", svg), "the drawing has no Level"),
    (
        "inkscape",
        replace('inkscape:label="elm-place-101"', ""),
        "a shape of a UnitLayer or HitAreaLayer has the id that the drawing program made up: "
        "<rect> 'rect10'",
    ),
    (
        "inkscape",
        replace('label="elm-place-102"', 'label="elm-place-101"'),
        "an id of a Level, Unit or HitArea is used twice: <rect> 'elm-place-101'",
    ),
    (
        "inkscape",
        replace('label="HitAreaLayer"', 'label="Clicks"'),
        "a unit has no hit area, so it cannot be clicked",
    ),
    ("inkscape", insert('<image width="9" height="9" href="a.png"/>'), "an image is left out"),
    (
        "illustrator",
        replace('id="hitelm-place-101"', 'id="elm-place-1011"'),
        "a hit area points to a unit that is not drawn: 'elm-place-1011'",
    ),
    (
        "figma",
        replace('id="elm-place-101_2"', 'id="Rectangle 1"'),
        "a shape of a UnitLayer or HitAreaLayer has no unit's id, so it is an ordinary shape",
    ),
    (
        "cad",
        replace('inkscape:label="elm-place-101"', ""),
        "a shape of a UnitLayer or HitAreaLayer has the id that the drawing program made up",
    ),
]


@pytest.mark.parametrize(("name", "change", "message"), MISTAKES)
def test_a_common_mistake_gives_the_warning_that_the_page_says(
    name: str, change: PageChange, message: str
) -> None:
    svg = change((DRAWINGS / f"{name}.svg").read_text())
    warnings = parse_unit_map(svg.encode()).warnings
    described = [
        warning.describe(place)
        for warning in warnings
        if not warning.is_note
        for place in warning.places
    ]
    assert [text for text in described if text.startswith(message)]
    mistakes = rows(section(page(f"drawing/{name}.md"), "## Common mistakes"))
    assert any(message in row[1] for row in mistakes)


@pytest.mark.parametrize("name", SCALES)
def test_the_page_shows_the_summary_of_its_template(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert parse.main(["--check", str(DRAWINGS / f"{name}.svg")], standalone_mode=False) is None
    summary = capsys.readouterr().out.splitlines()[-1].rpartition(".svg: ")[2]
    assert f"plan.svg: {summary}\n" in page(f"drawing/{name}.md")


@pytest.mark.parametrize(("name", "scale"), SCALES.items())
def test_the_page_gives_the_scale_of_its_template(name: str, scale: float) -> None:
    written = re.search(r'"feet_per_unit": ([0-9.]+)', page(f"drawing/{name}.md"))
    assert written is not None
    assert float(written[1]) == pytest.approx(scale, rel=1e-5)
