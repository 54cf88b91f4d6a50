import json
from typing import Any

import pytest

from parsing.drawing import iter_coordinates
from parsing.errors import InvalidPlanError, NotWellFormedError, ParsingError
from tests.parsing.geography import (
    OsmPlanBuilder,
    box,
    collection,
    read_caserne,
    read_geojson,
    read_osm,
)


def room(**changes: Any) -> dict[str, Any]:
    """Return a GeoJSON feature that reads as a room, with changes."""
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
    assert read_geojson({"plan.geojson": builder.to_geojson()}) == read_osm(builder.to_osm())


def test_the_shopping_centre_is_the_same_in_both_formats_but_for_one_tag() -> None:
    """Its files disagree on one shop, which is on levels 0 and 2 in one, 0 and 1 in the other."""
    ours = read_osm(read_caserne("osm"))
    theirs = read_geojson({"caserne.geojson": read_caserne("geojson")})
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
    (found,) = read_geojson({"a": collection([feature])}).features
    assert found.id == "way/1"
    assert found.tags == {"indoor": "room", "level": "0"}


def test_numbers_and_truth_values_become_tags() -> None:
    """Lifts 1000001 and 1000002 are two."""
    tags = {"indoor": "room", "level": [0, 1], "wheelchair": False, "width": 0.9, "note": None}
    numbers = {"ref": 1000001, "height": 12345678.0, "ele": -0.5}
    (found,) = read_geojson({"a": collection([room(properties=tags | numbers)])}).features
    assert found.levels == ("0", "1")
    assert found.tags == {
        **{"indoor": "room", "level": "0;1", "wheelchair": "no", "width": "0.9"},
        **{"ref": "1000001", "height": "12345678", "ele": "-0.5"},
    }


def test_utf_16_is_read_with_its_byte_order_mark() -> None:
    text = collection([room()])
    drawing = read_geojson({"a": text.decode().encode("utf-16")}, strict=True)
    assert drawing == read_geojson({"a": text})


@pytest.mark.parametrize("kind", ["GeometryCollection", "MultiPoint"])
def test_an_indoor_feature_of_an_unknown_geometry_is_left_out(kind: str) -> None:
    other = room(id="way/2", geometry={"type": kind})
    (fault,) = read_geojson({"a": collection([room(), other])}).faults
    assert fault.message.startswith(f"way/2 is a {kind}; expected Point, LineString, ")
    assert fault.levels == ("0",)


@pytest.mark.parametrize(
    ("geometry", "message"),
    [
        (shape("Polygon", [[[10, 56], [11, 56], [11, 57], [10, 57]]]), "a ring is not closed"),
        (shape("Polygon", [[[10, 56], [11, 56], [10, 56]]]), "a ring of 3 positions"),
        (shape("Polygon", [[10, 56]]), "10 is no position"),
        (shape("Polygon", [5]), "is no list of positions"),
        (shape("Polygon", []), "Polygon without coordinates"),
        (shape("LineString", [[10, 56]]), "a line of one position"),
        (shape("Point", ["10", "56"]), "expected .longitude, latitude."),
        (shape("Point", [56, 110]), "changed places"),
        ({"type": []}, r"geometry is \[\]; expected one of"),
        ([1, 2], "geometry is None; expected one of"),
    ],
)
def test_a_broken_geometry_is_an_error_with_file_and_feature(geometry: Any, message: str) -> None:
    with pytest.raises(InvalidPlanError, match=f"plan.geojson: way/1.*{message}"):
        read_geojson({"plan.geojson": collection([room(geometry=geometry)])}, strict=True)


@pytest.mark.parametrize(
    ("document", "error", "message"),
    [
        (
            b'{"type": "FeatureCollection",\n "features": [],,}',
            NotWellFormedError,
            r"plan\.geojson: .* line 2 column 1\d",
        ),
        (b'{"type": "FeatureCollection"', NotWellFormedError, "line 1 column 29"),
        (
            '{"é": 1}'.encode("latin-1"),
            NotWellFormedError,
            "1, column 3: these bytes are not utf-8: e9",
        ),
        (b"[" * 100_000, NotWellFormedError, "not JSON"),
        (collection([room(properties=3)]), InvalidPlanError, "properties that are no object"),
        (collection([room(), room()]), InvalidPlanError, "way/1 is there twice"),
        (
            collection([room(properties={"indoor": "room", "level": "P1"})]),
            InvalidPlanError,
            r"(?s)^plan\.geojson: no feature .* unreadable level: 1 .*way/1 has level=P1; expected",
        ),
        (collection([]), InvalidPlanError, "no feature has both an indoor tag and a level"),
    ],
)
def test_a_broken_document_is_an_error_with_its_file(
    document: bytes, error: type[ParsingError], message: str
) -> None:
    with pytest.raises(error, match=message):
        read_geojson({"plan.geojson": document}, strict=True)


def square(offset: float = 0.0, **properties: Any) -> dict[str, Any]:
    """Return a square feature without id."""
    west, east = 10 + offset, 10.001 + offset
    ring = [[west, 56], [east, 56], [east, 56.001], [west, 56.001], [west, 56]]
    geometry = shape("Polygon", [ring])
    return {"type": "Feature", "properties": properties, "geometry": geometry}


