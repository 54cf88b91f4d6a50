"""Extracts of OpenStreetMap are read; what is wrong in one is named with its place."""

import json
import re
from typing import Any

import pytest

from parsing.drawing import (
    AreaGeometry,
    LinesGeometry,
    NoteCollector,
    PointGeometry,
    iter_coordinates,
)
from parsing.errors import (
    DocumentRejectedError,
    InvalidMarkupError,
    InvalidPlanError,
    NotWellFormedError,
    ParsingError,
)
from parsing.limits import DocumentLimits
from parsing.osm.extracts import read_osm_xml
from parsing.plans import read_plan
from tests.parsing.geography import (
    OsmPlanBuilder,
    box,
    features_of,
    lon_lat,
    read_caserne,
    read_osm,
)


def test_ways_and_nodes_become_features_in_feet_from_the_north_west_corner() -> None:
    builder = OsmPlanBuilder()
    room = builder.add_way(box(0, 0, 10, 20), indoor="room", level="0", name="Hall")
    door = builder.add_node((10, 5), door="yes", level="0")
    drawing = read_osm(builder.to_osm())
    found = features_of(drawing)
    assert isinstance(found[room].geometry, AreaGeometry)
    on_wall = found[door].geometry
    assert isinstance(on_wall, PointGeometry)
    assert drawing.bounds[:2] == (0, 0)
    assert drawing.bounds[2:] == pytest.approx((32.8, 65.6), rel=0.01)
    assert on_wall.position == pytest.approx((32.8, 49.2), rel=0.01)
    assert found[room].tags["name"] == "Hall"
    assert (drawing.feet_per_unit, drawing.id_key) == (1.0, "osm:id")


def test_levels_come_from_level_and_repeat_on() -> None:
    builder = OsmPlanBuilder()
    room = builder.add_way(box(0, 0, 5, 5), indoor="room", level="0", repeat_on="2-3")
    lift = builder.add_node((2, 2), highway="elevator", level="-1;0")
    drawing = read_osm(builder.to_osm())
    assert [(level.id, level.ordinal) for level in drawing.levels] == [
        ("-1", -1), ("0", 0), ("2", 2), ("3", 3),
    ]  # fmt: skip
    assert features_of(drawing)[room].levels == ("0", "2", "3")
    assert features_of(drawing)[lift].levels == ("-1", "0")


def test_levels_that_are_written_in_another_way_are_read_and_noted() -> None:
    builder = OsmPlanBuilder()
    half = builder.add_way(box(0, 0, 5, 5), indoor="room", level="0,5")
    stairs = builder.add_way([(0, 0), (5, 5)], highway="steps", level="from 0 to 2")
    lift = builder.add_node((2, 2), highway="elevator", level="0; 2")
    drawing = read_osm(builder.to_osm())
    found = features_of(drawing)
    assert [found[name].levels for name in (half, stairs, lift)] == [
        ("0.5",), ("0", "0.5", "1", "2"), ("0", "2"),
    ]  # fmt: skip
    assert sorted(map(str, drawing.notes)) == [
        f"level=0,5 read as 0.5: 1 ({half})",
        f"level=from 0 to 2 read as 0-2: 1 ({stairs})",
    ]


def test_min_and_max_level_stand_in_for_a_missing_level() -> None:
    builder = OsmPlanBuilder()
    shaft = builder.add_way(box(0, 0, 5, 5), indoor="room", min_level="0", max_level="2")
    assert features_of(read_osm(builder.to_osm()))[shaft].levels == ("0", "1", "2")


def test_a_range_skips_the_levels_that_a_building_does_not_have() -> None:
    builder = OsmPlanBuilder()
    builder.add_way(box(-1, -1, 6, 6), building="yes", non_existent_levels="13")
    shaft = builder.add_way(box(0, 0, 5, 5), indoor="room", level="12-14")
    assert features_of(read_osm(builder.to_osm()))[shaft].levels == ("12", "14")


