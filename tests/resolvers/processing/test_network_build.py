"""A plan becomes a network, a report whose problems are named, and records to publish."""

import json
from typing import Any

import pytest

from parsing.errors import ParsingError
from resolvers.processing.build_task import BuildTask, BuiltNetwork, ProcessingRequest
from resolvers.processing.network_build import build_network
from resolvers.request.errors import InvalidInputError
from resolvers.routable_maps import Placement, deserialize_routable_map
from routing.values import ignore_progress
from samples.venue import make_venue
from tests.parsing.geography import OsmPlanBuilder, box, lon_lat
from tests.resolvers.small_plans import existing
from tests.resolvers.worlds import CATALOG, SVG

REQUEST = ProcessingRequest("tower", {"tower.svg": SVG.encode()}, "svg", feet_per_unit=1.0)
SORTS = {floor["id"]: floor["sort"] for floor in CATALOG["floors"]}
NAMES = {unit["id"]: unit["name"] for unit in CATALOG["units"]}
GYM = existing("gym", 90.0, 10.0, "lower-east", "lower")


def build(task: BuildTask) -> BuiltNetwork:
    return build_network(task, ignore_progress)


def task(**changes: Any) -> BuildTask:
    """Process the tower from its own drawing; it has no locations yet."""
    return BuildTask(REQUEST, "tower", SORTS, NAMES, [])._replace(**changes)


def by_unit(built: BuiltNetwork) -> dict[str, dict[str, Any]]:
    return {
        tag["value"]: location
        for location in built.locations
        for tag in location["tags"]
        if tag["key"] == "svc:id"
    }


@pytest.fixture(scope="module")
def built() -> BuiltNetwork:
    return build(task())


def test_every_unit_is_located_under_its_name_in_the_catalog(built: BuiltNetwork) -> None:
    locations = by_unit(built)
    assert {unit: each["name"] for unit, each in locations.items()} == NAMES
    for unit, location in locations.items():
        floor, side = unit.split("-")
        assert location["floors"] == [{"id": floor}]
        assert (location["x"] < 50) == (side == "west")


def test_a_unit_that_the_catalog_does_not_name_keeps_the_name_of_the_plan() -> None:
    locations = by_unit(build(task(unit_names={"lower-west": "Studio"})))
    assert locations["lower-west"]["name"] == "Studio"
    assert locations["upper-west"]["name"] == "upper-west"


def test_the_network_routes_between_all_locations_and_knows_where_they_are(
    built: BuiltNetwork,
) -> None:
    routable = deserialize_routable_map(built.network)
    ids = sorted(location["id"] for location in built.locations)
    assert sorted(routable.placements) == ids
    feet = routable.router.matrix(ids, ids).feet
    assert (feet >= 0).all()
    assert feet.max() < 250
    for location in built.locations:
        placement = routable.placements[location["id"]]
        assert (placement.x, placement.y) == (location["x"], location["y"])
        assert placement.floor_id == location["floors"][0]["id"]


def test_a_faulty_shape_is_a_problem_of_the_report_and_an_error_if_strict() -> None:
    svg = SVG.replace("</svg>", '<path id="flaw" d="M0 0 L" data-tags="indoor=wall"/></svg>')
    request = REQUEST._replace(files={"tower.svg": svg.encode()})
    report = build(task(request=request)).report
    assert report["notes"] == []
    [group] = [group for group in report["groups"] if group["cause"] == "element-left-out"]
    [problem] = group["problems"]
    assert problem["part"] == "flaw"
    assert (problem["x"], problem["y"]) == (0, 0)
    with pytest.raises(ParsingError, match=r"^tower.svg, line \d+: Path 'flaw': d is no path"):
        build(task(request=request._replace(strict=True)))


def test_errors_that_were_worked_around_are_not_said_to_be_left_out_and_all_are_counted() -> None:
    plan = OsmPlanBuilder()
    plan.add_way(box(0, 0, 100, 60), indoor="corridor", level="0")
    collection = json.loads(plan.to_geojson())
    [hall] = collection["features"]
    upper = {**hall, "properties": {**hall["properties"], "level": "1"}}
    twice = json.dumps({**collection, "features": [hall, upper, *[hall] * 1_500]})
    files = {"hall.geojson": f"{twice[:-2]},]}}".encode()}
    request = ProcessingRequest("hall", files, "geojson")
    report = build(task(request=request, floor_sorts=None, unit_names={})).report
    groups = {group["cause"]: group for group in report["groups"]}
    assert groups["element-left-out"]["statement"].startswith("1,500 elements of the file ")
    assert report["problem_counts"]["element-left-out"] == 1_500
    worked_around = groups["error-worked-around"]
    assert worked_around["count"] == 2
    assert [problem["message"].partition(": ")[2] for problem in worked_around["problems"]] == [
        "a comma follows the last element; JSON has none there",
        "way/1 is there twice, with other contents; read as way/1#2",
    ]
    assert report["notes"] == []


