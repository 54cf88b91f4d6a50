"""Degrees become feet on the ground; GeoJSON is read feature by feature, or named as wrong."""

import math
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsing.drawing import (
    FEET_PER_METRE,
    AreaGeometry,
    Coordinate,
    Feature,
    Geometry,
    LinesGeometry,
    NoteCollector,
    PointGeometry,
    ReadingFault,
)
from parsing.errors import DocumentRejectedError, InvalidPlanError, NotWellFormedError
from parsing.geo import geojson
from parsing.geo.geojson import check_coordinate
from parsing.geo.projection import (
    bounding_box_centre,
    build_drawing_in_feet,
    find_ground,
    leave_out_remote,
    local_projection,
    local_unprojection,
)

RING = [[10, 56], [11, 56], [11, 57], [10, 56]]
OPEN_RING = ((10.0, 56.0), (11.0, 56.0), (11.0, 57.0))


def feature(kind: str, coordinates: Any) -> dict[str, Any]:
    return {"type": "Feature", "geometry": {"type": kind, "coordinates": coordinates}}


@pytest.mark.parametrize(
    ("kind", "coordinates", "geometry"),
    [
        ("Point", [10, 56, 3.5], PointGeometry((10, 56))),  # the altitude is ignored
        ("LineString", RING[:2], LinesGeometry((OPEN_RING[:2],))),
        ("MultiLineString", [RING[:2], RING[:2]], LinesGeometry((OPEN_RING[:2],) * 2)),
        ("Polygon", [RING, RING], AreaGeometry((OPEN_RING,) * 2)),
        ("MultiPolygon", [[RING], [RING, RING]], AreaGeometry((OPEN_RING,) * 3)),
    ],
)
def test_geometries_are_parsed(kind: str, coordinates: Any, geometry: Geometry) -> None:
    assert geojson.parse_geometry(feature(kind, coordinates), "a") == geometry


@pytest.mark.parametrize(
    ("feature", "kind"),
    [
        ({"geometry": None}, None),
        ({}, None),
        (feature("MultiPoint", [[10, 56]]), "MultiPoint"),
        (feature("GeometryCollection", None), "GeometryCollection"),
    ],
)
def test_a_missing_or_unsupported_geometry_is_none(
    feature: dict[str, Any], kind: str | None
) -> None:
    assert geojson.parse_geometry(feature, "a") is None
    assert geojson.geometry_type(feature) == kind


def test_an_unknown_type_of_geometry_is_an_error() -> None:
    with pytest.raises(InvalidPlanError, match="geometry is 'Circle'; expected one of Point"):
        geojson.parse_geometry(feature("Circle", [10, 56]), "a")


def test_json_errors_carry_line_and_column() -> None:
    with pytest.raises(NotWellFormedError, match=r"^not JSON in UTF-8: .* line 2 column 1"):
        geojson.parse_json(b"[\n", "a", NoteCollector())


def test_commas_before_a_closing_bracket_are_read_and_each_is_named() -> None:
    collector = NoteCollector()
    text = b'{"a": [1,\n 2 ,\n ], "b": ",]\\",}",\n}'
    assert geojson.parse_json(text, "a.json", collector) == {"a": [1, 2], "b": ',]",}'}
    assert [str(fault) for fault in collector.faults] == [
        "a.json, line 2: a comma follows the last element; JSON has none there",
        "a.json, line 3: a comma follows the last element; JSON has none there",
    ]


@pytest.mark.parametrize("text", [b"[1,,]", b"{,,}", b'{"a": 1,', b'{"a": 1,]', b'["a,]'])
def test_a_document_with_other_errors_is_not_repaired(text: bytes) -> None:
    collector = NoteCollector()
    with pytest.raises(NotWellFormedError, match=r"line 1 column"):
        geojson.parse_json(text, "a", collector)
    assert collector.faults == []


@pytest.mark.parametrize("piece", [b'"\\"', b", ", b",     ", b'",', b"\\"])
def test_trailing_commas_are_found_in_linear_time(piece: bytes) -> None:
    """In quadratic time, this would take minutes."""
    assert geojson.find_trailing_commas(piece * 400_000) == []


def test_a_document_over_the_limit_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(geojson, "MAX_SOURCE_BYTES", 10)
    with pytest.raises(DocumentRejectedError, match=r"^11 bytes; at most 10 are read"):
        geojson.parse_json(b"[1,2,3,4,5]", "a", NoteCollector())