def test_a_room_without_level_is_taken_to_be_on_level_0_and_noted() -> None:
    builder = OsmPlanBuilder()
    room = builder.add_way(box(0, 0, 5, 5), indoor="room")
    drawing = read_osm(builder.to_osm())
    assert features_of(drawing)[room].levels == ("0",)
    assert [str(note) for note in drawing.notes] == [
        f"no level, assumed to be on level 0: 1 ({room})"
    ]


def test_a_multipolygon_is_joined_from_its_ways_with_its_holes() -> None:
    builder = OsmPlanBuilder()
    builder.add_way([(0, 0), (10, 0), (10, 10)])
    builder.add_way([(0, 0), (0, 10), (10, 10)])
    builder.add_way(box(4, 4, 6, 6))
    relation = (
        "<relation id='7'><member type='way' ref='1' role='outer'/>"
        "<member type='way' ref='2' role='outer'/><member type='way' ref='3' role='inner'/>"
        "<member type='node' ref='1' role='label'/>"
        "<tag k='type' v='multipolygon'/><tag k='indoor' v='corridor'/><tag k='level' v='0'/>"
        "</relation>"
    )
    (corridor,) = read_osm(builder.to_osm(relation)).features
    assert corridor.id == "relation/7"
    assert isinstance(corridor.geometry, AreaGeometry)
    assert sorted(len(ring) for ring in corridor.geometry.rings) == [4, 4]


def test_outdoor_features_are_counted_by_main_tag() -> None:
    builder = OsmPlanBuilder()
    builder.add_way(box(0, 0, 5, 5), indoor="room", level="0")
    builder.add_way(box(-9, -9, 50, 50), building="yes")
    builder.add_way([(60, 60), (70, 70)], highway="residential")
    builder.add_node((80, 80), amenity="bench")
    builder.add_node((81, 80), ele="12")
    relation = "<relation id='7'><tag k='type' v='route'/></relation>"
    drawing = read_osm(builder.to_osm(relation))
    assert {note.message: note.count for note in drawing.notes} == {
        "not indoors: amenity": 1,
        "not indoors: other tags": 1,
        "not indoors: building": 1,
        "not indoors: highway": 1,
        "relation of type route": 1,
    }
    assert len(drawing.features) == 1
    assert drawing.bounds.east < 20  # what is left out does not move the origin


def test_a_site_around_the_rooms_is_read_with_its_buildings_onto_level_0() -> None:
    builder = OsmPlanBuilder()
    builder.add_way(box(0, 0, 5, 5), indoor="room", level="0")
    mall = builder.add_way(box(-9, -9, 50, 50), shop="mall")
    kiosk = builder.add_way(box(20, 20, 22, 22), building="yes")
    builder.add_way(box(200, 200, 202, 202), building="yes")
    drawing = read_osm(builder.to_osm())
    found = features_of(drawing)
    assert (found[mall].levels, found[kiosk].levels) == (("0",), ("0",))
    assert [str(note) for note in drawing.notes] == ["not indoors: building: 1"]


def test_a_site_is_not_read_where_no_room_is_on_the_ground() -> None:
    builder = OsmPlanBuilder()
    builder.add_way(box(0, 0, 5, 5), indoor="room", level="1")
    builder.add_way(box(-9, -9, 50, 50), shop="mall")
    assert [level.id for level in read_osm(builder.to_osm()).levels] == ["1"]


def test_a_wall_is_a_line_even_when_closed_and_an_open_room_is_closed() -> None:
    builder = OsmPlanBuilder()
    wall = builder.add_way(box(0, 0, 5, 5), indoor="wall", level="0")
    room = builder.add_way([(0, 0), (5, 0), (5, 5)], indoor="room", level="0")
    line = builder.add_way([(0, 0), (5, 0)], indoor="room", level="0")
    drawing = read_osm(builder.to_osm())
    found = features_of(drawing)
    assert isinstance(found[wall].geometry, LinesGeometry)
    assert isinstance(found[room].geometry, AreaGeometry)
    assert isinstance(found[line].geometry, LinesGeometry)
    assert [str(note) for note in drawing.notes] == [
        f"outline not closed, closed by a straight line: 1 ({room})",
        f"indoor=room with an outline of two points: 1 ({line})",
    ]


