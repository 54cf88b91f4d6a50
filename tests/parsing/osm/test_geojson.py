import json
from typing import Any

import pytest

from parsing.errors import DocumentRejectedError, InvalidPlanError, NotWellFormedError, ParsingError
from parsing.geo import geojson as geo_geojson
from parsing.osm import geojson, osm_xml
from tests.parsing.geography import OsmPlanBuilder, box, collection, read_caserne


def room(**changes: Any) -> dict[str, Any]:
    """A GeoJSON feature that reads as a room, with changes."""
    ring = [[10, 56], [10.001, 56], [10.001, 56.001], [10, 56]]
    feature = {
        "type": "Feature",
        "id": "way/1",
        "properties": {"indoor": "room", "level": "0"},
        "geometry": {"type": "Polygon", "coordinates": [ring]},
    }
    return {**feature, **changes}


def shape(kind: str, coordinates: Any) -> dict[str, Any]:
    return {"type": kind, "coordinates": coordinates}


def test_the_same_plan_in_both_formats_is_the_same_drawing() -> None:
    builder = OsmPlanBuilder()
    builder.add_way([(0, 0), (9, 0), (9, 2), (9, 5), (0, 5), (0, 0)], indoor="room", level="0-1")
    builder.add_way(box(9, 0, 12, 30), indoor="corridor", level="0;1")
    builder.add_way(box(0, 5, 9, 9), indoor="wall", level="0")
    builder.add_way([(10, 20), (10, 29)], highway="steps", level="0;1")
    builder.add_node((9, 2), door="yes")
    builder.add_node((11, 1), highway="elevator", level="0;1")
    assert geojson.read_geojson({"plan.geojson": builder.to_geojson()}) == osm_xml.read_osm_xml(
        builder.to_osm()
    )


def test_the_shopping_centre_is_the_same_in_both_formats_but_for_one_tag() -> None:
    """Its files disagree on one shop, which is on levels 0 and 2 in one, 0 and 1 in the other."""
    ours = osm_xml.read_osm_xml(read_caserne("osm"))
    theirs = geojson.read_geojson({"caserne.geojson": read_caserne("geojson")})
    same = {f.id: f for f in theirs.features if f.id != "way/398056920"}
    assert {f.id: f for f in ours.features if f.id != "way/398056920"} == same
    assert len(same) == len(ours.features) - 1
    assert ours.bounds == theirs.bounds
    assert sorted(map(str, ours.notes)) == sorted(map(str, theirs.notes))


@pytest.mark.parametrize(
    "feature",
    [
        room(id=None, properties={"@id": "way/1", "indoor": "room", "level": "0"}),
        room(id=1, properties={"type": "way", "indoor": "room", "level": "0"}),
        room(
            id=None, properties={"type": "way", "id": 1, "tags": {"indoor": "room", "level": "0"}}
        ),
    ],
)
def test_ids_and_tags_are_found_where_converters_put_them(feature: dict[str, Any]) -> None:
    (found,) = geojson.read_geojson({"a": collection([feature])}).features
    assert found.id == "way/1"
    assert found.tags == {"indoor": "room", "level": "0"}


def test_numbers_and_truth_values_become_tags() -> None:
    tags = {"indoor": "room", "level": 0, "wheelchair": False, "width": 0.9, "note": None}
    (found,) = geojson.read_geojson({"a": collection([room(properties=tags)])}).features
    assert found.tags == {"indoor": "room", "level": "0", "wheelchair": "no", "width": "0.9"}


def test_several_files_make_one_plan() -> None:
    upper = room(id="way/2", properties={"indoor": "room", "level": 1})
    drawing = geojson.read_geojson({"0": collection([room()]), "1": collection([upper])})
    assert [level.id for level in drawing.levels] == ["0", "1"]


def test_a_feature_without_geometry_is_noted() -> None:
    drawing = geojson.read_geojson({"a": collection([room(), room(id="way/2", geometry=None)])})
    assert [str(note) for note in drawing.notes] == ["without geometry: 1 (way/2)"]


