"""Small drawings, and the warnings of their parses."""

from typing import Any

from parsing.svg.outcome import ParseWarning
from parsing.svg.unit_map import ParsedUnitMap, parse_unit_map

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