def test_deleted_elements_of_an_editor_are_not_there() -> None:
    builder = OsmPlanBuilder()
    builder.add_way(box(0, 0, 5, 5), indoor="room", level="0")
    deleted = "<way id='9' action='delete'><tag k='indoor' v='room'/></way>"
    assert len(read_osm(builder.to_osm(deleted)).features) == 1


def test_members_of_a_level_relation_are_on_its_level() -> None:
    builder = OsmPlanBuilder()
    room = builder.add_way(box(0, 0, 5, 5), buildingpart="room")
    other = builder.add_way(box(5, 0, 9, 5), buildingpart="room", level="3")
    relation = (
        "<relation id='7'><member type='way' ref='1' role='buildingpart'/>"
        "<member type='way' ref='2' role='buildingpart'/>"
        "<tag k='type' v='level'/><tag k='level' v='2'/></relation>"
    )
    found = features_of(read_osm(builder.to_osm(relation)))
    assert (found[room].levels, found[other].levels) == (("2",), ("3",))
    assert found[room].tags["indoor"] == "room"


def test_files_of_one_building_make_one_plan() -> None:
    ground, upper = OsmPlanBuilder(), OsmPlanBuilder()
    ground.add_way(box(0, 0, 5, 5), indoor="room", level="0")
    upper.add_way(box(0, 0, 5, 5), indoor="room", level="0")
    upper.add_way(box(5, 0, 9, 5), indoor="room", level="1")
    drawing = read_plan({"0.osm": ground.to_osm(), "1.osm": upper.to_osm()})
    assert [(f.id, f.levels) for f in drawing.features] == [("way/1", ("0",)), ("way/2", ("1",))]
    assert drawing.faults == ()
    (note,) = drawing.notes
    assert (note.message, note.count) == ("in several files, read once", 5)


def test_an_element_that_another_file_has_with_other_contents_is_named() -> None:
    ground, upper = OsmPlanBuilder(), OsmPlanBuilder()
    for builder, name in ((ground, "Hall"), (upper, "Lobby")):
        builder.add_way(box(0, 0, 5, 5), indoor="room", level="0", name=name)
    upper.add_node((5, 5), door="yes", level="0")
    drawing = read_plan({"0.osm": ground.to_osm(), "1.osm": upper.to_osm()})
    assert [feature.tags["name"] for feature in drawing.features] == ["Hall"]
    assert [(fault.part, fault.file) for fault in drawing.faults] == [
        ("node/3", "1.osm"),
        ("way/1", "1.osm"),
    ]
    assert drawing.faults[1].message == "way/1 has other contents than in 0.osm, which are read"


def test_new_elements_of_different_files_are_different() -> None:
    files = {}
    for level in (0, 1):
        builder = OsmPlanBuilder()
        builder.add_way(box(0, 0, 5, 5 + level), indoor="room", level=str(level))
        files[f"{level}.osm"] = re.sub(rb"(id|ref)='", rb"\1='-", builder.to_osm())
    drawing = read_plan(files, strict=True)
    assert [(feature.id, feature.levels) for feature in drawing.features] == [
        ("way/-1@0.osm", ("0",)),
        ("way/-1@1.osm", ("1",)),
    ]


def test_the_shopping_centre_reads_completely() -> None:
    drawing = read_osm(read_caserne("osm"))
    tags = [feature.tags for feature in drawing.features]
    assert [level.id for level in drawing.levels] == ["-1", "0", "1", "2"]
    assert sum(t.get("indoor") == "room" for t in tags) == 59
    assert sum(t.get("indoor") == "corridor" for t in tags) == 9
    assert sum("door" in t for t in tags) == 10
    assert {note.message for note in drawing.notes} == {
        "not indoors: other tags",
        "not indoors: amenity",
        "not indoors: building",
        "not indoors: building:part",
        "indoor=room with an outline of two points",
        "no level, assumed to be on level 0",
    }


# OSM JSON is what Overpass answers with `[out:json]`.

