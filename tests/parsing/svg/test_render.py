"""Parsed maps drawn as SVG again."""

from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from parsing.svg.render import Marks, RouteStop, find_levels_of_unit, render_picture, to_svg
from parsing.svg.unit_map import parse_unit_map
from tests.parsing.parsed_maps import DEMO, MADE, REAL, REAL_FOLDER, elements_of, parse_drawing


def test_a_map_is_drawn_in_the_dialect_it_was_read_from() -> None:
    parsed = parse_drawing(
        '<g data-type="Georeference" data-latitude="1" data-longitude="2.5"/>'
        '<g data-type="Level" id="L" data-tags="a=1;b=x\\;y"><g fill="red"><rect x="1"/></g>'
        '<g data-type="HitAreaLayer"><path id="hit1"/>'
        '<path id="b" data-target-id="2" data-target-type="Pool"/></g>'
        '<g data-type="UnitLayer"><path id="&quot;&lt;1&#10;"/></g></g>'
    )
    assert to_svg(parsed) == (
        '<svg xmlns="http://www.w3.org/2000/svg" width="200" height="100" viewBox="0 0 200 100">\n'
        '<g data-type="Georeference" data-latitude="1" data-longitude="2.5" data-zoom="0"'
        ' data-bearing="0" data-pitch="0"/>\n'
        '<g data-type="Level" id="L" data-tags="a=1;b=x\\;y">\n'
        '<g>\n<rect x="1" fill="red"/>\n</g>\n'
        '<g data-type="HitAreaLayer">\n<path id="hit1"/>\n'
        '<path id="b" data-target-id="2" data-target-type="Pool"/>\n</g>\n'
        '<g data-type="UnitLayer">\n<path id=\'"&lt;1&#10;\'/>\n</g>\n'
        "</g>\n</svg>\n"
    )
    assert parse_unit_map(to_svg(parsed).encode()).to_dict() == parsed


@pytest.mark.parametrize("path", [*MADE, *DEMO], ids=lambda path: path.stem)
def test_parsing_the_drawn_map_gives_the_same_map(path: Path) -> None:
    assert_round_trip(path.read_bytes())


@pytest.mark.skipif(not REAL, reason=f"no real drawings at {REAL_FOLDER}")
def test_real_drawings_survive_the_round_trip() -> None:
    for path in REAL:
        assert_round_trip(path.read_bytes())


def assert_round_trip(svg: bytes) -> None:
    """Check that a drawing, drawn and parsed again, gives the same map, and not an empty one."""
    parsed = parse_unit_map(svg)
    assert len(list(elements_of(parsed.to_dict()))) > 1
    assert parse_unit_map(to_svg(parsed.to_dict()).encode()).json == parsed.json


# Pictures of levels: what they show, and that nothing in them can do harm.

SVG = b"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 120 60">
  <rect id="site" width="120" height="60" fill="#eee"/>
  <g data-type="Level" id="low">
    <g data-type="UnitLayer"><rect id="a" width="10" height="20" fill="red"/></g>
    <g data-type="HitAreaLayer"><rect id="hita" width="10" height="20"/></g>
  </g>
  <g data-type="Level" id="high">
    <g data-type="UnitLayer"><circle id="b" r="9"/><rect id="a" width="3" height="4"/></g>
  </g>
</svg>"""
MAP = parse_unit_map(SVG).to_dict()
LOW, HIGH = (element["uid"] for element in MAP["elements"] if element["type"] == "Level")
NOTHING = Marks()


def draw(level: str | None, marks: Marks = NOTHING, title: str = "Plates") -> Any:
    return etree.fromstring(render_picture(MAP, level, marks, title, 600, 300).encode())


def tags(picture: Any) -> list[str]:
    return [etree.QName(each).localname for each in picture]


def test_a_level_lies_on_what_is_on_none() -> None:
    picture = draw(LOW)
    assert tags(picture) == ["title", "rect", "rect", "rect"]  # without the hit area
    assert {name: picture.get(name) for name in ("width", "height", "viewBox", "role")} == {
        "width": "600",
        "height": "300",
        "viewBox": "0 0 120 60",
        "role": "img",
    }
    assert tags(draw(HIGH)) == ["title", "rect", "rect", "circle", "rect"]
    assert len(draw(None)) == 6


def test_a_unit_is_marked_on_top() -> None:
    marked = draw(LOW, Marks(unit_id="a"))[-1]
    assert (marked.get("width"), marked.get("fill"), marked.get("stroke-width")) == (
        "10",
        "#f59f00",
        "0.5",
    )


def test_a_route_has_a_line_with_an_edge_and_pins() -> None:
    line = ((1.0, 2.0), (3.5, 4.0))
    stops = [RouteStop((5.0, 6.0), "up"), RouteStop((7.0, 8.0), "here")]
    picture = draw(LOW, Marks(lines=[line], stops=stops, start=line[0], end=line[1]))
    assert tags(picture)[4:] == ["polyline", "polyline", "g", "g", "g", "g"]
    assert {each.get("points") for each in picture[4:6]} == {"1,2 3.5,4"}
    assert [each.get("transform").partition(" scale")[0] for each in picture[6:]] == [
        "translate(5 6)",
        "translate(7 8)",
        "translate(1 2)",
        "translate(3.5 4)",
    ]


def test_texts_are_escaped() -> None:
    assert draw(LOW, title="<script>&")[0].text == "<script>&"


def test_the_levels_of_a_unit_are_found() -> None:
    assert [*find_levels_of_unit(MAP["elements"], "a")] == [LOW, HIGH]
    assert [*find_levels_of_unit(MAP["elements"], "b")] == [HIGH]
    assert [*find_levels_of_unit(MAP["elements"], "site")] == []
