"""The unit-map SVG dialect and the JSON it becomes (E10)."""

import pickle
import subprocess
import sys

import orjson
import pytest

from parsing.errors import InvalidMarkupError
from parsing.svg.unit_map import parse_unit_map
from tests.parsing.parsed_maps import parse_content, parse_shapes

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
