"""A plan becomes a network, a report and the records to publish, without a database."""

import json
from typing import Any

import pytest

from parsing.errors import ParsingError
from resolvers.networks.routable_maps import Placement, deserialize_routable_map
from resolvers.processing.build_task import (
    BuildTask,
    BuiltNetwork,
    ExistingLocation,
    ProcessingRequest,
)
from resolvers.processing.network_build import build_network
from resolvers.request.errors import InvalidInputError
from routing.values import ignore_progress
from tests.parsing.geography import OsmPlanBuilder, box, lon_lat
from tests.resolvers.tower import CATALOG, SVG

REQUEST = ProcessingRequest("tower", {"tower.svg": SVG.encode()}, "svg", feet_per_unit=1.0)
SORTS = {floor["id"]: floor["sort"] for floor in CATALOG["floors"]}
NAMES = {unit["id"]: unit["name"] for unit in CATALOG["units"]}
GYM = ExistingLocation("gym", "Gym", 90.0, 10.0, "lower", "lower-east")


def build(task: BuildTask) -> BuiltNetwork:
    return build_network(task, ignore_progress)


def task(**changes: Any) -> BuildTask:
    """Process the tower from its own drawing; it has no locations yet."""
    return BuildTask(REQUEST, "tower", SORTS, NAMES, [], [])._replace(**changes)


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
    placements = [
        Placement("gym", "Gym", 90.0, 10.0, ("lower",)),
        Placement("roof", "Roof", 0.0, 0.0, ()),
    ]
    built = build(task(existing=[GYM], placements=placements))
    assert sorted(by_unit(built)) == ["lower-west", "upper-east", "upper-west"]
    routable = deserialize_routable_map(built.network)
    assert [routable.placements[each.id] for each in placements] == placements
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
