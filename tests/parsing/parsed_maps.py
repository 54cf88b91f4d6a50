"""Small drawings in, parsed maps out, walked as their readers do."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from parsing.svg.outcome import ParseWarning
from parsing.svg.unit_map import ParsedUnitMap, parse_unit_map

Members = dict[str, Any]


def parse_drawing(content: str, root: str = 'viewBox="0 0 200 100"') -> Members:
    """Return the parsed map of an SVG with this content."""
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" {root}>{content}</svg>'
    return parse_unit_map(svg.encode()).to_dict()


def parse_content(content: str) -> list[Members]:
    """Return the elements of a drawing with this content."""
    elements: list[Members] = parse_drawing(content)["elements"]
    return elements


def parse_shapes(content: str) -> list[Members]:
    """Return the shapes of a drawing with this content, whatever groups they are in."""
    return shapes_of(parse_drawing(content))


def elements_of(parent: Members) -> Iterator[Members]:
    """Return every member of an `elements` array, parents first."""
    for element in parent.get("elements", ()):
        yield element
        yield from elements_of(element)


def find_bad_uids(parsed: Members) -> list[Members]:
    """Return elements with a uid other than `u` and their position, or with one too many."""
    with_uid = {"Georeference", "Level", "HitArea", "Unit"}
    return [
        element
        for position, element in enumerate(elements_of(parsed), 1)
        if element.get("uid") != (f"u{position}" if element["type"] in with_uid else None)
    ]


def shapes_of(parsed: Members) -> list[Members]:
    """Return the elements that have no children."""
    return [element for element in elements_of(parsed) if "elements" not in element]


# The drawings that tests run over: made for the tests, of the demo property, real ones.

ROOT = Path(__file__).parents[2]
MADE = sorted((ROOT / "tests" / "parsing" / "drawings").glob("*.svg"))
DEMO = sorted((ROOT / "samples").rglob("*.svg"))
REAL_FOLDER = Path(os.environ.get("FLOORGATE_PLANS", ROOT.parent / "shared/data")) / "wayfinding"
REAL = sorted(REAL_FOLDER.glob("*.svg"))


# Small drawings, and the warnings of their parses.

CLEAN = """<g data-type="Level" id="one">
  <g data-type="UnitLayer"><rect id="101" width="9" height="9"/></g>
  <g data-type="HitAreaLayer"><rect id="hit101" width="9" height="9"/></g>
</g>"""
LABEL = 'xmlns:i="http://www.inkscape.org/namespaces/inkscape" i:label'


def parse(content: str, **options: Any) -> ParsedUnitMap:
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 100">{content}</svg>'
    return parse_unit_map(svg.encode(), **options)


def warnings_of(content: str) -> dict[str, ParseWarning]:
    return {warning.code: warning for warning in parse(content).warnings}


def messages_of(content: str, code: str) -> list[str]:
    warning = warnings_of(content)[code]
    return [warning.describe(place) for place in warning.places]
