"""OSM JSON is what Overpass answers with `[out:json]`."""

import json
import re
from typing import Any

import pytest

from parsing.errors import InvalidPlanError
from parsing.plans import read_plan
from tests.parsing.geography import OsmPlanBuilder, box, lon_lat, read_osm

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
    """What Overpass answers."""
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