def test_multipolygons_keep_every_ring() -> None:
    ring = [[10, 56], [10.001, 56], [10.001, 56.001], [10, 56]]
    other = [[10.002, 56], [10.003, 56], [10.003, 56.001], [10.002, 56]]
    geometry = shape("MultiPolygon", [[ring], [other]])
    (found,) = geojson.read_geojson({"a": collection([room(geometry=geometry)])}).features
    assert len(found.geometry[0]) == 2


@pytest.mark.parametrize(
    ("geometry", "message"),
    [
        (shape("Polygon", [[[10, 56], [11, 56], [11, 57], [10, 57]]]), "a ring is not closed"),
        (shape("Polygon", [[[10, 56], [11, 56], [10, 56]]]), "a ring of 3 positions"),
        (shape("Polygon", [[10, 56]]), "10 is no position"),
        (shape("Polygon", [5]), "is no list of positions"),
        (shape("Polygon", []), "Polygon without coordinates"),
        (shape("Polygon", None), "Polygon without coordinates"),
        (shape("LineString", [[10, 56]]), "a line of one position"),
        (shape("Point", ["10", "56"]), "expected .longitude, latitude."),
        (shape("Point", [True]), "expected .longitude, latitude."),
        (shape("Point", [56, 110]), "changed places"),
        (shape("Point", [912_345.6, 6_456_789.0]), "expected degrees of WGS 84"),
        (shape("Circle", [1, 2]), "geometry is 'Circle'; expected one of Point"),
        ({"type": []}, r"geometry is \[\]; expected one of"),
        ([1, 2], "geometry is None; expected one of"),
    ],
)
def test_a_broken_geometry_is_an_error_with_file_and_feature(geometry: Any, message: str) -> None:
    with pytest.raises(InvalidPlanError, match=f"^plan.geojson: way/1.*{message}"):
        geojson.read_geojson({"plan.geojson": collection([room(geometry=geometry)])})


@pytest.mark.parametrize(
    ("document", "error", "message"),
    [
        (
            b'{"type": "FeatureCollection",\n "features": [],}',
            NotWellFormedError,
            "line 2 column 16",
        ),
        (b'{"type": "FeatureCollection"', NotWellFormedError, "line 1 column 29"),
        (b"", NotWellFormedError, "not JSON"),
        ('{"é": 1}'.encode("latin-1"), NotWellFormedError, "not JSON in UTF-8"),
        ("{}".encode("utf-16"), NotWellFormedError, "not JSON in UTF-8"),
        (b"[" * 100_000, NotWellFormedError, "not JSON"),
        (b"[]", InvalidPlanError, "expected a GeoJSON FeatureCollection"),
        (b'{"type": "Feature"}', InvalidPlanError, "type is 'Feature'; expected"),
        (b'{"type": "FeatureCollection"}', InvalidPlanError, "features is missing"),
        (collection([1]), InvalidPlanError, r"features\[0\] is not a GeoJSON Feature"),
        (collection([room(properties=3)]), InvalidPlanError, "properties that are no object"),
        (collection([room(), room()]), InvalidPlanError, "way/1 is there twice"),
        (
            collection([room(properties={"indoor": "room", "level": "G"})]),
            InvalidPlanError,
            r"^plan\.geojson: no feature .* not read, level=G; .* \(way/1\)",
        ),
        (collection([]), InvalidPlanError, "no feature has both an indoor tag and a level"),
    ],
)
def test_a_broken_document_is_an_error_with_its_file(
    document: bytes, error: type[ParsingError], message: str
) -> None:
    with pytest.raises(error, match=message):
        geojson.read_geojson({"plan.geojson": document})


def test_another_reference_system_is_an_error() -> None:
    crs = {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::2154"}}
    document = {"type": "FeatureCollection", "crs": crs, "features": [room()]}
    with pytest.raises(InvalidPlanError, match="coordinates are in urn:ogc:def:crs:EPSG::2154"):
        geojson.read_geojson({"a": json.dumps(document).encode()})


def test_a_byte_order_mark_is_ignored() -> None:
    assert geojson.read_geojson({"a": b"\xef\xbb\xbf" + collection([room()])}).features


def test_a_document_over_the_limit_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(geo_geojson, "MAX_SOURCE_BYTES", 10)
    with pytest.raises(DocumentRejectedError, match="at most 10 are read"):
        geojson.read_geojson({"a": collection([room()])})