def test_another_feature_of_the_same_id_gets_a_number() -> None:
    upper = room(properties={"indoor": "room", "level": "1", "name": "Loft"})
    drawing = read_geojson({"a": collection([room(), upper, upper])})
    assert [(feature.id, feature.levels) for feature in drawing.features] == [
        ("way/1", ("0",)),
        ("way/1#2", ("1",)),
    ]
    assert [fault.cause for fault in drawing.faults] == [
        "id of several features",
        "left out, duplicate id",
    ]
    corners = list(iter_coordinates(drawing.features[1].geometry))
    assert all(fault.position in corners for fault in drawing.faults)
    assert [fault.levels for fault in drawing.faults] == [("1",), ("1",)]
    assert [fault.name for fault in drawing.faults] == ["", "Loft"]  # the first is in the plan


def test_what_is_left_out_goes_by_its_name_and_line() -> None:
    """Its number stands only for what has no name."""
    ring = room()["geometry"]["coordinates"][0]
    named = {"indoor": "room", "level": "0", "name": "Bar"}
    features = [
        {"type": "Feature", "properties": named, "geometry": shape("Polygon", [ring[:-1]])},
        {"type": "Feature", "properties": {**named, "name": "Spa"}, "geometry": shape("Blob", 1)},
        {"type": "Feature", "properties": {}, "geometry": shape("Blob", 1)},
        {"type": "Feature", "properties": {**named, "name": "Loft"}, "geometry": None},
        room(),
        7,
    ]
    lines = ",\n".join(json.dumps(feature) for feature in features)
    text = f'{{"type": "FeatureCollection", "features": [\n{lines}]}}'
    drawing = read_geojson({"a": text.encode()})
    assert [str(fault).partition(" is ")[0] for fault in drawing.faults] == [
        "a, line 7: features[5]",
        "a, line 2: 'Bar': a ring",
        "a, line 3: 'Spa': geometry",
        "a, line 4: features[2]: geometry",
    ]
    assert "without geometry: 1 ('Loft' (line 5 of a))" in map(str, drawing.notes)


def test_a_broken_geometry_has_the_position_of_its_first_corner() -> None:
    ring = room()["geometry"]["coordinates"][0]
    broken = room(id="way/2", geometry=shape("Polygon", [ring[:-1]]))
    drawing = read_geojson({"a": collection([room(), broken])})
    (fault,) = drawing.faults
    assert fault.position in list(iter_coordinates(drawing.features[0].geometry))
    assert fault.levels == ("0",)


def test_a_numbered_id_is_no_other_id() -> None:
    features = [room(id="a"), room(id="a#2"), room(id="a", properties={"indoor": "room"})]
    drawing = read_geojson({"a": collection(features)})
    assert [feature.id for feature in drawing.features] == ["a", "a#2", "a#2#2"]


@pytest.mark.parametrize(
    ("properties", "name"),
    [
        ({"name-de": "Halle", "name-en": "Hall"}, "Halle"),
        ({"Title": "Hall"}, "Hall"),
        ({"name": {"en": "Hall"}}, "Hall"),
        ({"name": "Hall", "name:de": "Halle"}, "Hall"),
        ({"name": "null", "label": "Hall"}, "Hall"),
        ({"nickname": "Hall"}, None),
    ],
)
def test_other_properties_have_the_name(properties: dict[str, Any], name: str | None) -> None:
    feature = square(indoor="room", level=0, **properties)
    (found,) = read_geojson({"a": collection([feature])}).features
    assert found.tags.get("name") == name


def test_a_file_of_another_kind_is_left_out_and_named() -> None:
    drawing = read_geojson({"a.json": collection([room()]), "graph.json": b'{"nodes": []}'})
    assert [str(fault) for fault in drawing.faults] == [
        "graph.json: type is None; expected a GeoJSON FeatureCollection"
    ]


@pytest.mark.parametrize(
    ("properties", "level"),
    [
        ({"level_name": "2"}, "2"),
        ({"levels": [2]}, "2"),
        ({"level": "", "level_name": "2"}, "2"),
        ({"level_name": "Attic", "floor": "2"}, "2"),
        ({"building": "yes", "levels": "5"}, "0"),
    ],
)
def test_other_properties_have_the_level(properties: dict[str, Any], level: str) -> None:
    (found,) = read_geojson({"a": collection([square(indoor="room", **properties)])}).features
    assert found.levels == (level,)


def test_levels_of_relations_are_read() -> None:
    feature = square(
        tags={"buildingpart": "room"},
        relations=[{"rel": 1, "role": "buildingpart", "reltags": {"type": "level", "level": "2"}}],
    )
    (found,) = read_geojson({"a": collection([feature])}).features
    assert (found.levels, found.tags["indoor"]) == (("2",), "room")


def test_the_name_of_a_file_says_the_level_that_no_feature_says() -> None:
    files = {
        "E_-1.geojson": collection([square(indoor="room")]),
        "E_0.geojson": collection([square(indoor="room"), square(0.001, building="yes")]),
    }
    drawing = read_geojson(files)
    assert [level.id for level in drawing.levels] == ["-1", "0"]
    assert "level -1 taken from the name of E_-1.geojson: 1 (E_-1.geojson features[0])" in map(
        str, drawing.notes
    )


def test_the_name_of_a_file_says_what_features_are_that_have_no_tags() -> None:
    files = {
        "1F/rooms.geojson": collection([square(fid=1)]),
        "1F/walkable.geojson": collection([square(0.001, fid=1)]),
    }
    drawing = read_geojson(files)
    assert [(f.tags["indoor"], f.levels) for f in drawing.features] == [
        ("room", ("1",)),
        ("corridor", ("1",)),
    ]


def test_another_reference_system_is_an_error() -> None:
    crs = {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::2154"}}
    document = {"type": "FeatureCollection", "crs": crs, "features": [room()]}
    with pytest.raises(InvalidPlanError, match="coordinates are in urn:ogc:def:crs:EPSG::2154"):
        read_geojson({"a": json.dumps(document).encode()})