def test_collections_inside_of_other_json_are_read_and_named() -> None:
    inner = {"type": "FeatureCollection", "features": [feature("Point", [10, 56])]}
    document = {"id": 1, "map": {"rooms": inner, "doors": inner}, "list": [inner]}
    collector = NoteCollector()
    found = geojson.parse_collections(orjson.dumps(document), "a.json", collector)
    assert [f.place for f in found] == ["map.rooms.features[0]", "map.doors.features[0]"]
    (fault,) = collector.faults
    assert str(fault).endswith("read from inside: map.rooms, map.doors")


def test_what_is_no_feature_is_left_out_and_named() -> None:
    document = {"type": "FeatureCollection", "features": [3, feature("Point", [10, 56])]}
    collector = NoteCollector()
    (found,) = geojson.parse_collections(orjson.dumps(document), "a.json", collector)
    assert found.place == "features[1]"
    assert [str(fault) for fault in collector.faults] == [
        "a.json: features[0] is not a GeoJSON Feature"
    ]


@pytest.mark.parametrize("head", [b'{"type": "FeatureCollection",\n "features": [', b"\n[", b"["])
def test_every_item_of_a_list_has_its_line(head: bytes) -> None:
    """Also beside items that are no features, and properties that look like some."""
    point = b'{"type": "Feature", "properties": {"a": [{"type": "Feature"}, 1], "b": "],\\""}}'
    content = head + b"7,\n" + point + b",\n\n[1, 2], 8,\n" + point + b"]"
    content += b"}" if head.startswith(b"{") else b""
    collector = NoteCollector()
    found = geojson.parse_collections(content, "a.json", collector)
    first = 1 + head.count(b"\n")
    assert [each.line for each in found] == [first + 1, first + 4]
    assert [fault.line for fault in collector.faults if fault.part] == [first, first + 3, first + 3]


TYPED = b'{"type": "Feature", "properties": {%s}}'


@pytest.mark.parametrize(
    ("document", "count", "lines"),
    [
        (b"[\n%s,\n\n%s]" % (TYPED % b"", TYPED % b""), 2, [2, 4]),
        # in the text of another property
        (b"[\n%s]" % (TYPED % rb'"note": "\"type\": \"Feature\""'), 1, [2]),
        # a property of the same name: which of the two is that of the feature?
        (b"[\n%s]" % (TYPED % b'"type": "Feature"'), 1, [0]),
        (b"[%s,%s]" % (TYPED % b"", TYPED % b""), 2, [0, 0]),
        (b"", 0, []),
    ],
    ids=["pretty", "quoted", "property", "one line", "empty"],
)
def test_features_have_lines_unless_these_say_nothing(
    document: bytes, count: int, lines: list[int]
) -> None:
    assert geojson.find_feature_lines(document, count) == lines


def test_lines_are_found_in_linear_time() -> None:
    """In quadratic time, this would take minutes."""
    lines = geojson.find_feature_lines(b'"type": "Feature",\n' * 200_000, 200_000)
    assert lines == [*range(1, 200_001)]


@pytest.mark.parametrize(("longitude", "latitude"), [(10.2, 56.1), (-180, -90), (180, 90)])
def test_degrees_in_range_are_returned(longitude: float, latitude: float) -> None:
    assert check_coordinate(longitude, latitude, "node/1") == (longitude, latitude)


@pytest.mark.parametrize(
    ("longitude", "latitude", "advice"),
    [
        (56.1, 110.2, "the two seem to have changed places"),
        (912_345.6, 6_456_789.0, "expected degrees of WGS 84"),  # metres of some national grid
        (math.nan, 0, "expected degrees of WGS 84"),
    ],
)
def test_other_numbers_are_an_error_that_names_the_feature(
    longitude: float, latitude: float, advice: str
) -> None:
    with pytest.raises(InvalidPlanError, match=f"^node/1 is at longitude .*{advice}"):
        check_coordinate(longitude, latitude, "node/1")


# Two places and the metres between them along the ellipsoid, from GeographicLib 2.1
# (Karney 2013, Algorithms for geodesics).
GEODESICS = [
    ((5.7214952, 45.1829216), (5.7257116, 45.1848273), 393.2825),  # a shopping centre
    ((10.0, 56.15), (10.001, 56.1495), 83.4397),
    ((-122.6859, 45.5272), (-122.60, 45.5), 7361.5199),
    ((103.85, 1.29), (103.86, 1.35), 6727.1861),  # near the equator
    ((15.6, 78.22), (15.7, 78.25), 4050.1519),  # near the pole
    ((179.9995, -16.8), (-179.9995, -16.801), 153.6565),  # across the 180th meridian
]


@pytest.mark.parametrize(("one", "other", "metres"), GEODESICS)
def test_distances_are_those_on_the_ellipsoid_within_a_millionth(
    one: Coordinate, other: Coordinate, metres: float
) -> None:
    project = local_projection(bounding_box_centre([one, other]))
    assert math.dist(project(one), project(other)) == pytest.approx(
        metres * FEET_PER_METRE, rel=1e-6
    )


