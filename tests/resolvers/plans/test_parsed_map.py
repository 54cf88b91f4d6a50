"""A plan without a drawing is drawn."""

import dataclasses
import json
from typing import Any

import pytest

from parsing import plans
from parsing.drawing import AreaGeometry, Feature, Geometry, LinesGeometry, PointGeometry
from parsing.errors import DocumentRejectedError
from parsing.limits import DEFAULT_LIMITS
from parsing.svg.render import to_svg
from parsing.svg.unit_map import parse_unit_map
from resolvers.plans import parsed_map
from resolvers.plans.parsed_map import (
    CORRIDOR,
    DEFAULT_ROOM_COLOUR,
    DOOR,
    DOOR_COLOUR,
    OUTDOORS,
    PATH,
    STOREY,
    WALL,
    WALL_COLOUR,
    Appearance,
    DoorGaps,
    PaintLayer,
    build_parsed_map,
    choose_appearance,
)
from resolvers.plans.records import build_directory, build_location_records
from resolvers.plans.translation import TranslatedPlan, translate_plan
from samples.venue import make_venue
from tests.parsing.geography import OsmPlanBuilder, box


def translate(files: dict[str, bytes]) -> TranslatedPlan:
    return translate_plan(plans.read_plan(files), "m")


def parsed(translated: TranslatedPlan) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(build_parsed_map(translated))
    return result


def levels_of(unit_map: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for each in unit_map["elements"] if each["type"] == "Level"]


def layer(level: dict[str, Any], kind: str, number: int = 0) -> list[dict[str, Any]]:
    found = [each["elements"] for each in level["elements"] if each["type"] == kind]
    elements: list[dict[str, Any]] = found[number]
    return elements


def hall() -> OsmPlanBuilder:
    """A corridor with a shop beside it, and a door between them."""
    builder = OsmPlanBuilder()
    builder.add_way(box(0, 0, 30, 5), indoor="corridor", level="0")
    builder.add_way(box(0, 5, 10, 9), indoor="room", shop="books", level="0", name="Books")
    builder.add_node((5, 5), **{"door": "yes", "level": "0", "door:width": "2"})
    return builder


def test_a_level_has_its_floor_then_units_then_walls_and_doors_then_hit_areas() -> None:
    [level] = levels_of(parsed(translate({"plan.osm": hall().to_osm()})))
    assert (level["id"], level["tags"]) == ("m-level-0", {"floor": "m-level-0"})
    kinds = [each["type"] for each in level["elements"]]
    assert kinds == ["Layer", "UnitLayer", "Layer", "HitAreaLayer"]
    [corridor] = layer(level, "Layer")
    assert corridor["type"] == "Polygon"
    [unit] = layer(level, "UnitLayer")
    assert unit["id"] == "m-way-2"
    [hit_area] = layer(level, "HitAreaLayer")
    assert hit_area["id"] == "hitm-way-2"
    assert hit_area["target"] == {"id": "m-way-2", "type": "Unit"}
    assert hit_area["shape"]["points"] == unit["shape"]["points"]
    assert hit_area["shape"]["fill"] == "none"
    walls = layer(level, "Layer", 1)
    assert [each["stroke"] for each in walls] == [WALL_COLOUR, DOOR_COLOUR]


def numbers(points: str) -> list[tuple[float, float]]:
    pairs = (pair.split(",") for pair in points.split())
    return [(float(x), float(y)) for x, y in pairs]


@pytest.mark.parametrize(
    "files", [make_venue(), {"plan.osm": hall().to_osm()}], ids=["imdf", "osm"]
)
def test_locations_are_in_the_shapes_of_their_units(files: dict[str, bytes]) -> None:
    translated = translate(files)
    unit_map = parsed(translated)
    shapes = {
        each["id"]: numbers(each["shape"]["points"])
        for level in levels_of(unit_map)
        for each in layer(level, "UnitLayer")
    }
    directory = build_directory(translated, "a")
    assert shapes.keys() == {unit["id"] for unit in directory["units"]}
    for record in build_location_records(translated, "a"):
        assert 0 <= record["x"] <= unit_map["width"]
        assert 0 <= record["y"] <= unit_map["height"]
        for tag in record["tags"]:
            if tag["key"] == "svc:id":
                xs, ys = zip(*shapes[tag["value"]], strict=True)
                assert min(xs) < record["x"] < max(xs)
                assert min(ys) < record["y"] < max(ys)


def test_the_georeference_is_the_centre_at_a_pixel_a_foot() -> None:
    unit_map = parsed(translate({"plan.osm": hall().to_osm()}))
    georeference = unit_map["elements"][0]
    assert georeference["type"] == "Georeference"
    # the corner of the plan is at 56 degrees north and 10 east; it is 30 m wide and 9 m high
    assert georeference["latitude"] == pytest.approx(56 + 4.5 / 111_412, abs=2e-6)
    assert georeference["longitude"] == pytest.approx(10 + 15 / 111_412 / 0.5592, abs=2e-6)
    assert georeference["zoom"] == pytest.approx(18.13, abs=0.01)  # 0.3048 m at this latitude