def test_a_problem_of_a_geographic_plan_has_the_place_that_its_editor_shows() -> None:
    plan, far = OsmPlanBuilder(), (60.0, 40.0)
    plan.add_way(box(0, 0, 100, 60), indoor="corridor", level="0")
    for west in (0, 20):
        plan.add_way(box(west, 60, west + 20, 70), indoor="room", level="0")
    door = plan.add_node(far, door="yes", level="0")
    request = ProcessingRequest("hall", {"hall.osm": plan.to_osm()}, "osm")
    groups = build(task(request=request, floor_sorts=None, unit_names={})).report["groups"]
    [problem] = [each for group in groups for each in group["problems"] if each["part"] == door]
    assert (problem["source_x"], problem["source_y"]) == pytest.approx(lon_lat(far), abs=1e-7)


def test_another_plan_brings_asset_floors_map_and_units() -> None:
    directory = build(task(floor_sorts=None, unit_names={})).directory
    assert [asset["id"] for asset in directory["assets"]] == ["tower"]
    floors = {floor["id"] for floor in directory["floors"]}
    assert floors == {"tower-level-lower", "tower-level-upper"}
    assert {unit["floor_id"] for unit in directory["units"]} == floors
    assert [each["feet_per_unit"] for each in directory["maps"]] == [1.0]
    assert len({unit["id"] for unit in directory["units"]}) == len(NAMES)


@pytest.mark.parametrize("is_new", [False, True])
def test_a_plan_whose_levels_name_floors_of_the_asset_brings_none(is_new: bool) -> None:
    built = build(task(is_own=False, is_new=is_new))
    assert {location["floors"][0]["id"] for location in built.locations} == SORTS.keys()
    assert {*built.directory} == ({"maps"} if is_new else set())
    assert {location["name"] for location in built.locations} >= {*NAMES.values()}


def test_existing_locations_are_kept_and_not_created_again() -> None:
    built = build(task(existing=[GYM, existing("roof", floor_id=None)]))
    assert sorted(by_unit(built)) == ["lower-west", "upper-east", "upper-west"]
    routable = deserialize_routable_map(built.network)
    assert routable.placements["gym"] == Placement("gym", "gym", 90.0, 10.0, ("lower",))
    assert routable.placements["roof"] == Placement("roof", "roof", 0.0, 0.0, ())
    others = [location["id"] for location in built.locations]
    assert (routable.router.matrix(["gym"], others).feet >= 0).all()


def test_pictures_are_drawn_of_each_level_and_mode_on_request(built: BuiltNetwork) -> None:
    assert built.pictures == {}
    pictures = build(task(request=REQUEST._replace(with_pictures=True))).pictures
    assert sorted(pictures) == [
        f"{level}.{mode}" for level in ("lower", "upper") for mode in ("foot", "wheelchair")
    ]
    assert all(picture.startswith("<svg") for picture in pictures.values())


def test_progress_only_grows_and_begins_with_the_reading() -> None:
    steps: list[tuple[float, str]] = []
    build_network(task(), lambda *step: steps.append(step))
    shares = [share for share, _ in steps]
    assert steps[0] == (0.0, "reading the plan")
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


