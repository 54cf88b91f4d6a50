"""Drawings become valid areas, paths and boxes, at the right place on the earth."""

import json
import math
from typing import Any

import numpy as np
import orjson
import pytest
import shapely

from parsing.drawing import Coordinates
from parsing.errors import DocumentRejectedError
from parsing.geo.projection import local_projection
from parsing.svg.outlines import trace_shape
from parsing.svg.unit_map import parse_unit_map
from resolvers.drawings import drawn_features, shown_units
from resolvers.drawings.drawn_features import (
    AreaBuilder,
    DrawnFeature,
    draw_features,
    place_drawing,
)
from resolvers.drawings.shapes import (
    PlacedShape,
    build_path,
    build_shape,
    measure_box,
    measure_cost,
)
from resolvers.drawings.shown_units import parse_with_units
from storage.bundles.drawings import ShownLevel
from storage.catalog import Georeference, find_georeference

SHAPES: list[tuple[dict[str, Any], str]] = [
    ({"type": "Polygon", "points": "0,0 10,0 10,5"}, "M0,0 10,0 10,5z"),
    ({"type": "Polyline", "points": " 0 0 10 5 "}, "M0 0 10 5"),
    ({"type": "Line", "x1": "1", "y1": "2", "x2": "3mm"}, "M1 2L11.3385826772 0"),
    ({"type": "Path", "d": "M0 0 h10 v5z"}, "M0 0 h10 v5z"),
    ({"type": "Circle", "cx": "5", "r": "2"}, "M3 0a2 2 0 1 0 4 0a2 2 0 1 0 -4 0z"),
    ({"type": "Ellipse", "rx": "4", "ry": "2"}, "M-4 0a4 2 0 1 0 8 0a4 2 0 1 0 -8 0z"),
    ({"type": "Circle", "r": "0.5"}, "M-0.5 0a0.5 0.5 0 1 0 1 0a0.5 0.5 0 1 0 -1 0z"),
    ({"type": "Rect", "x": 1, "width": 10, "height": 5}, "M1 0h10v5h-10z"),
    (
        {"type": "Rect", "width": 10, "height": 6, "rx": "2"},
        "M2 0h6a2 2 0 0 1 2 2v2a2 2 0 0 1 -2 2h-6a2 2 0 0 1 -2 -2v-2a2 2 0 0 1 2 -2z",
    ),
    (
        {"type": "Rect", "width": 10, "height": 6, "rx": "99", "ry": "1"},
        "M5 0h0a5 1 0 0 1 5 1v4a5 1 0 0 1 -5 1h0a5 1 0 0 1 -5 -1v-4a5 1 0 0 1 5 -1z",
    ),
]


@pytest.mark.parametrize(("attributes", "path"), SHAPES)
def test_each_kind_of_shape_is_a_path(attributes: dict[str, Any], path: str) -> None:
    assert build_path(attributes["type"], attributes) == path


@pytest.mark.parametrize("attributes", [each for each, _ in SHAPES])
def test_the_path_goes_where_the_shape_goes(attributes: dict[str, Any]) -> None:
    kind = attributes["type"]
    path: dict[str, Any] = {"d": build_path(kind, attributes)}
    drawn, expected = measure_box("Path", path), measure_box(kind, attributes)
    assert drawn is not None
    assert drawn == pytest.approx(expected, abs=0.1)
    assert len(trace_shape("Path", path, 0.1)) == len(trace_shape(kind, attributes, 0.1))


@pytest.mark.parametrize(
    "attributes",
    [
        {"type": "Rect", "width": 0, "height": 5},
        {"type": "Circle", "r": "-1"},
        {"type": "Ellipse", "rx": "1"},
        {"type": "Polygon"},
        {"type": "Path", "d": " "},
        {},
    ],
)
def test_a_shape_without_extent_has_neither_path_nor_box(attributes: dict[str, Any]) -> None:
    shape = build_shape(PlacedShape("unit", "101", "2", attributes))
    assert (shape.d, shape.box) == (None, None)


