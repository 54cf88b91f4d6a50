"""Pictures of levels: what they show, and that nothing in them can do harm."""

from typing import Any

from lxml import etree

from parsing.svg.picture import Marks, RouteStop, find_levels_of_unit, render_picture
from parsing.svg.unit_map import parse_unit_map

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
