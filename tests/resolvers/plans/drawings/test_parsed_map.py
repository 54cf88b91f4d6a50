"""Parsed maps of plans: what is drawn of OpenStreetMap and IMDF, in the units of the locations."""

import dataclasses
import json
from typing import Any

import pytest

from parsing import plans
from parsing.errors import DocumentRejectedError
from parsing.limits import DEFAULT_LIMITS
from parsing.svg.render import to_svg
from parsing.svg.unit_map import parse_unit_map
from resolvers.plans.drawings import parsed_map
from resolvers.plans.drawings.looks import DOOR_COLOUR, WALL_COLOUR
from resolvers.plans.drawings.parsed_map import build_parsed_map
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