def test_a_type_that_another_version_has_stored_is_null() -> None:
    shape = build_shape(PlacedShape("unit", "101", "2", {"type": "Star", "fill": "red"}))
    assert (shape.type, shape.d, shape.box, shape.fill) == (None, None, None, "red")


def test_the_box_has_the_transform_applied_and_the_path_has_not() -> None:
    attributes = {
        "type": "Rect",
        "width": 4,
        "height": 2,
        "transform": "translate(10 20) rotate(90)",
        "fill": "#eee",
        "stroke-width": 2,
    }
    shape = build_shape(PlacedShape("background", None, None, attributes))
    assert shape.d == "M0 0h4v2h-4z"
    assert shape.transform == "translate(10 20) rotate(90)"
    assert shape.box == pytest.approx((8, 20, 2, 4, 9, 22))
    assert (shape.fill, shape.stroke, shape.stroke_width) == ("#eee", None, "2")


def test_a_path_that_cannot_be_read_has_no_box() -> None:
    """Browsers draw it up to its error."""
    shape = build_shape(
        PlacedShape("background", None, None, {"type": "Path", "d": "M0 0 h10 nonsense"})
    )
    assert (shape.d, shape.box) == ("M0 0 h10 nonsense", None)


def test_long_geometry_costs_more() -> None:
    assert measure_cost({"points": "0,0 1,1"}) == 10
    assert measure_cost({"d": "h1" * 5_000}) == 1_010


SVG = b"""<svg>
  <g data-type="Level">
    <g data-type="UnitLayer"><rect id="b"/><g><rect id="a"/></g></g>
    <g data-type="HitAreaLayer"><rect id="hitc"/><rect id="hitd" data-target-type="Other"/></g>
  </g>
</svg>"""


def test_units_are_those_drawn_and_the_targets_of_hit_areas() -> None:
    parsed, shown, _ = parse_with_units(SVG)
    assert orjson.loads(parsed) == parse_unit_map(SVG).to_dict()
    assert shown.unit_ids == ["a", "b", "c"]


def test_units_have_the_level_that_shows_them_if_it_is_one() -> None:
    svg = b"""<svg>
      <g data-type="Level" id="L1"><g data-type="UnitLayer"><rect id="a"/><rect id="both"/></g></g>
      <g data-type="Level" id="L2"><g data-type="HitAreaLayer"><rect id="hitboth"/>
        <rect id="hitb"/></g></g>
    </svg>"""
    shown = parse_with_units(svg)[1]
    assert [*zip(shown.unit_ids, shown.unit_levels, strict=True)] == [
        *(("a", 0), ("b", 1), ("both", None))
    ]


def test_warnings_are_a_sentence_for_each_cause() -> None:
    texts = "<text>1</text><text>1</text>"
    svg = f'<svg viewBox="0 0 9 9">{texts}\n<path d="M1 1" marker-end="url(#a)"/></svg>'.encode()
    assert parse_with_units(svg)[2] == [
        "the drawing has no Level",
        "line 1: text is left out: <text>, and 1 more",
        "line 2: markers are left out: <path>",
    ]