RELATION = (
    "<relation id='1'><member type='way' ref='1' role='outer'/>"
    "<tag k='type' v='multipolygon'/><tag k='indoor' v='area'/><tag k='level' v='1'/></relation>"
)


def node(number: int, east: float, north: float, **tags: str) -> dict[str, Any]:
    longitude, latitude = lon_lat((east, north))
    return {"type": "node", "id": number, "lon": longitude, "lat": latitude, "tags": tags}


def way(number: int, nodes: list[int], **tags: str) -> dict[str, Any]:
    return {"type": "way", "id": number, "nodes": nodes, "tags": tags}


CORNERS = [node(1, 0, 0), node(2, 5, 0), node(3, 5, 5), node(4, 0, 5)]
ROOM = way(1, [1, 2, 3, 4, 1], indoor="room", level="0")
MULTIPOLYGON = {
    "type": "relation",
    "id": 1,
    "members": [{"type": "way", "ref": 1, "role": "outer"}],
    "tags": {"type": "multipolygon", "indoor": "area", "level": "1"},
}


def answer(*elements: Any) -> dict[str, bytes]:
    """Return what Overpass answers."""
    document = {"version": 0.6, "generator": "Overpass API 0.7", "elements": elements}
    return {"plan.json": json.dumps(document, indent=2).encode()}


def test_the_same_plan_in_json_and_xml_is_the_same_drawing() -> None:
    builder = OsmPlanBuilder()
    builder.add_way(box(0, 0, 5, 5), indoor="room", level="0")
    drawing = read_plan(answer(*CORNERS, ROOM, MULTIPOLYGON), strict=True)
    assert drawing == read_osm(builder.to_osm(RELATION))


def test_coordinates_of_ways_stand_in_for_nodes() -> None:
    """Overpass writes them with `out geom`."""
    points = [{"lon": corner["lon"], "lat": corner["lat"]} for corner in CORNERS]
    with_geometry = {**ROOM, "geometry": [*points, points[0]]}
    drawing = read_plan(answer(with_geometry), strict=True)
    assert drawing == read_plan(answer(*CORNERS, ROOM))


@pytest.mark.parametrize(
    ("element", "message"),
    [
        (3, "'3' is no element; expected one with type and id"),
        ({"type": "node"}, "node has no id"),
        (node(9, 1, 1) | {"lat": "north"}, "node/9 has lat='north'; expected degrees"),
    ],
)
def test_faulty_elements_are_left_out_and_named(element: Any, message: str) -> None:
    drawing = read_plan(answer(*CORNERS, ROOM, element))
    assert [feature.id for feature in drawing.features] == ["way/1"]
    (fault,) = drawing.faults
    assert re.match(message, fault.message)
    assert fault.file == "plan.json"


def test_a_document_without_elements_says_so() -> None:
    with pytest.raises(InvalidPlanError, match=r"^plan.json: elements is missing; expected a list"):
        read_plan({"plan.json": b'{"elements": 1}'}, "osm")


def test_an_unreadable_level_leaves_out_that_feature_with_its_id() -> None:
    builder = OsmPlanBuilder()
    builder.add_way(box(0, 0, 5, 5), indoor="room", level="0")
    lost = builder.add_way(box(5, 0, 9, 5), indoor="room", level="attic")
    drawing = read_osm(builder.to_osm())
    assert len(drawing.features) == 1
    (fault,) = drawing.faults
    assert fault.message == f"{lost} has level=attic; expected numbers such as 0, -1;0 or 0-3"
    assert (fault.cause, fault.part) == ("left out, unreadable level", lost)
    assert fault.position is not None


