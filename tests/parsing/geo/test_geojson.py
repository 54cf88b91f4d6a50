from typing import Any

import orjson
import pytest

from parsing.drawing import AreaGeometry, Geometry, LinesGeometry, NoteCollector, PointGeometry
from parsing.errors import DocumentRejectedError, InvalidPlanError, NotWellFormedError
from parsing.geo import geojson

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