@pytest.mark.parametrize(("excess", "more"), [(0, 0), (1, 1)])
def test_a_few_causes_are_summarized(
    excess: int, more: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    svg = b'<svg><text>1</text><path d="M1 1" marker-end="url(#a)"/></svg>'
    monkeypatch.setattr(shown_units, "MAX_WARNINGS", len(parse_with_units(svg)[2]) - excess)
    told = [text for text in parse_with_units(svg)[2] if "more kinds of warnings" in text]
    assert len(told) == more


def test_levels_are_those_that_processing_sees() -> None:
    svg = b"""<svg>
      <g data-type="Level" id="Level 1"/>
      <g data-type="Level"/>
      <g><g data-type="Level" id="Roof" data-tags="floor=r;building=1"/></g>
      <g data-type="Level" data-tags="floor=r"><g data-type="Level" data-tags="building=1"/></g>
    </svg>"""
    assert parse_with_units(svg)[1].levels == [
        ShownLevel("Level 1"),
        ShownLevel("Level 2", is_numbered=True),
        ShownLevel("Roof", "r"),
        ShownLevel("Level 5", is_numbered=True),
    ]


def test_levels_of_a_drawing_that_are_compared_with_floors_are_limited() -> None:
    levels = "".join(f'<g data-type="Level" id="{"x" * 500}{number}"/>' for number in range(2000))
    shown = parse_with_units(f"<svg>{levels}</svg>".encode())[1].levels
    assert shown == [ShownLevel("x" * 256)] * 1000


PLACE = Georeference(latitude=56.0, longitude=10.0)


def draw(shapes: str, level: str | None = None, scale: float = 1.0) -> list[DrawnFeature]:
    layer = f'<g data-type="Level" id="one"><g data-type="UnitLayer">{shapes}</g></g>'
    parsed = parse_unit_map(f'<svg viewBox="0 0 400 400">{layer}</svg>'.encode()).json
    return draw_features(parsed, PLACE, scale, ["one"], level).features


def units(features: list[DrawnFeature]) -> dict[str | None, Any]:
    return {
        each.target_id: shapely.from_geojson(each.geometry)
        for each in features
        if each.feature_type == "unit"
    }


def test_curves_are_within_a_centimetre() -> None:
    circle = units(draw('<circle id="a" cx="200" cy="200" r="100"/>', scale=0.1))["a"]
    metres = shapely.transform(circle, lambda xy: (xy - (10, 56)) * (62_392.75, 111_341.82))
    radii = shapely.distance(shapely.points(shapely.get_coordinates(metres)), shapely.Point(0, 0))
    assert radii == pytest.approx(10 * 0.3048, abs=0.006)
    inner = shapely.minimum_clearance_line(metres)
    assert inner is not None
    assert metres.exterior.distance(shapely.Point(0, 0)) > 10 * 0.3048 - 0.016


@pytest.mark.parametrize(
    "shape",
    [
        '<rect id="a" width="0" height="3"/>',
        '<line id="a" x2="3" y2="4"/>',
        '<polygon id="a" points="1,2 3"/>',
        '<rect id="a" x="300000" width="9" height="9"/>',  # 91 kilometres away
        '<rect id="a" width="0.01" height="0.01" transform="scale(0.1)"/>',  # below a decimal
    ],
)
def test_what_has_no_area_there_is_left_out(shape: str) -> None:
    assert units(draw(f'<rect id="b" width="9" height="9"/>{shape}')).keys() == {"b"}


def test_shapes_that_cross_themselves_become_valid_in_bounded_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    zigzag = " ".join(f"{x % 397},{x * 151 % 389}" for x in range(3_000))
    builders = []

    class Builder(AreaBuilder):
        def __init__(self) -> None:
            super().__init__(max_meeting_edges=20_000)
            builders.append(self)

    monkeypatch.setattr(drawn_features, "AreaBuilder", Builder)
    bow = '<polygon id="bow" points="0,0 9,9 9,0 0,9"/>'
    found = units(draw(bow + "".join(f'<polygon id="z{n}" points="{zigzag}"/>' for n in range(9))))
    assert len(found) == 10
    assert all(shape.is_valid for shape in found.values())
    [builder] = builders
    assert 0 <= builder.remaining_edges < 20_000


def test_twenty_thousand_units_are_drawn() -> None:
    """None of them takes repair work, and their level is their hull."""
    shapes = "".join(
        f'<rect id="u{n}" x="{n % 200 * 2}" y="{n // 200 * 4}" width="2" height="4"/>'
        for n in range(20_000)
    )
    features = draw(shapes)
    assert len(units(features)) == 20_000
    [level] = [each for each in features if each.feature_type == "level"]
    assert len(json.loads(level.geometry)["coordinates"][0]) == 5


def test_too_many_positions_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn_features, "MAX_POSITIONS", 7)
    shapes = '<rect id="a" width="9" height="9"/><rect id="b" width="9" height="9"/>'
    with pytest.raises(DocumentRejectedError, match="over 7 positions; ask for one level"):
        draw(shapes)
    assert draw('<rect id="a" width="9" height="9"/>', level="two") == []


