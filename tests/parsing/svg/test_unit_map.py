"""The forms of a parsed drawing: the unit map (E10), SVG again, and the rooms of a floor plan."""

import json
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from lxml import etree

from parsing.drawing import AreaGeometry, Drawing, LinesGeometry, NoteCollector
from parsing.errors import InvalidMarkupError, InvalidPlanError
from parsing.svg import floor_plan
from parsing.svg.render import Marks, RouteStop, find_levels_of_unit, render_picture, to_svg
from parsing.svg.unit_map import parse_unit_map
from tests.parsing.parsed_maps import (
    DEMO,
    MADE,
    REAL,
    REAL_FOLDER,
    elements_of,
    parse_content,
    parse_drawing,
    parse_shapes,
)

UNIT_MAP = b"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 200">
  <g data-type="Georeference" data-latitude="41.5" data-longitude="-87" data-zoom="18"/>
  <g data-type="Level" id="one" data-tags="building=1;floor=2">
    <g><rect id="hall" x="1" width="20.5" height="4e1" y="-.5" fill="#eee"/><g/></g>
    <g data-type="HitAreaLayer">
      <polygon id="hit101" fill="#fff" stroke="red" points="0,0 9,0 9,9"/>
    </g>
    <g data-type="UnitLayer"><path stroke="red" transform="scale(2)" d="M0 0" id="101"/></g>
  </g>