@pytest.mark.parametrize(
    ("svg", "error"),
    [
        ("<svg><", ParsingError),
        (SVG.replace("floor=upper", "storey=upper"), InvalidInputError),
    ],
)
def test_a_plan_that_cannot_be_used_is_an_error(svg: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        build(task(request=REQUEST._replace(files={"tower.svg": svg.encode()})))


FAULTY_SVG = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 200">
<g data-type="Level" data-tags="floor=one">
<rect data-tags="indoor=corridor;name=Hall" x="0" y="100" width="300" height="20"/>
<rect data-tags="indoor=room;name=Lobby" x="0" y="0" width="100" height="100"/>
<rect data-tags="door=yes" x="40" y="99" width="5" height="2"/>
<rect data-tags="indoor=room;name=Office" x="100" y="0" width="100" height="100"/>
<rect data-tags="door=yes" x="140" y="99" width="5" height="2"/>
<g data-type="UnitLayer">
<rect id="lark-1" x="0" y="120" width="60" height="60"/>
</g>
<rect data-tags="door=yes" x="30" y="119" width="5" height="2"/>

<rect data-tags="indoor=room;name=Gym;amenity=gym" x="250" y="150" width="40" height="40"/>
</g>
</svg>"""


def problems(files: dict[str, bytes], **given: Any) -> list[dict[str, Any]]:
    request = ProcessingRequest("m", files, **given)
    task = BuildTask(request, "m", None, {}, [], is_own=False)
    report = build_network(task, ignore_progress).report
    return [problem for group in report["groups"] for problem in group["problems"]]


def problem_of(found: list[dict[str, Any]], name: str) -> dict[str, Any]:
    [problem] = [each for each in found if each["name"] == name]
    return problem


def gym_plan() -> OsmPlanBuilder:
    """Three rooms at a corridor, two with doors; the Gym stands apart without one."""
    builder = OsmPlanBuilder()
    builder.add_way(box(0, 0, 60, 5), indoor="corridor", level="0")
    for west, name in ((0, "Lobby"), (10, "Office")):
        builder.add_way(box(west, 5, west + 10, 15), indoor="room", level="0", name=name)
        builder.add_node((west + 5, 5), door="yes", level="0")
    builder.add_way(box(40, 20, 50, 30), indoor="room", level="0", name="Gym")
    return builder


def line_of(text: str, part: str) -> int:
    """The line on which a part of a text begins, from 1."""
    return text[: text.index(part)].count("\n") + 1


def test_osm_xml_has_lines() -> None:
    xml = gym_plan().to_osm()
    gym = problem_of(problems({"plan.osm": xml}), "Gym")
    line = line_of(xml.decode(), "<way id='4'")
    assert (gym["part"], gym["file"], gym["line"]) == ("way/4", "plan.osm", line)
    assert gym["message"].startswith(f"room 'Gym' (line {line} of plan.osm) has no door")


@pytest.mark.parametrize("with_ids", [True, False])
def test_geojson_has_lines_or_else_the_number_of_the_feature(with_ids: bool) -> None:
    document = json.loads(gym_plan().to_geojson())
    for feature in document["features"]:
        if not with_ids:
            feature.pop("id", None)
            feature["properties"].pop("@id", None)
    index = next(i for i, f in enumerate(document["features"]) if "Gym" in json.dumps(f))
    lines = json.dumps(document, indent=1)
    gym = problem_of(problems({"plan.geojson": lines.encode()}), "Gym")
    assert gym["message"].startswith(f"room 'Gym' (line {gym['line']} of plan.geojson) has no door")
    assert '"type": "Feature"' in lines.split("\n")[gym["line"] - 1]
    assert lines.split("\n")[: gym["line"]].count('   "type": "Feature",') == index + 1
    [line] = json.dumps(document).split("\n")
    gym = problem_of(problems({"plan.geojson": line.encode()}), "Gym")
    assert (gym["file"], gym["line"]) == ("plan.geojson", None)
    place = gym["part"] if with_ids else f"features[{index}]"
    assert gym["message"].startswith(f"room 'Gym' ({place} of plan.geojson) has no door")


def test_svg_has_lines() -> None:
    found = problems({"plan.svg": FAULTY_SVG.encode()}, feet_per_unit=0.5)
    gym = problem_of(found, "Gym")
    assert (gym["file"], gym["line"]) == (
        "plan.svg",
        line_of(FAULTY_SVG, '<rect data-tags="indoor=room;name=Gym'),
    )
    assert gym["message"].startswith("room 'Gym' (line 13 of plan.svg) has no door")
    assert gym["part"].startswith("one#")


def test_imdf_has_the_file_and_the_id() -> None:
    files = make_venue()
    units = json.loads(files["unit.geojson"])
    room = next(unit for unit in units["features"] if unit["properties"]["category"] == "room")
    ring = room["geometry"]["coordinates"][0]
    # as a bow tie, which is repaired
    ring[1], ring[2] = ring[2], ring[1]
    room["properties"]["name"] = {"en": "Gym"}
    files["unit.geojson"] = json.dumps(units).encode()
    found = [each for each in problems(files) if each["part"] == room["id"]]
    crossing = next(each for each in found if "crosses itself" in each["message"])
    assert (crossing["name"], crossing["file"], crossing["line"]) == ("Gym", "unit.geojson", None)
    assert f"room 'Gym' ({room['id']} of unit.geojson) crosses itself" in crossing["message"]


def test_a_door_without_a_name_has_its_line() -> None:
    builder = gym_plan()
    builder.add_node((30, 2.5), door="yes", level="0")
    xml = builder.to_osm()
    found = problems({"plan.osm": xml})
    [door] = [each for each in found if "in no wall" in each["message"]]
    assert door["message"].startswith(
        f"door '{door['part']}' (line {door['line']} of plan.osm) stands within open floor"
    )
