import orjson

from parsing.svg.unit_map import parse_unit_map
from resolvers.shown_units import parse_with_units

SVG = b"""<svg>
  <g data-type="Level">
    <g data-type="UnitLayer"><rect id="b"/><g><rect id="a"/></g></g>
    <g data-type="HitAreaLayer"><rect id="hitc"/><rect id="hitd" data-target-type="Other"/></g>
  </g>
</svg>"""


def test_units_are_those_drawn_and_the_targets_of_hit_areas() -> None:
    parsed, unit_ids, _ = parse_with_units(SVG)
    assert orjson.loads(parsed) == parse_unit_map(SVG).to_dict()
    assert unit_ids == ["a", "b", "c"]


def test_warnings_are_a_sentence_for_each_cause() -> None:
    svg = b'<svg viewBox="0 0 9 9"><text/><text/>\n<path marker-end="url(#a)"/></svg>'
    assert parse_with_units(svg)[2] == [
        "the drawing has no Level",
        "line 1: text is left out: <text>, and 1 more",
        "line 2: markers are left out: <path>",
    ]
