"""What elements of OpenStreetMap and features of indoor GeoJSON become, and what their tags say."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsing.drawing import (
    AreaGeometry,
    Geometry,
    LinesGeometry,
    NoteCollector,
    PointGeometry,
    iter_coordinates,
)
from parsing.errors import DocumentRejectedError, InvalidPlanError, NotWellFormedError, ParsingError
from parsing.osm.extracts import OpenRingError, join_rings
from parsing.osm.indoor import build_drawing
from parsing.osm.tags import (
    GeoFeature,
    UnreadableLevelError,
    expand_spans,
    find_category,
    find_level_in_name,
    find_surroundings,
    format_level,
    is_building,
    is_site,
    normalize_levels,
    parse_feet,
    parse_levels,
    translate_tags,
)
from tests.parsing.geography import (
    OsmPlanBuilder,
    box,
    collection,
    read_caserne,
    read_geojson,
    read_osm,
)

RING = ((10.0, 56.0), (10.001, 56.0), (10.001, 56.001))


def room(feature_id: str, level: str, **tags: str) -> GeoFeature:
    return GeoFeature(feature_id, {"indoor": "room", "level": level, **tags}, AreaGeometry((RING,)))


def test_features_are_sorted_by_id_and_levels_by_ordinal() -> None:
    drawing = build_drawing([room("b", "1"), room("a", "-1")], NoteCollector(), "Hall")
    assert [feature.id for feature in drawing.features] == ["a", "b"]
    assert [level.ordinal for level in drawing.levels] == [-1, 1]
    assert (drawing.name, drawing.id_key) == ("Hall", "osm:id")


def test_a_level_takes_its_name_from_its_outline() -> None:
    outline = GeoFeature(
        "o", {"indoor": "level", "level": "0", "name": "Ground"}, AreaGeometry((RING,))
    )
    drawing = build_drawing([room("a", "0-1"), outline], NoteCollector())
    assert [level.name for level in drawing.levels] == ["Ground", ""]


def test_a_door_without_level_is_on_the_levels_of_its_wall() -> None:
    door = GeoFeature("door", {"door": "yes"}, PointGeometry(RING[0]))
    features = build_drawing([room("a", "0"), room("b", "2"), door], NoteCollector()).features
    assert {feature.id: feature.levels for feature in features}["door"] == ("0", "2")


def test_a_plan_without_indoor_features_is_an_error_with_the_notes() -> None:
    bench = GeoFeature("n", {"amenity": "bench"}, PointGeometry(RING[0]))
    with pytest.raises(InvalidPlanError, match="Found instead: not indoors: amenity: 1"):
        build_drawing([bench], NoteCollector())


def test_features_on_too_many_levels_are_refused() -> None:
    """A small file may say that each of its rooms is on 250 levels."""
    rooms = [room(f"r{n}", "0-249") for n in range(401)]
    with pytest.raises(DocumentRejectedError, match="more than 100,000 features, each counted on"):
        build_drawing(rooms, NoteCollector())
    assert len(build_drawing(rooms[:-1], NoteCollector()).features) == 400


def square(feature_id: str, west: float, size: float, **tags: str) -> GeoFeature:
    east = west + size
    ring = ((west, 0.0), (east, 0.0), (east, size), (west, size))
    return GeoFeature(feature_id, tags, AreaGeometry((ring,)))


def test_buildings_cover_the_ground() -> None:
    assert is_building({"building": "yes"}) and is_building({"building:part": "tower"})
    assert not is_building({"building": "roof"})  # people walk below
    assert not is_building({"building": "no"}) and not is_building({})


def test_sites_are_walkable_grounds() -> None:
    assert is_site({"shop": "mall"}) and is_site({"highway": "pedestrian"})
    assert not is_site({"shop": "mall", "building": "yes"})
    assert not is_site({"shop": "mall", "indoor": "room"})
    assert not is_site({"shop": "bakery"})


def test_sites_around_rooms_are_found_with_their_buildings() -> None:
    mall = square("mall", 0, 10, shop="mall")
    kiosk = square("kiosk", 5, 1, building="yes")
    elsewhere = square("elsewhere", 50, 1, building="yes")
    other_mall = square("other mall", 90, 10, shop="mall")
    room = square("room", 1, 1, indoor="room")
    assert find_surroundings([kiosk, elsewhere, mall, other_mall], [room]) == [mall, kiosk]
    assert find_surroundings([mall], []) == []


def test_pieces_are_joined_whichever_way_they_run() -> None:
    assert join_rings(["ab", "cb", "cda"]) == [("a", "b", "c", "d")]


def test_each_closed_piece_is_a_ring_of_its_own() -> None:
    assert join_rings(["abca", "xyzx"]) == [("a", "b", "c"), ("x", "y", "z")]


def test_many_pieces_at_one_node_take_linear_time() -> None:
    """In quadratic time, this would take a minute."""
    spokes = range(1, 50_000)
    pieces = [(n, 0) for n in spokes] + [(n, -n, 0) for n in spokes]
    assert sum(map(len, join_rings(pieces))) == 3 * len(spokes)


@pytest.mark.parametrize(("pieces", "end"), [(["ab", "bc"], "c"), (["aba"], "a")])
def test_open_pieces_are_an_error_with_their_end(pieces: list[str], end: str) -> None:
    with pytest.raises(OpenRingError) as error:
        join_rings(pieces)
    assert error.value.end == end


@given(st.integers(3, 30), st.sets(st.integers(0, 29)), st.randoms())
def test_a_ring_in_any_pieces_in_any_order_is_that_ring(
    size: int, cuts: set[int], random: object
) -> None:
    ends = sorted({cut % size for cut in cuts} | {0})
    pieces = [
        [n % size for n in range(start, stop + 1)]
        for start, stop in zip(ends, [*ends[1:], size], strict=True)
    ]
    pieces = [piece[::-1] if random.random() < 0.5 else piece for piece in pieces]  # type: ignore[attr-defined]
    random.shuffle(pieces)  # type: ignore[attr-defined]
    (ring,) = join_rings(pieces)
    steps = {frozenset(pair) for pair in zip(ring, [*ring[1:], ring[0]], strict=True)}
    assert steps == {frozenset({n, (n + 1) % size}) for n in range(size)}


def room_feature(**changes: Any) -> dict[str, Any]:
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
        room_feature(id=None, properties={"@id": "way/1", "indoor": "room", "level": "0"}),
        room_feature(id=1, properties={"type": "way", "indoor": "room", "level": "0"}),
        room_feature(
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
    (found,) = read_geojson({"a": collection([room_feature(properties=tags | numbers)])}).features
    assert found.levels == ("0", "1")
    assert found.tags == {
        **{"indoor": "room", "level": "0;1", "wheelchair": "no", "width": "0.9"},
        **{"ref": "1000001", "height": "12345678", "ele": "-0.5"},
    }


def test_utf_16_is_read_with_its_byte_order_mark() -> None:
    text = collection([room_feature()])
    drawing = read_geojson({"a": text.decode().encode("utf-16")}, strict=True)
    assert drawing == read_geojson({"a": text})


@pytest.mark.parametrize("kind", ["GeometryCollection", "MultiPoint"])
def test_an_indoor_feature_of_an_unknown_geometry_is_left_out(kind: str) -> None:
    other = room_feature(id="way/2", geometry={"type": kind})
    (fault,) = read_geojson({"a": collection([room_feature(), other])}).faults
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
        read_geojson({"plan.geojson": collection([room_feature(geometry=geometry)])}, strict=True)


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
        (
            collection([room_feature(properties=3)]),
            InvalidPlanError,
            "properties that are no object",
        ),
        (
            collection([room_feature(), room_feature()]),
            InvalidPlanError,
            "way/1 is there twice",
        ),
        (
            collection([room_feature(properties={"indoor": "room", "level": "P1"})]),
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


def square_ring(offset: float = 0.0, **properties: Any) -> dict[str, Any]:
    """Return a square feature without id."""
    west, east = 10 + offset, 10.001 + offset
    ring = [[west, 56], [east, 56], [east, 56.001], [west, 56.001], [west, 56]]
    geometry = shape("Polygon", [ring])
    return {"type": "Feature", "properties": properties, "geometry": geometry}


def test_another_feature_of_the_same_id_gets_a_number() -> None:
    upper = room_feature(properties={"indoor": "room", "level": "1", "name": "Loft"})
    drawing = read_geojson({"a": collection([room_feature(), upper, upper])})
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
    ring = room_feature()["geometry"]["coordinates"][0]
    named = {"indoor": "room", "level": "0", "name": "Bar"}
    features = [
        {"type": "Feature", "properties": named, "geometry": shape("Polygon", [ring[:-1]])},
        {"type": "Feature", "properties": {**named, "name": "Spa"}, "geometry": shape("Blob", 1)},
        {"type": "Feature", "properties": {}, "geometry": shape("Blob", 1)},
        {"type": "Feature", "properties": {**named, "name": "Loft"}, "geometry": None},
        room_feature(),
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
    ring = room_feature()["geometry"]["coordinates"][0]
    broken = room_feature(id="way/2", geometry=shape("Polygon", [ring[:-1]]))
    drawing = read_geojson({"a": collection([room_feature(), broken])})
    (fault,) = drawing.faults
    assert fault.position in list(iter_coordinates(drawing.features[0].geometry))
    assert fault.levels == ("0",)


def test_a_numbered_id_is_no_other_id() -> None:
    features = [
        room_feature(id="a"),
        room_feature(id="a#2"),
        room_feature(id="a", properties={"indoor": "room"}),
    ]
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
    feature = square_ring(indoor="room", level=0, **properties)
    (found,) = read_geojson({"a": collection([feature])}).features
    assert found.tags.get("name") == name


def test_a_file_of_another_kind_is_left_out_and_named() -> None:
    drawing = read_geojson({"a.json": collection([room_feature()]), "graph.json": b'{"nodes": []}'})
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
    (found,) = read_geojson({"a": collection([square_ring(indoor="room", **properties)])}).features
    assert found.levels == (level,)


def test_levels_of_relations_are_read() -> None:
    feature = square_ring(
        tags={"buildingpart": "room"},
        relations=[{"rel": 1, "role": "buildingpart", "reltags": {"type": "level", "level": "2"}}],
    )
    (found,) = read_geojson({"a": collection([feature])}).features
    assert (found.levels, found.tags["indoor"]) == (("2",), "room")


def test_the_name_of_a_file_says_the_level_that_no_feature_says() -> None:
    files = {
        "E_-1.geojson": collection([square_ring(indoor="room")]),
        "E_0.geojson": collection([square_ring(indoor="room"), square_ring(0.001, building="yes")]),
    }
    drawing = read_geojson(files)
    assert [level.id for level in drawing.levels] == ["-1", "0"]
    assert "level -1 taken from the name of E_-1.geojson: 1 (E_-1.geojson features[0])" in map(
        str, drawing.notes
    )


def test_the_name_of_a_file_says_what_features_are_that_have_no_tags() -> None:
    files = {
        "1F/rooms.geojson": collection([square_ring(fid=1)]),
        "1F/walkable.geojson": collection([square_ring(0.001, fid=1)]),
    }
    drawing = read_geojson(files)
    assert [(f.tags["indoor"], f.levels) for f in drawing.features] == [
        ("room", ("1",)),
        ("corridor", ("1",)),
    ]


def test_another_reference_system_is_an_error() -> None:
    crs = {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::2154"}}
    document = {"type": "FeatureCollection", "crs": crs, "features": [room_feature()]}
    with pytest.raises(InvalidPlanError, match="coordinates are in urn:ogc:def:crs:EPSG::2154"):
        read_geojson({"a": json.dumps(document).encode()})


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("0", (0,)),
        ("-1;0", (-1, 0)),
        ("0;2", (0, 2)),  # not level 1
        ("-2--1", (-2, -1)),
        ("-1-1", (-1, 0, 1)),
        ("0.5", (0.5,)),
        ("0.5-2", (0.5, 1, 2)),
        ("0-2.5", (0, 1, 2, 2.5)),
        (" 1 ; 2 ", (1, 2)),
        ("2-0", (0, 1, 2)),
    ],
)
def test_a_level_tag_names_levels_and_ranges(text: str, levels: tuple[float, ...]) -> None:
    assert expand_spans(parse_levels(text)) == levels


def test_a_range_takes_in_the_levels_known_between_its_ends() -> None:
    assert expand_spans(parse_levels("0-1"), known=(0.5, 7)) == (0, 0.5, 1)


def test_a_range_leaves_out_levels_that_do_not_exist_unless_they_are_named() -> None:
    assert expand_spans(parse_levels("12-14"), absent=(13,)) == (12, 14)
    assert expand_spans(parse_levels("13"), absent=(13,)) == (13,)


@pytest.mark.parametrize("text", ["", "ground", "1;", "1,5", "0-1-2", "1e9", "--1"])
def test_an_invalid_level_is_an_error_with_an_example(text: str) -> None:
    with pytest.raises(UnreadableLevelError, match="expected numbers such as 0"):
        parse_levels(text)


def test_a_range_over_too_many_storeys_is_an_error() -> None:
    with pytest.raises(UnreadableLevelError, match="more than 250 storeys"):
        parse_levels("0-250")
    assert len(expand_spans(parse_levels("0-249"))) == 250


@pytest.mark.parametrize(("level", "key"), [(0.0, "0"), (-0.0, "0"), (-1.0, "-1"), (0.5, "0.5")])
def test_a_level_is_written_as_its_tag_writes_it(level: float, key: str) -> None:
    assert format_level(level) == key


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        ("0;1", "0;1"),
        ("0;", "0"),
        ("0,5", "0.5"),
        ("0,-1", "0;-1"),  # la-defense.osm
        ("0,1,2", "0;1;2"),
        ("3~3", "3"),
        ("-1~4", "-1-4"),
        ("From -1 to -2", "-1--2"),  # la-defense.osm
        ("EG", "0"),
        ("G;1", "0;1"),
        ("1. OG, 2.OG", "1;2"),
        ("UG", "-1"),
        ("2.UG", "-2"),
        ("B1;L1", "-1;1"),
        ("P1", "P1"),  # a car park may be on any level
        ("attic", "attic"),
    ],
)
def test_other_ways_to_write_levels_are_normalized(text: str, normalized: str) -> None:
    assert normalize_levels(text) == normalized


def test_a_comma_before_a_known_level_separates_levels() -> None:
    assert normalize_levels("4,5", {"4", "5"}) == "4;5"


@pytest.mark.parametrize(
    ("path", "level"),
    [
        ("E_-1.geojson", "-1"),
        ("floor_0.json", "0"),
        ("Level 12.geojson", "12"),
        ("etage2.geojson", "2"),
        ("2F/rooms.geojson", "2"),
        ("tower/B1/rooms.geojson", "-1"),
        ("3rd_floor.geojson", "3"),
        ("house-floor-gf.geojson", "0"),
        ("plan.geojson", ""),
        ("2im_4326.geojson", ""),
    ],
)
def test_the_level_is_found_in_the_name_of_a_file_or_folder(path: str, level: str) -> None:
    assert find_level_in_name(path) == level


# Other tags and units of length mean what Simple Indoor Tagging says in its own.

AREA = AreaGeometry((((0, 0), (1, 0), (1, 1)),))
LINE = LinesGeometry((((0, 0), (1, 0)),))
POINT = PointGeometry((0, 0))


def translate(tags: dict[str, str], geometry: Geometry = AREA) -> tuple[dict[str, str], list[str]]:
    """Return the tags that are new, and the notes."""
    collector = NoteCollector()
    feature = translate_tags(GeoFeature("way/1", tags, geometry), collector)
    new = {key: value for key, value in feature.tags.items() if tags.get(key) != value}
    return new, [str(note) for note in collector.notes()]


def test_a_translation_is_noted() -> None:
    assert translate({"buildingpart": "room"}) == (
        {"indoor": "room"},
        ["buildingpart=room read as indoor=room: 1 (way/1)"],
    )


@pytest.mark.parametrize(
    ("tags", "new"),
    [
        # IndoorOSM
        ({"buildingpart": "hall", "indoor": "yes"}, {"indoor": "room"}),
        (
            {
                "buildingpart": "verticalpassage",
                "buildingpart:verticalpassage": "stairway",
                "buildingpart:verticalpassage:floorrange": "-1 to 2",
            },
            {"indoor": "room", "highway": "steps", "level": "-1 to 2"},
        ),
        (
            {
                "buildingpart": "verticalpassage",
                "buildingpart:verticalpassage:floorrange": "-1 to 2",
                "level": "1",
            },
            {"indoor": "room"},
        ),
        # values met in the wild
        ({"indoor": "Pillar"}, {"indoor": "column"}),
        ({"indoor": "arch"}, {"indoor": "door", "door": "no", "area": "yes"}),
        ({"indoor": "steps"}, {"indoor": "area", "highway": "steps"}),
        ({"indoor": "room", "type": "stairwell"}, {"highway": "steps"}),
        ({"railway": "platform", "level": "0"}, {"indoor": "area"}),
        ({"highway": "steps", "level": "0"}, {"indoor": "area"}),
        # GeoJSON of other tools
        ({"category": "walkway"}, {"indoor": "corridor"}),
        ({"category": "null", "feature_type": "unit"}, {"indoor": "room"}),
        ({"level": "1", "name": "Kitchen"}, {"indoor": "room"}),
        ({"level": "1", "room": "office"}, {"indoor": "room"}),
        ({"level": "1", "room": "restaurant", "amenity": "restaurant"}, {"indoor": "room"}),
        ({"type": "building_outline"}, {"indoor": "level"}),
        ({"level": "1", "name": "Outer Wall"}, {"indoor": "wall", "area": "yes"}),
    ],
)
def test_other_tags_mean_simple_indoor_tagging(tags: dict[str, str], new: dict[str, str]) -> None:
    assert translate(tags)[0] == new


@pytest.mark.parametrize(
    "tags",
    [
        {"indoor": "room", "level": "1", "name": "Hall"},
        {"indoor": "room", "type": "office"},
        {"indoor": "room", "type": "stairwell", "room": "storage"},
        {"building": "yes", "level": "1", "name": "Kiosk"},
        {"leisure": "pitch", "level": "1", "name": "Roof garden"},
        {"level": "1"},
        {"name": "Kitchen"},
        {"room": "no", "level": "1"},
        {"highway": "steps"},  # outdoors
        {"railway": "platform"},
        {"indoor": "room", "highway": "steps", "level": "1"},
    ],
)
def test_other_features_keep_their_tags(tags: dict[str, str]) -> None:
    assert translate(tags) == ({}, [])


def test_only_areas_are_rooms() -> None:
    assert translate({"level": "1", "name": "Kitchen"}, POINT) == ({}, [])
    assert translate({"buildingpart": "room"}, LINE) == ({}, [])
    assert translate({"category": "entrance"}, POINT)[0] == {"entrance": "yes"}


def test_a_passage_of_an_area_graph_is_a_door() -> None:
    assert translate({"osmAG:type": "passage", "level": "1"}, LINE)[0] == {"door": "yes"}


@pytest.mark.parametrize(
    ("category", "is_area", "tags"),
    [
        ("rooms", True, {"indoor": "room"}),
        ("doors", False, {"door": "yes"}),
        ("stairs", True, {"indoor": "room", "highway": "steps"}),
        ("", True, None),
        ("doors", True, {"indoor": "door", "door": "yes", "area": "yes"}),
        ("rooms", False, None),
    ],
)
def test_a_category_may_be_a_plural(
    category: str, is_area: bool, tags: dict[str, str] | None
) -> None:
    assert find_category(category, is_area) == tags


@pytest.mark.parametrize(
    ("text", "feet"),
    [
        ("0.9144", 3.0),
        ("91.44cm", 3.0),
        ("914.4 mm", 3.0),
        ("2'6\"", 2.5),
        ("2 ft 6 in", 2.5),
        ('36"', 3.0),
    ],
)
def test_a_width_is_in_metres_or_in_its_unit(text: str, feet: float) -> None:
    assert parse_feet(text) == pytest.approx(feet)


@pytest.mark.parametrize("text", ["", "wide", "-1", "1,5", "1e3", "0.9 miles"])
def test_invalid_lengths_are_none(text: str) -> None:
    assert parse_feet(text) is None
