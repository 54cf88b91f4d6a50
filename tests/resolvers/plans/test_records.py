"""A plan adds records, locations and a parsed map to the catalog."""

import dataclasses
import json
from typing import Any

import msgspec
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
from resolvers.plans.records import (
    build_directory,
    build_location_records,
    match_existing_locations,
)
from resolvers.plans.translation import TranslatedPlan, translate_plan
from samples.venue import make_venue
from storage.catalog import Asset, Floor, Location, Map, Unit
from storage.records.kinds import Record
from tests.parsing.geography import OsmPlanBuilder, box, read_caserne
from tests.resolvers.small_plans import (
    candidate_named,
    existing,
    notes_of,
    rect,
    translate_osm,
    translate_svg,
)


def translate_levels(*levels: str) -> TranslatedPlan:
    builder = OsmPlanBuilder()
    for number, level in enumerate(levels):
        builder.add_way(box(0, 0, 9, 9), indoor="room", level=level, name=f"Room {number}")
    return translate_plan(plans.read_plan({"plan.osm": builder.to_osm()}), "mall")


def test_each_level_becomes_a_floor_and_each_room_a_unit() -> None:
    directory = build_directory(translate_levels("-1", "0"), "centre")
    assert [(floor["id"], floor["name"], floor["sort"]) for floor in directory["floors"]] == [
        ("mall-level--1", "Level -1", -1),
        ("mall-level-0", "Level 0", 0),
    ]
    assert directory["units"][1] == {
        "id": "mall-way-2",
        "asset_id": "centre",
        "floor_id": "mall-level-0",
        "name": "Room 1",
        "map_ids": ["mall"],
    }
    assert directory["assets"] == [{"id": "centre", "name": "mall"}]


def test_half_levels_are_sorted_by_their_order() -> None:
    floors = build_directory(translate_levels("0", "0.5", "1"), "a")["floors"]
    assert [floor["sort"] for floor in floors] == [0, 1, 2]


def test_a_location_names_its_unit_its_floors_and_its_feature() -> None:
    (location,) = build_location_records(translate_levels("0;1"), "a")
    assert location["floors"] == [{"id": "mall-level-0"}, {"id": "mall-level-1"}]
    assert {tag["key"]: tag["value"] for tag in location["tags"]} == {
        "svc:id": "mall-way-1", "svc:type": "unit", "indoor": "room", "osm:id": "way/1",
    }  # fmt: skip


RECORDS: dict[str, type[Record]] = {
    "assets": Asset,
    "floors": Floor,
    "maps": Map,
    "units": Unit,
    "locations": Location,
}


def files_of(source: str) -> dict[str, bytes]:
    return make_venue() if source == "imdf" else {"caserne.osm": read_caserne("osm")}


@pytest.mark.parametrize("source", ["imdf", "osm"])
def test_every_member_is_one_that_a_bundle_may_have(source: str) -> None:
    translated = translate_plan(plans.read_plan(files_of(source)), "map")
    members: dict[str, list[dict[str, Any]]] = {
        **build_directory(translated, "asset"),
        "locations": build_location_records(translated, "asset"),
    }
    assert members.keys() == RECORDS.keys()
    for kind, made in members.items():
        assert made
        records = [msgspec.convert(member, RECORDS[kind]) for member in made]
        assert len({record.id for record in records}) == len(records)  # type: ignore[attr-defined]
    floors = {floor["id"] for floor in members["floors"]}
    units = {unit["id"] for unit in members["units"]}
    assert {unit["floor_id"] for unit in members["units"]} <= floors
    named = {
        tag["value"]
        for location in members["locations"]
        for tag in location["tags"]
        if tag["key"] == "svc:id"
    }
    assert named == units


UNIT = '<g data-type="UnitLayer"><rect id="u1" x="0" y="0" width="20" height="20"/></g>'
LOUNGE = rect(20, 0, 60, 40, "indoor=area;amenity=lounge;name=Lounge")
BAR = rect(30, 10, 10, 10, "indoor=area;amenity=bar;name=Bar")


def plan() -> TranslatedPlan:
    return translate_svg(UNIT + LOUNGE + BAR, floors={"f1": 1})


def adopt(*locations: Location) -> tuple[set[str], set[str]]:
    """Return the ids of the plan's locations, and the names of the candidates that are left."""
    adopted = match_existing_locations(plan(), locations)
    left = {candidate.unit_id or candidate.name for candidate in adopted.candidates}
    return {location.id for location in adopted.plan.locations}, left