@pytest.mark.parametrize(("one", "other", "metres"), GEODESICS)
def test_unprojecting_is_the_inverse(one: Coordinate, other: Coordinate, metres: float) -> None:
    centre = bounding_box_centre([one, other])
    project, unproject = local_projection(centre), local_unprojection(centre)
    for point in (one, other):
        assert unproject(project(point)) == pytest.approx(point, abs=1e-9)


def test_x_grows_to_the_east_and_y_to_the_south() -> None:
    project = local_projection((10.0, 56.0))
    east, south = project((10.001, 56.0)), project((10.0, 55.999))
    assert east[0] > 200 and abs(east[1]) < 0.01
    assert south[1] > 300 and abs(south[0]) < 0.01


@given(st.floats(-180, 180), st.floats(-89, 89))
def test_the_origin_is_at_zero(longitude: float, latitude: float) -> None:
    origin = (longitude, latitude)
    assert local_projection(origin)(origin) == pytest.approx((0, 0), abs=1e-6)


WEST, SOUTH = 10.0, 56.0
SQUARE = (
    (WEST, SOUTH),
    (WEST + 0.001, SOUTH),
    (WEST + 0.001, SOUTH + 0.001),
    (WEST, SOUTH + 0.001),
)


def project(shape: Geometry) -> Geometry:
    return find_ground([shape]).project_geometry(shape)


def test_the_origin_is_the_north_west_corner_and_y_grows_to_the_south() -> None:
    area = project(AreaGeometry((SQUARE,)))
    assert isinstance(area, AreaGeometry)
    xs, ys = zip(*area.rings[0], strict=True)
    assert (min(xs), min(ys)) == (0, 0)
    assert max(xs) == pytest.approx(204.7, abs=0.5)  # 62.4 m of longitude at 56 degrees north
    assert max(ys) == pytest.approx(365.3, abs=0.5)  # 111.3 m of latitude


@pytest.mark.parametrize("ring", [SQUARE[::-1], SQUARE[2:] + SQUARE[:2]])
def test_direction_and_start_of_a_ring_do_not_matter(ring: tuple[tuple[float, float], ...]) -> None:
    canonical = project(AreaGeometry((SQUARE,)))
    assert project(AreaGeometry((ring,))) == canonical


def test_a_closed_line_is_canonical_too_and_an_open_one_keeps_its_direction() -> None:
    closed = LinesGeometry(((*SQUARE, SQUARE[0]),))
    turned = LinesGeometry(((*SQUARE[2:], *SQUARE[:3]),))
    assert project(closed) == project(turned)
    line = LinesGeometry((SQUARE[:2],))
    back = LinesGeometry((SQUARE[1::-1],))
    assert project(line) != project(back)


def test_a_position_in_feet_has_the_degrees_of_the_file() -> None:
    ground = find_ground([AreaGeometry((SQUARE,))])
    for corner in SQUARE:
        assert ground.to_degrees(ground.to_feet(corner)) == pytest.approx(corner, abs=1e-7)


def features_at(*points: tuple[float, float]) -> list[Feature]:
    return [Feature(f"node/{n}", ("0",), PointGeometry(at), {}) for n, at in enumerate(points)]


def test_a_feature_miles_away_is_left_out_and_named() -> None:
    collector = NoteCollector()
    features = features_at(*SQUARE, (56.0, 10.0))
    assert leave_out_remote(features, collector) == features[:4]
    (fault,) = collector.faults
    assert fault.message.startswith("node/4 is 3,176 miles away from the rest; a plan is one")
    assert fault.part == "node/4"


def test_a_plan_across_the_180th_meridian_is_together() -> None:
    features = features_at((179.999, SOUTH), (-179.999, SOUTH))
    assert leave_out_remote(features, NoteCollector()) == features


def test_features_that_are_nowhere_together_are_an_error() -> None:
    features = features_at(*((float(degrees), SOUTH) for degrees in range(5)))
    with pytest.raises(InvalidPlanError, match=r"up to 77 miles away from each other"):
        leave_out_remote(features, NoteCollector())


def test_the_positions_of_faults_are_in_the_frame_of_the_drawing() -> None:
    collector = NoteCollector()
    collector.add_fault(ReadingFault("left out", "way/1 is", position=SQUARE[3]))
    collector.add_fault(ReadingFault("left out", "way/2 is"))
    drawing = build_drawing_in_feet((), features_at(*SQUARE), collector, "osm:id", "")
    assert drawing.faults[0].position == pytest.approx((0, 0), abs=0.01)
    assert drawing.faults[1].position is None