</svg>"""


def test_a_unit_map_becomes_this_json_to_the_byte() -> None:
    assert parse_unit_map(UNIT_MAP).json == b"".join(
        [
            b'{"version":"1.2","type":"application/vnd.map+json","width":400,"height":200,"elements":[',
            b'{"type":"Georeference","uid":"u1","latitude":41.5,"longitude":-87,"zoom":18,',
            b'"bearing":0,"pitch":0},',
            b'{"type":"Level","uid":"u2","id":"one","tags":{"building":"1","floor":"2"},"elements":[',
            b'{"type":"Layer","elements":[',
            b'{"x":1,"width":20.5,"height":40,"y":-0.5,"fill":"#eee","type":"Rect"},',
            b'{"type":"Layer","elements":[]}]},',
            b'{"type":"HitAreaLayer","elements":[',
            b'{"shape":{"fill":"#fff","points":"0,0 9,0 9,9","type":"Polygon"},',
            b'"type":"HitArea","uid":"u7","id":"hit101","target":{"id":"101","type":"Unit"}}]},',
            b'{"type":"UnitLayer","elements":[',
            b'{"shape":{"transform":"scale(2)","d":"M0 0","type":"Path"},',
            b'"type":"Unit","uid":"u9","id":"101"}]}]}]}',
        ]
    )


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ('<polygon points="1,2 3,4"/>', {"points": "1,2 3,4", "type": "Polygon"}),
        (
            '<line x1="1" y1="2" x2="3" y2="4mm"/>',
            {"x1": "1", "y1": "2", "x2": "3", "y2": "4mm", "type": "Line"},
        ),
        ('<path d="M0 0"/>', {"d": "M0 0", "type": "Path"}),
        ('<circle cx="1" cy="2" r="3"/>', {"cx": "1", "cy": "2", "r": "3", "type": "Circle"}),
        ('<rect x="1" y="2" rx="3"/>', {"x": 1, "y": 2, "rx": "3", "type": "Rect"}),
    ],
)
def test_shapes_keep_their_attributes_in_order_then_their_type(
    markup: str, expected: dict[str, object]
) -> None:
    (shape,) = parse_content(markup)
    assert list(shape.items()) == list(expected.items())


def test_only_styling_and_geometry_reach_the_output() -> None:
    kept = ["fill", "fill-opacity", "fill-rule", "opacity", "stroke", "stroke-dasharray"]
    kept += ["stroke-linecap", "stroke-linejoin", "stroke-miterlimit", "stroke-opacity"]
    kept += ["stroke-width", "transform"]
    dropped = ["id", "class", "data-tags", "onclick", "filter", "clip-path", "stroke-dashoffset"]
    markup = "".join(f' {name}="1"' for name in kept + dropped)
    (shape,) = parse_content(f"<path{markup}/>")
    assert list(shape) == [*kept, "type"]


def test_geometry_and_transform_are_not_changed() -> None:
    (shape,) = parse_content('<path d=" M 1e0,2\n z " transform=" rotate( 45 ,0 0) "/>')
    assert shape == {"d": " M 1e0,2  z ", "transform": " rotate( 45 ,0 0) ", "type": "Path"}


def test_a_rects_length_that_is_none_is_left_out() -> None:
    assert parse_content('<rect x="auto" y="" width="1e" height="nan"/>') == [{"type": "Rect"}]


def test_groups_links_and_switches_are_layers() -> None:
    assert (
        parse_content("<g/><a/><svg/><switch/><g data-type='Other'/>")
        == [{"type": "Layer", "elements": []}] * 5
    )


def test_elements_that_the_format_lacks_are_skipped() -> None:
    skipped = """<title>T</title><text x="1">A<tspan>B</tspan></text>
      <image href="a.png" width="9" height="9"/>
      <defs><rect/></defs><linearGradient><stop/></linearGradient>
      <clipPath><rect/></clipPath>
      <mask><rect/></mask><metadata><rect/></metadata><foreignObject><rect/></foreignObject>
      <symbol><rect/></symbol><marker><rect/></marker><script>1 &lt; 2</script>
      <x:rect xmlns:x="http://example.org/"/>"""
    assert parse_content(skipped) == []


def test_children_of_a_shape_are_no_elements() -> None:
    assert parse_content("<rect><title>Gym</title><animate/></rect><path/>") == [
        {"type": "Rect"},
        {"type": "Path"},
    ]


def test_a_drawing_may_forget_its_namespace_or_use_a_prefix() -> None:
    plain = parse_unit_map(b'<svg viewBox="0 0 1 1"><rect/></svg>')
    prefixed = b'<s:svg xmlns:s="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><s:rect/></s:svg>'
    assert plain == parse_unit_map(prefixed)


def test_a_hidden_level_is_in_the_output() -> None:
    hidden = 'display="none" visibility="hidden" color="red"'
    (level,) = parse_content(f'<g data-type="Level" {hidden}><path fill="currentColor"/></g>')
    assert level["elements"] == [{"fill": "red", "type": "Path"}]


@pytest.mark.parametrize("layer", ["HitAreaLayer", "UnitLayer"])
@pytest.mark.parametrize("hiding", ['display="none"', 'opacity="0"', 'visibility="hidden"'])
def test_hidden_units_and_hit_areas_stay_without_fill(layer: str, hiding: str) -> None:
    (area,) = parse_shapes(f'<g data-type="{layer}" {hiding}><path id="hit1" fill="red"/></g>')
    assert area["shape"] == {"fill": "none", "type": "Path"}


def test_the_root_must_be_an_svg() -> None:
    with pytest.raises(InvalidMarkupError, match=r"line 2, column 1: the root element is <html>"):
        parse_unit_map(b"<!-- a page -->\n<html/>")


def test_a_parsed_map_crosses_process_borders() -> None:
    parsed = parse_unit_map(UNIT_MAP)
    assert pickle.loads(pickle.dumps(parsed)) == parsed
    assert parsed.to_dict() == orjson.loads(parsed.json)


MEMORY_PROBE = """
import resource
from parsing.svg.unit_map import parse_unit_map
shapes = b'<rect x="12" y="3.5" width="4"/>\\n' * 499_000
svg = b'<svg viewBox="0 0 9 9"><g fill="red">%s</g><!--' % shapes
svg = svg.ljust(20_900_000, b"x") + b'--></svg>'
parsed = parse_unit_map(svg)
# VmHWM counts from exec on; ru_maxrss is inherited from the process that forked this one.
status = open("/proc/self/status").read()
peak_kb = status.split("VmHWM:")[1].split()[0]
print(len(svg), parsed.json.count(b'"Rect"'), peak_kb)
"""


@pytest.mark.slow
def test_twenty_megabytes_of_half_a_million_elements_parse_within_300_mb() -> None:
    probe = subprocess.run(
        [sys.executable, "-c", MEMORY_PROBE], capture_output=True, check=True, text=True
    )
    source_bytes, shapes, peak_kb = map(int, probe.stdout.split())
    assert source_bytes > 20_000_000
    assert shapes == 499_000
    assert peak_kb < 300 * 1024


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


DEMO_FOLDER = Path(__file__).parents[3] / "samples/demo"


def read(body: str, feet_per_unit: float = 0.1) -> Drawing:
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100">{body}</svg>'
    return floor_plan.read_svg_plan(svg.encode(), feet_per_unit, NoteCollector(), file="hall.svg")


def level(body: str, tags: str = "floor=f1") -> str:
    return f'<g data-type="Level" data-tags="{tags}">{body}</g>'


def test_shapes_with_tags_are_features_on_the_floor_of_their_level() -> None:
    drawing = read(
        level('<rect id="lobby" width="10" height="5" data-tags="indoor=area;name=Tea\\;coffee"/>')
    )
    (lobby,) = drawing.features
    assert lobby.id == "lobby"
    assert lobby.levels == ("f1",)
    assert lobby.tags == {"indoor": "area", "name": "Tea;coffee"}
    assert lobby.geometry == AreaGeometry((((0, 0), (10, 0), (10, 5), (0, 5)),), nonzero=True)
    assert drawing.levels[0].floor_id == "f1"
    assert drawing.feet_per_unit == 0.1


def test_shapes_of_the_unit_layer_are_rooms_of_their_units() -> None:
    drawing = read(
        level(
            '<g data-type="UnitLayer"><rect id="u101" width="5" height="5"/>'
            '<rect data-id="u 102" x="5" width="5" height="5" data-tags="wheelchair=no"/></g>'
            '<g data-type="HitAreaLayer"><rect id="hitu101" width="5" height="5"/></g>'
        )
    )
    assert [(f.unit_id, f.tags) for f in drawing.features] == [
        ("u101", {"indoor": "room"}),
        ("u 102", {"wheelchair": "no", "indoor": "room"}),
    ]
    assert drawing.notes == ()


def test_names_are_markup_of_plans_too() -> None:
    drawing = read(
        '<g id="Level 2: floor=f2"><g id="Unit Layer"><g id="u101"><rect width="5" height="5"/>'
        '</g></g></g><g id="Level 3"><rect width="5" height="5" data-tags="indoor=room"/></g>'
    )
    assert [(level.id, level.floor_id) for level in drawing.levels] == [
        ("f2", "f2"),
        ("Level 3", None),
    ]
    assert drawing.features[0].unit_id == "u101"
    [note] = drawing.notes
    assert str(note) == (
        "group read by its name: 3 (Level 2: floor=f2, line 1, Unit Layer, line 1, Level 3, line 1)"
    )


def test_transforms_are_applied_from_the_outside_in() -> None:
    drawing = read(
        '<g transform="translate(100,0)">'
        + level('<g transform="scale(2)"><path transform="rotate(90)" d="M0 0h4v2z"'
                ' data-tags="indoor=area"/></g>')
        + "</g>"
    )  # fmt: skip
    (area,) = drawing.features
    assert isinstance(area.geometry, AreaGeometry)
    assert [tuple(map(round, at)) for at in area.geometry.rings[0]] == [(100, 0), (100, 8), (96, 8)]


def test_the_view_box_starts_at_the_origin() -> None:
    svg = b"""<svg viewBox="100 200 50 50"><g data-type="Level" data-tags="floor=f">
        <line x1="100" y1="200" x2="110" y2="200" data-tags="indoor=wall"/></g></svg>"""
    (wall,) = floor_plan.read_svg_plan(svg, 1.0, NoteCollector()).features
    assert wall.geometry == LinesGeometry((((0, 0), (10, 0)),))


def test_curves_are_within_a_centimetre_at_any_scale() -> None:
    circle = '<g transform="scale(10)"><circle r="3" data-tags="indoor=area"/></g>'
    for feet_per_unit in (0.01, 1.0):
        (column,) = read(level(circle), feet_per_unit).features
        assert isinstance(column.geometry, AreaGeometry)
        ring = column.geometry.rings[0]
        x, y = ((a + b) / 2 for a, b in zip(ring[0], ring[1], strict=True))
        off_feet = (30 - (x * x + y * y) ** 0.5) * feet_per_unit
        assert 0 < off_feet <= 0.0329


@pytest.mark.parametrize(
    ("shape", "is_area"),
    [
        ('<polyline points="0,0 9,0 9,9" data-tags="indoor=room"/>', True),
        ('<polyline points="0,0 9,0 9,9" data-tags="indoor=wall"/>', False),
        ('<polygon points="0,0 9,0 9,9" data-tags="indoor=wall"/>', True),
        ('<polygon points="0,0 9,0 9,9" fill="none" data-tags="indoor=wall"/>', False),
        ('<path d="M0 0L9 0" data-tags="door=yes"/>', False),
        ('<path d="M0 0L9 0L9 9z" data-tags="door=yes"/>', True),
    ],
)
def test_spaces_and_closed_shapes_are_areas_and_walls_without_fill_are_lines(
    shape: str, is_area: bool
) -> None:
    (feature,) = read(level(shape)).features
    assert isinstance(feature.geometry, AreaGeometry) == is_area


def test_the_fill_rule_goes_along() -> None:
    ring = 'd="M0 0h9v9h-9z M3 3h3v3h-3z" data-tags="indoor=corridor"'
    drawing = read(level(f'<path {ring}/><path fill-rule="evenodd" {ring}/>'))
    areas = [f.geometry for f in drawing.features if isinstance(f.geometry, AreaGeometry)]
    assert [area.nonzero for area in areas] == [True, False]


def test_a_level_without_a_floor_goes_by_its_id() -> None:
    room = '<rect width="5" height="5" data-tags="indoor=room"/>'
    assert [(level.id, level.floor_id) for level in read(room).levels] == [("", None)]
    drawing = read(f'<g data-type="Level" id="ground">{room}</g>' + level(room, ""))
    assert [(level.id, level.floor_id) for level in drawing.levels] == [
        ("ground", None),
        ("Level 2", None),
    ]


def test_features_without_an_id_are_numbered_within_their_level() -> None:
    rooms = '<rect width="5" height="5" data-tags="indoor=room"/>' * 2
    again = '<rect id="a" width="5" height="5" data-tags="indoor=room"/>' * 2
    assert [f.id for f in read(level(rooms + again)).features] == ["f1#1", "f1#2", "a", "a#2"]


def test_shapes_outside_the_plan_are_noted() -> None:
    room = '<rect width="5" height="5" data-tags="indoor=room"/>'
    drawing = read(
        level(
            room + '<rect width="9" height="9"/><circle data-tags="indoor=room" id="dot"/>'
            '<g data-type="UnitLayer"><rect width="5" height="5"/></g>'
        )
        + level(room)
        + '<rect id="out" width="5" height="5" data-tags="indoor=area"/>'
    )
    assert [str(note) for note in drawing.notes] == [
        "shape without data-tags: 1",
        "shape without extent: 1 (dot)",
        "shape of a UnitLayer that names no unit: 1",
        "Levels of one floor, read as one: 1 (f1)",
        "data-tags outside of every Level: 1 (out)",
    ]
    assert [level.id for level in drawing.levels] == ["f1"]


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ('<rect id="a" data-tags="room"/>', "Rect 'a': .* expected key=value"),
        ('<path d="M0 0 L 9" data-tags="indoor=wall"/>', "a Path: d is no path at character"),
        (
            '<rect width="1" height="1" transform="turn(3)" data-tags="indoor=room"/>',
            "a Rect: .* expected a list of matrix",
        ),
        (
            '<rect width="1e99" height="1" data-tags="indoor=room"/>',
            "a Rect: 1e99 is too large a number",
        ),
        (
            '<rect width="x" height="1" data-tags="indoor=room"/>',
            "a Rect: width is 'x'; expected a length",
        ),
    ],
)
def test_a_shape_that_cannot_be_read_is_left_out_and_named(shape: str, message: str) -> None:
    room = '<rect id="room" width="5" height="5" data-tags="indoor=room"/>'
    drawing = read(level(f"{room}\n{shape}"))
    assert [feature.id for feature in drawing.features] == ["room"]
    (fault,) = drawing.faults
    assert re.match(message, fault.message)
    assert (fault.cause, fault.line, fault.levels) == ("left out, invalid attribute", 2, ("f1",))
    assert [note.message for note in drawing.notes] == ["left out, invalid attribute"]


@pytest.mark.parametrize(
    ("shape", "position"),
    [
        ('<rect x="3" y="4" width="1" height="1" data-tags="room"/>', (16, 8)),
        ('<line x1="3" y1="4" x2="9" data-tags="room"/>', (16, 8)),
        ('<path d="m3,4 L" data-tags="indoor=wall"/>', (16, 8)),
        ('<polygon points="3-4 1e300 1e300" data-tags="indoor=room"/>', (16, -8)),
        ('<circle cx="3" cy="east" r="1" data-tags="indoor=room"/>', None),
        ('<rect x="3" transform="turn(3)" data-tags="room"/>', None),
        ('<rect x="3" width="1e99" data-tags="room"/>', None),
    ],
)
def test_a_shape_that_is_left_out_has_the_place_where_it_starts_if_that_can_be_read(
    shape: str, position: tuple[float, float] | None
) -> None:
    room = '<rect id="room" width="5" height="5" data-tags="indoor=room"/>'
    group = f'<g transform="translate(10 0) scale(2)">{shape}</g>'
    (fault,) = read(level(room + group)).faults
    assert (fault.position, fault.file) == (position, "hall.svg")


@pytest.mark.parametrize("feet_per_unit", [0.0, -1.0, float("nan"), float("inf")])
def test_a_scale_that_cannot_be_is_an_error(feet_per_unit: float) -> None:
    with pytest.raises(InvalidPlanError, match="expected a number above 0"):
        read(level('<rect width="5" height="5" data-tags="indoor=room"/>'), feet_per_unit)


def test_the_demo_property_reads_completely() -> None:
    drawing = floor_plan.read_svg_plan(
        (DEMO_FOLDER / "alder-court.svg").read_bytes(), 0.1, NoteCollector()
    )
    bundle = json.loads((DEMO_FOLDER / "bundle.json").read_bytes())
    units = {unit["id"] for unit in bundle["units"] if unit["asset_id"] == "alder-court"}
    all_tags = [feature.tags for feature in drawing.features]
    assert [level.floor_id for level in drawing.levels] == [
        f"alder-court-floor-{number}" for number in range(1, 6)
    ]
    assert {feature.unit_id for feature in drawing.features} - {None} == units
    assert sum("door" in tags for tags in all_tags) == 146
    assert [note.message for note in drawing.notes] == ["shape without data-tags"]