def test_without_existing_locations_all_candidates_are_new() -> None:
    ids, left = adopt()
    assert len(ids) == 3
    assert left == {"u1", "Lounge", "Bar"}


def test_a_location_of_a_unit_replaces_the_candidate_of_the_unit_wherever_it_is() -> None:
    ids, left = adopt(existing("old", x=70, y=30, unit_id="u1"))
    assert "old" in ids and len(ids) == 3
    assert left == {"Lounge", "Bar"}


def test_a_location_in_two_areas_replaces_the_smaller_one() -> None:
    ids, left = adopt(existing("old", x=35, y=15))
    assert "old" in ids and len(ids) == 3
    assert left == {"u1", "Lounge"}


def test_a_second_location_there_replaces_the_next_larger_one() -> None:
    _, left = adopt(existing("one", x=35, y=15), existing("two", x=36, y=16))
    assert left == {"u1"}


def test_a_location_that_matches_nothing_is_added() -> None:
    ids, left = adopt(existing("old", x=90, y=90))
    assert "old" in ids and len(ids) == 4
    assert len(left) == 3


def test_a_location_of_another_plan_is_ignored() -> None:
    ids, left = adopt(existing("old", x=35, y=15, floor_id="elsewhere"))
    assert "old" not in ids
    assert len(left) == 3


def test_positions_are_in_feet_and_the_space_is_that_of_the_candidate() -> None:
    before = {location.id: location for location in plan().plan.locations}
    adopted = match_existing_locations(plan(), [existing("old", x=35, y=15)])
    (old,) = (location for location in adopted.plan.locations if location.id == "old")
    assert (old.x, old.y) == (17.5, 7.5)  # half a foot per unit
    assert old.space_id in {location.space_id for location in before.values()}


def unit(id: str, x: float) -> str:
    return f'<g data-type="UnitLayer"><rect id="{id}" x="{x}" y="0" width="20" height="20"/></g>'


def test_a_unit_that_is_drawn_twice_has_one_location_and_a_note() -> None:
    translated = translate_svg(unit("u1", 0), unit("u1", 0))
    assert [location.unit_id for location in translated.candidates] == ["u1"]
    assert notes_of(translated) == ["unit drawn more than once, located at its first shape: 1 (u1)"]


def test_a_location_on_several_levels_stands_on_the_one_nearest_to_the_ground() -> None:
    builder = OsmPlanBuilder()
    builder.add_way(box(0, 0, 9, 9), indoor="room", level="-2;1;2", amenity="cinema", name="Cinema")
    builder.add_way(box(9, 0, 20, 9), indoor="corridor", level="-2;0;1;2")
    assert candidate_named(translate_osm(builder), "Cinema").level.endswith("-level-1")


def test_a_point_of_interest_far_from_the_plan_is_noted_and_left_out() -> None:
    builder = OsmPlanBuilder()
    builder.add_way(box(0, 0, 9, 9), indoor="room", level="0", name="Shop")
    builder.add_node((5, 12), amenity="bench", level="0", name="Near")
    builder.add_node((5, 90), amenity="bench", level="0", name="Far")
    translated = translate_osm(builder)
    assert {location.name for location in translated.candidates} == {"Shop", "Near"}
    assert any("point of interest outside the plan: 1" in note for note in notes_of(translated))


def test_a_network_of_paths_leads_to_its_named_doors_and_points() -> None:
    builder = OsmPlanBuilder()
    builder.add_way([(0, 0), (20, 0)], level="0")
    builder.add_node((20, 0), indoor="door", level="0", name="4116")
    builder.add_node((0, 0), level="0", name="Entrance")
    builder.add_node((10, 0), indoor="door", level="0")
    translated = translate_osm(builder)
    assert {location.name for location in translated.candidates} == {"4116", "Entrance"}
    assert [space.kind.value for space in translated.plan.spaces] == ["area"]


def test_a_plan_with_rooms_leads_to_no_named_doors() -> None:
    builder = OsmPlanBuilder()
    builder.add_way(box(0, 0, 9, 9), indoor="room", level="0", name="Shop")
    builder.add_node((9, 5), door="yes", level="0", name="Door A")
    assert [location.name for location in translate_osm(builder).candidates] == ["Shop"]


def test_the_platforms_of_a_station_are_locations() -> None:
    builder = OsmPlanBuilder()
    builder.add_way(box(0, 0, 90, 9), railway="platform", level="-1", ref="7")
    (platform,) = translate_osm(builder).candidates
    assert (platform.name, platform.level) == ("7", "m-level--1")


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