SQUARE = ((0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 4.0))
HOLE = ((1.0, 1.0), (1.0, 3.0), (3.0, 3.0), (3.0, 1.0))


def star(points: int, step: int) -> Coordinates:
    """A line that crosses itself: a pentagram is `star(5, 2)`."""
    angles = [2 * math.pi * step * number / points for number in range(points)]
    return tuple((math.cos(angle), math.sin(angle)) for angle in angles)


@pytest.mark.parametrize(
    ("rings", "nonzero", "area"),
    [
        ([SQUARE], True, 16.0),
        ([SQUARE, HOLE], True, 12.0),
        ([SQUARE, HOLE[::-1]], True, 16.0),  # it turns the same way, so it is filled
        ([SQUARE, HOLE[::-1]], False, 12.0),
        ([SQUARE, tuple((x + 9, y) for x, y in SQUARE)], True, 32.0),
        ([((0, 0), (2, 2), (2, 0), (0, 2))], True, 2.0),
    ],
)
def test_rings_are_filled_by_their_rule(
    rings: list[Coordinates], nonzero: bool, area: float
) -> None:
    [built] = AreaBuilder().build([rings], nonzero=nonzero)
    assert built is not None
    assert (built.is_valid, built.area) == (True, area)


def test_the_middle_of_a_star_is_filled() -> None:
    [built] = AreaBuilder().build([[star(5, 2)]])
    assert built is not None
    assert built.contains(shapely.Point(0, 0))


@pytest.mark.parametrize("rings", [[], [((0, 0), (1, 1))], [((0, 0), (1, 1), (2, 2))]])
def test_lines_have_no_area(rings: list[Coordinates]) -> None:
    assert AreaBuilder().build([rings]) == [None]


def test_what_would_take_too_much_work_gets_its_hull(monkeypatch: pytest.MonkeyPatch) -> None:
    repaired = []
    make_valid = shapely.make_valid

    def count(shape: Any, **options: Any) -> Any:
        repaired.append(shape)
        return make_valid(shape, **options)

    monkeypatch.setattr(shapely, "make_valid", count)
    probe = AreaBuilder()
    probe.build([[star(101, 50)]])
    pairs = drawn_features.MAX_MEETING_EDGES - probe.remaining_edges
    assert 2_000 < pairs < 101 * 101 / 2
    repaired.clear()
    builder = AreaBuilder(max_meeting_edges=3 * pairs)
    built = builder.build([[star(101, 50)] for _ in range(20)])
    assert len(repaired) == 3
    assert all(each is not None and each.is_valid for each in built)
    assert builder.remaining_edges == 0
    [tangle] = AreaBuilder(max_meeting_edges=1).build([[star(7, 3), star(9, 4)]])
    assert tangle is not None
    assert tangle.is_valid


def test_a_ring_with_a_hole_needs_no_repair() -> None:
    diamond = ((4.0, 0.0), (0.0, 4.0), (-4.0, 0.0), (0.0, -4.0))
    hole = tuple((x / 2, y / 2) for x, y in reversed(diamond))
    [built] = AreaBuilder(max_meeting_edges=0).build([[diamond, hole]])
    assert built is not None
    assert built.area == 32 - 8