def test_a_room_with_a_courtyard_is_a_path_with_a_hole() -> None:
    svg = b"""<svg xmlns="http://www.w3.org/2000/svg"><g data-type="Level" id="1">
        <path data-tags="indoor=corridor" fill-rule="evenodd"
            d="M0,0 H90 V90 H0 Z M30,30 H60 V60 H30 Z"/></g></svg>"""
    drawing = plans.read_plan({"map.svg": svg}, feet_per_unit=2)
    unit_map = parsed(translate_plan(drawing, "m"))
    assert (unit_map["width"], unit_map["height"]) == (90, 90)  # in the units of the drawing
    assert [each["type"] for each in unit_map["elements"]] == ["Level"]  # no degrees
    [courtyard] = layer(unit_map["elements"][0], "Layer")
    assert courtyard["d"] == "M0,0 90,0 90,90 0,90Z M30,30 60,30 60,60 30,60Z"
    assert (courtyard["type"], courtyard["fill-rule"]) == ("Path", "evenodd")


def test_a_plan_is_drawn_as_its_svg_is_parsed() -> None:
    unit_map = parsed(translate(make_venue()))
    assert parse_unit_map(to_svg(unit_map).encode()).to_dict() == unit_map


def test_a_drawing_that_would_be_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    small = dataclasses.replace(DEFAULT_LIMITS, output_bytes=500)
    monkeypatch.setattr(parsed_map, "DEFAULT_LIMITS", small)
    with pytest.raises(DocumentRejectedError, match="over 500 bytes"):
        build_parsed_map(translate(make_venue()))


AREA = AreaGeometry((((0, 0), (9, 0), (9, 9)),))
LINE = LinesGeometry((((0, 0), (9, 0)),))
POINT = PointGeometry((0, 0))


def look_of(geometry: Geometry, **tags: str) -> Appearance | None:
    return choose_appearance(Feature("1", ("0",), geometry, tags))


@pytest.mark.parametrize(
    ("geometry", "tags", "look"),
    [
        (AREA, {"indoor": "corridor"}, CORRIDOR),
        (AREA, {"indoor": "level"}, STOREY),
        (AREA, {"indoor": "area", "outdoor": "yes"}, OUTDOORS),
        (AREA, {"indoor": "room"}, Appearance(PaintLayer.ROOM, DEFAULT_ROOM_COLOUR)),
        (LINE, {"indoor": "wall"}, WALL),
        (LINE, {"highway": "footway"}, PATH),
        (POINT, {"door": "yes"}, DOOR),
        (AREA, {"door": "yes"}, DOOR),
        (POINT, {"amenity": "bench"}, None),
        (AREA, {"landuse": "grass"}, None),
    ],
)
def test_a_look_follows_from_the_tags(
    geometry: Geometry, tags: dict[str, str], look: Appearance | None
) -> None:
    assert look_of(geometry, **tags) == look


@pytest.mark.parametrize(
    "tags", [{"amenity": "toilets"}, {"shop": "books"}, {"amenity": "cafe"}, {"office": "it"}]
)
def test_what_a_room_is_shows_in_its_colour(tags: dict[str, str]) -> None:
    look = look_of(AREA, indoor="room", **tags)
    assert look is not None
    assert look.colour != DEFAULT_ROOM_COLOUR


def test_stairs_are_on_the_floor_and_doors_on_the_walls() -> None:
    looks = [
        look_of(AREA, indoor="level"),
        look_of(AREA, indoor="corridor"),
        look_of(AREA, indoor="room"),
        look_of(LINE, highway="steps"),
        look_of(LINE, indoor="wall"),
        look_of(POINT, door="yes"),
    ]
    layers = [look.layer for look in looks if look is not None]
    assert len(layers) == len(looks)
    assert layers == sorted(layers)


SQUARE = ((0.0, 0.0), (10.0, 0.0), (10.0, 10.0), (0.0, 10.0), (0.0, 0.0))
NEIGHBOUR = ((10.0, 10.0), (10.0, 0.0), (20.0, 0.0), (20.0, 10.0), (10.0, 10.0))


def test_a_door_opens_the_wall_that_two_rooms_share_once() -> None:
    gaps = DoorGaps([SQUARE, NEIGHBOUR], 1)
    assert gaps.find((10.2, 5), 4) == [((10.0, 3.0), (10.0, 7.0))]


def test_a_door_at_a_corner_of_the_outline_opens_both_sides() -> None:
    with_corner = ((0.0, 0.0), (5.0, 0.0), (10.0, 0.0), (10.0, 10.0), (0.0, 0.0))
    found = DoorGaps([with_corner], 1).find((5, 0), 4)
    assert sorted(found) == [((3.0, 0.0), (5.0, 0.0)), ((5.0, 0.0), (7.0, 0.0))]


def test_a_gap_ends_where_its_wall_does() -> None:
    assert DoorGaps([((0, 0), (2, 0))], 1).find((1.5, 0), 3) == [((0.0, 0.0), (2.0, 0.0))]


def test_a_door_far_from_all_walls_opens_none() -> None:
    assert DoorGaps([SQUARE], 1).find((5, 5), 3) == []
    assert DoorGaps([SQUARE], 10).find((5, 5), 3) != []  # 0.5 ft away, at 10 units a foot
    assert DoorGaps([], 1).find((5, 5), 3) == []