def test_a_file_that_was_cut_off_says_so() -> None:
    builder = OsmPlanBuilder()
    builder.add_way(box(0, 0, 5, 5), indoor="room", level="0")
    whole = builder.to_osm()
    for size in range(len(whole) // 2, len(whole) - 10, 50):
        with pytest.raises(NotWellFormedError, match=r"line .* may be cut off"):
            read_osm(whole[:size])


@pytest.mark.parametrize(
    ("xml", "error", "message"),
    [
        ("", NotWellFormedError, "empty"),
        ("<osm><way id='1'></osm>", NotWellFormedError, "line 1"),
        ("<gpx/>", InvalidMarkupError, "the root element is <gpx>"),
        ("<osm/>", InvalidPlanError, "no feature has both an indoor tag and a level"),
        (
            "<osm><node id='1' lon='east' lat='1'/></osm>",
            InvalidPlanError,
            "lon='east'; expected deg",
        ),
        ("<osm><node id='1' lon='nan' lat='1'/></osm>", InvalidPlanError, "longitude nan"),
        ("<osm><node id='1' lon='45' lat='105'/></osm>", InvalidPlanError, "changed places"),
    ],
)
def test_a_broken_file_is_an_error_with_its_position(
    xml: str, error: type[ParsingError], message: str
) -> None:
    with pytest.raises(error, match=message):
        read_osm(xml.encode(), strict=True)


def plan_with(*broken: str) -> bytes:
    """Return a file with a good room and some elements more."""
    builder = OsmPlanBuilder()
    builder.add_way(box(0, 0, 5, 5), indoor="room", level="0")
    builder.add_node((9, 9), ele="1")
    return builder.to_osm("\n".join(broken))


INDOOR = "<tag k='indoor' v='room'/><tag k='level' v='1'/>"


@pytest.mark.parametrize(
    ("broken", "cause", "message"),
    [
        ("<node lon='10' lat='56'/>", "left out, attribute missing", "node has no id"),
        ("<node id='7' lon='10'/>", "left out, invalid coordinate", "node/7 has no lat"),
        ("<way id='1'/>", "left out, duplicate id", "way/1 is there twice; ids are unique"),
        ("<way id='7'><nd/></way>", "left out, attribute missing", "an nd of way/7 has no ref"),
        (
            "<way id='7'><nd ref='1'/><tag k='name' v='a'/><tag k='name' v='b'/></way>",
            "left out, tag twice",
            "way/7 has the tag 'name' twice",
        ),
    ],
)
def test_a_faulty_element_is_left_out_and_named_with_its_line(
    broken: str, cause: str, message: str
) -> None:
    drawing = read_osm(plan_with(broken))
    assert [feature.id for feature in drawing.features] == ["way/1"]
    (fault,) = drawing.faults
    assert (fault.cause, fault.message, fault.file) == (cause, message, "plan.osm")
    assert broken in plan_with(broken).decode().splitlines()[fault.line - 1]


def test_the_same_tag_twice_is_read_once() -> None:
    door = "<node id='7' lon='10' lat='56'>" + "<tag k='door' v='yes'/>" * 2
    drawing = read_osm(plan_with(door + "<tag k='level' v='0'/></node>"))
    assert features_of(drawing)["node/7"].tags["door"] == "yes"
    assert drawing.faults == ()


@pytest.mark.parametrize(
    ("broken", "cause", "message"),
    [
        (
            "<way id='7'><nd ref='1'/><nd ref='2'/><nd ref='99'/><nd ref='1'/>" + INDOOR + "</way>",
            "left out, node missing",
            "way/7 refers to node/99, which the file does not have; download",
        ),
        (
            "<relation id='7'><member type='way' ref='1' role='outer'/>"
            "<member type='way' ref='99' role='inner'/><tag k='type' v='multipolygon'/>"
            + INDOOR
            + "</relation>",
            "left out, member missing",
            "relation/7 has way/99 as a member, which the file does not have; download",
        ),
        (
            "<way id='6'><nd ref='1'/><nd ref='2'/></way>"
            "<relation id='7'><member type='way' ref='6' role='outer'/>"
            "<tag k='type' v='multipolygon'/>" + INDOOR + "</relation>",
            "left out, ring not closed",
            "relation/7 is not closed: its outline ends at node/2",
        ),
    ],
)
def test_an_indoor_element_that_is_not_complete_is_left_out_with_its_place(
    broken: str, cause: str, message: str
) -> None:
    drawing = read_osm(plan_with(broken))
    assert [feature.id for feature in drawing.features] == ["way/1"]
    (fault,) = drawing.faults
    assert fault.message.startswith(message)
    assert (fault.cause, fault.levels) == (cause, ("1",))
    assert fault.position in list(iter_coordinates(drawing.features[0].geometry))


def test_a_node_that_is_left_out_is_not_said_to_be_missing() -> None:
    node = "<node id='99' lon='10' lat='156'/>"
    way = "<way id='7'><nd ref='1'/><nd ref='99'/><nd ref='1'/>" + INDOOR + "</way>"
    assert [fault.message for fault in read_osm(plan_with(node, way)).faults][1] == (
        "way/7 refers to node/99, which is left out"
    )


def test_of_a_wall_and_of_a_path_on_a_level_the_known_parts_are_read() -> None:
    nodes = "<nd ref='1'/><nd ref='2'/><nd ref='99'/><nd ref='3'/><nd ref='4'/><nd ref='98'/>"
    wall = f"<way id='7'>{nodes}<tag k='indoor' v='wall'/><tag k='level' v='0'/></way>"
    path = f"<way id='8'>{nodes}<tag k='highway' v='footway'/><tag k='level' v='0'/></way>"
    drawing = read_osm(plan_with(wall, path))
    for name in ("way/7", "way/8"):
        geometry = features_of(drawing)[name].geometry
        assert isinstance(geometry, LinesGeometry)
        assert [len(line) for line in geometry.lines] == [2, 2]
    assert {fault.cause for fault in drawing.faults} == {"read in part, node missing"}


def test_stairs_without_an_end_are_left_out() -> None:
    nodes = "<nd ref='1'/><nd ref='2'/><nd ref='99'/>"
    stairs = f"<way id='7'>{nodes}<tag k='highway' v='steps'/><tag k='level' v='0;1'/></way>"
    (fault,) = read_osm(plan_with(stairs)).faults
    assert (fault.cause, fault.part) == ("left out, node missing", "way/7")


@pytest.mark.parametrize(
    "tags",
    [
        "<tag k='highway' v='residential'/>",
        "<tag k='shop' v='mall'/>",
        "<tag k='railway' v='rail'/><tag k='level' v='0'/>",
    ],
)
def test_outdoors_a_missing_node_is_no_fault(tags: str) -> None:
    nodes = "<nd ref='1'/><nd ref='2'/><nd ref='99'/><nd ref='3'/><nd ref='1'/>"
    drawing = read_osm(plan_with(f"<way id='7'>{nodes}{tags}</way>"), strict=True)
    assert drawing.faults == ()
    assert not any(
        isinstance(feature.geometry, AreaGeometry)
        for feature in drawing.features
        if feature.id == "way/7"
    )


def test_a_feature_far_away_is_left_out_and_named() -> None:
    door = "<node id='99' lon='56' lat='10'><tag k='door' v='yes'/><tag k='level' v='0'/></node>"
    near = door.replace("99", "98").replace("56", "10.00001").replace("'10'", "'56.00001'")
    drawing = read_osm(plan_with(door, near))
    assert [(fault.cause, fault.part) for fault in drawing.faults] == [
        ("left out, too far away", "node/99")
    ]
    assert drawing.bounds.east < 100


def test_errors_of_several_files_are_all_named() -> None:
    with pytest.raises(NotWellFormedError, match=r"(?s)^0.osm: line 1.*\n1.osm: line 1"):
        read_plan({"0.osm": b"<osm><a></osm>", "1.osm": b"<osm><a></osm>"})


def test_documents_over_the_limits_are_rejected() -> None:
    many = b"<osm>" + b"<bounds/>" * 20 + b"</osm>"
    with pytest.raises(DocumentRejectedError, match="more than 10 elements"):
        read_osm_xml({"plan.osm": many}, NoteCollector(), DocumentLimits(elements=10))
    with pytest.raises(DocumentRejectedError, match="at most 10 are read"):
        read_osm_xml({"plan.osm": many}, NoteCollector(), DocumentLimits(source_bytes=10))