def test_a_union_that_would_take_too_much_work_is_the_hull() -> None:
    corner = [shapely.box(0, 0, 2, 1), shapely.box(0, 0, 1, 2)]
    exact, hull = AreaBuilder().unite(corner), AreaBuilder(max_union_work=10).unite(corner)
    assert exact is not None
    assert hull is not None
    assert (exact.area, hull.area) == (3.0, 3.5)
    many = [shapely.box(x, 0, x + 1, 1) for x in range(drawn_features.MAX_UNITED + 1)]
    builder = AreaBuilder()
    assert builder.unite(many) is not None
    assert builder.remaining_union_work == drawn_features.MAX_UNION_WORK


def test_large_shapes_that_hardly_cross_themselves_are_repaired() -> None:
    """Such as all walls of a building in one path."""
    walls = [tuple((x + 9.0 * n, y) for x, y in SQUARE) for n in range(1_000)]
    [built] = AreaBuilder(max_meeting_edges=2 * len(walls)).build([walls])
    assert built is not None
    assert built.area == 16.0 * len(walls)


def feet_from_centre(georeference: Georeference, scale: float | None, x: float, y: float) -> object:
    """Return how far east and south of the centre a position is, by the plans' own projection."""
    placement = place_drawing(georeference, scale, 200, 100)
    [(longitude, latitude)] = placement.to_degrees(np.array([(x, y)])).tolist()
    project = local_projection((georeference.longitude, georeference.latitude))
    return pytest.approx(project((longitude, latitude)), abs=1e-3)


@pytest.mark.parametrize(
    ("bearing", "east", "south"),
    [
        (0, 50, 20),
        (90, -20, 50),  # the upper edge is in the east
        (180, -50, -20),
        (-90, 20, -50),
    ],
)
def test_the_bearing_is_the_direction_of_the_upper_edge(
    bearing: float, east: float, south: float
) -> None:
    turned = Georeference(latitude=56.0, longitude=10.0, bearing=bearing)
    assert (east / 2, south / 2) == feet_from_centre(turned, 0.5, 150, 70)


@pytest.mark.parametrize("latitude", [-85.0, -33.8, 0.0, 45.5, 85.0])
def test_positions_are_those_of_plans(latitude: float) -> None:
    place = Georeference(latitude=latitude, longitude=179.9)
    assert feet_from_centre(place, 1, 20_100, -9_900) == (20_000, -9_950)


def test_longitudes_go_on_beyond_180_degrees() -> None:
    placement = place_drawing(Georeference(latitude=0, longitude=179.9999), 1.0, 0, 0)
    [(longitude, _)] = placement.to_degrees(np.array([(1_000.0, 0.0)])).tolist()
    assert 180 < longitude < 180.01


def test_without_a_scale_a_unit_is_a_pixel_at_the_zoom() -> None:
    placement = place_drawing(Georeference(60.0, 10.0, zoom=18), None, 200, 100)
    metres = 40_075_016.686 / 256 / 2**18 * math.cos(math.radians(60))
    assert placement.feet_per_unit == pytest.approx(metres / 0.3048)
    assert place_drawing(Georeference(60.0, 10.0, zoom=18), 0.1, 200, 100).feet_per_unit == 0.1


def test_scale_needs_feet_or_zoom() -> None:
    assert PLACE.has_scale(0.1)
    assert not PLACE.has_scale(None)
    assert Georeference(56.0, 10.0, zoom=1).has_scale(None)


@pytest.mark.parametrize("member", ['"latitude":86', '"longitude":-181', '"zoom":25'])
def test_what_is_out_of_range_is_none(member: str) -> None:
    good = '{"type":"Georeference","uid":"u1","latitude":1,"longitude":2,"zoom":3}'
    assert find_georeference(good.encode()) is not None
    name = member.partition(":")[0]
    changed = [member if each.startswith(name) else each for each in good[1:-1].split(",")]
    assert find_georeference(f"{{{','.join(changed)}}}".encode()) is None


def test_a_text_is_no_georeference() -> None:
    assert find_georeference(rb'{"id":"{\"type\":\"Georeference\",\"latitude\":1}"}') is None
