"""What is wrong with a file of OpenStreetMap is named with its place, and the rest is read."""

import pytest

from parsing.drawing import AreaGeometry, LinesGeometry, NoteCollector, iter_coordinates
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
from tests.parsing.geography import OsmPlanBuilder, box, features_of, read_osm


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
