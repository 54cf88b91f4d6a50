"""Distances, routes and what is within reach, between waypoints of a routable map."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from shapely import Point, Polygon

from resolvers import routes
from resolvers.processing.pipeline import is_processed
from storage import networks
from storage.catalog import UNITS
from storage.publication import Publication
from tests.fixtures import SEEN, World, data_of, gateway_client, make_key, open_database
from tests.resolvers.conftest import LATER
from tests.resolvers.worlds import (
    CATALOG,
    FLAGS,
    PLACES,
    ask_matrix,
    processed,
    tower,
    unit_locations,
    yard_client,
)
from tests.rest.openapi.described import errors_of
from tests.storage.catalogs import ARCHIVE

pytestmark = pytest.mark.usefixtures("no_processes")

MATRIX = "/v1/unitmaps/{unitMapId}/distance-matrix"


async def test_distances_follow_the_walkable_space(walker: httpx.AsyncClient) -> None:
    located = await unit_locations(walker)
    sources = [{"id": located["lower-west"]}]
    targets = [{"id": "gym"}, {"id": located["upper-west"]}, {"id": located["lower-west"]}]
    response = await ask_matrix(walker, sources=sources, targets=targets)
    body = response.json()["data"]
    assert body["distance_method"] == "pathfinding"
    [source] = body["sources"]
    assert (source["index"], source["floor_id"]) == (0, "lower")
    gym, above, same = source["targets"]
    # Down to one door, along the corridor, up through the other.
    assert 96 < gym["distance"] < 101
    assert gym["time"] == pytest.approx(gym["distance"] / (5.1 / 0.0003048 / 3600), rel=1e-3)
    assert above["time"] > 35 > above["distance"] / 4.65 / 2  # the lift: 30 s and 5 s a storey
    assert (same["distance"], same["time"]) == (0, 0)
    assert "-0" not in response.text


async def test_wheelchairs_take_no_narrow_door(walker: httpx.AsyncClient) -> None:
    closet = {"x": 65, "y": 10, "floor_id": "upper"}
    asked: dict[str, Any] = {"sources": [{"id": "gym"}], "targets": [closet]}
    wheelchair: dict[str, Any] = {"costing_options": {"pedestrian": {"mode": "wheelchair"}}}
    walking = await ask_matrix(walker, **asked)
    wheeling = await ask_matrix(walker, **asked, **wheelchair)
    on_foot = walking.json()["data"]["sources"][0]["targets"][0]
    rolling = wheeling.json()["data"]
    assert on_foot["distance"] > 0
    assert rolling["distance_method"] == "pathfinding"
    target = rolling["sources"][0]["targets"][0]
    assert (target["distance"], target["time"]) == (None, None)
    assert errors_of(walking, MATRIX) == errors_of(wheeling, MATRIX) == []


async def test_coordinates_win_over_the_id_which_is_echoed(walker: httpx.AsyncClient) -> None:
    body = await ask_matrix(
        walker,
        sources=[{"id": "gym", "x": 10, "y": 25, "floor_id": "lower"}],
        targets=[{"x": 60, "y": 25, "floorId": "lower"}],
    )
    [source] = body.json()["data"]["sources"]
    assert (source["id"], source["name"], source["x"]) == ("gym", "Gym", 10)
    target = source["targets"][0]
    assert "id" not in target
    assert (target["floor_id"], target["distance"]) == ("lower", 50)


async def test_a_location_as_it_is_listed_is_that_location(walker: httpx.AsyncClient) -> None:
    listed = (await walker.get("/v1/maps/tower/locations")).json()["data"]
    objects = [{**each, "floor_id": each["floors"][0]["id"]} for each in listed]
    by_id = [{"id": each["id"]} for each in listed]
    response = await ask_matrix(walker, sources=objects, targets=objects)
    assert response.json() == (await ask_matrix(walker, sources=by_id, targets=by_id)).json()


async def test_a_location_that_came_after_processing_is_a_place_like_any_other(
    walker: httpx.AsyncClient,
) -> None:
    data = (
        await ask_matrix(walker, sources=[{"id": "desk"}, {"id": "gym"}], targets=[PLACE])
    ).json()["data"]
    assert data["distance_method"] == "pathfinding"
    from_desk, from_gym = (each["targets"][0]["distance"] for each in data["sources"])
    assert from_desk == from_gym > 0


async def test_a_floor_that_the_plan_does_not_show_is_out_of_reach(
    walker: httpx.AsyncClient,
) -> None:
    asked: dict[str, Any] = {
        "sources": [{**PLACE, "floor_id": "attic"}],
        "targets": [PLACE, {"id": "gym"}],
    }
    for method, used in (("default", "euclidean"), ("pathfinding", "pathfinding")):
        data = (await ask_matrix(walker, **asked, distance_method=method)).json()["data"]
        assert data["distance_method"] == used
        distance = data["sources"][0]["targets"][0]["distance"]
        assert distance == (0 if used == "euclidean" else None)
    route = await walker.get("/v1/maps/tower/route?from=1,25,attic&to=gym")
    assert route.json() == {"data": None}


async def test_a_damaged_network_is_as_good_as_none(
    own_world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with tower(own_world, tmp_path) as store:
        await networks.publish_network(
            store.database, Publication("tower", ARCHIVE, "foot_routing", {}, [])
        )
        assert not await is_processed(store, "tower")
    async with gateway_client(own_world.settings(cache_mb=0), own_world.keys.full) as client:
        client.headers.update(FLAGS)
        for _ in range(2):
            answer = await ask_matrix(client, sources=[PLACE], targets=[{"id": "gym"}])
            assert answer.json()["data"]["distance_method"] == "euclidean"
    [warning] = [each for each in caplog.messages if "tower" in each]  # once, and not each time
    assert "process the map again" in warning


@pytest.mark.parametrize(
    "path",
    [
        "nearest?from=a&limit=101",
        "nearest?from=a&mode=car",
        "route?from=a&to=b&mode=car",
        "route",
        "reachable?from=a&minutes=61",
    ],
)
async def test_input_is_checked_before_existence(walker: httpx.AsyncClient, path: str) -> None:
    assert (await walker.get(f"/v1/maps/nope/{path}")).status_code == 422
    assert (await ask_matrix(walker, "nope", sources=[], targets=[PLACE])).status_code == 422


async def test_default_falls_back_to_straight_lines(walker: httpx.AsyncClient) -> None:
    outside = {"x": 50, "y": 130, "floor_id": "lower"}  # 100 ft from the corridor
    inside = {"x": 50, "y": 30, "floor_id": "upper"}
    for given, used in (("default", "euclidean"), ("pathfinding", "pathfinding")):
        body = await ask_matrix(walker, sources=[outside], targets=[inside], distance_method=given)
        data = body.json()["data"]
        assert data["distance_method"] == used
        distance = data["sources"][0]["targets"][0]["distance"]
        assert distance == (100 if used == "euclidean" else None)


async def test_a_map_that_was_not_processed_knows_straight_lines(walker: httpx.AsyncClient) -> None:
    asked = {"sources": [{"id": "p1"}], "targets": [{"x": 3, "y": 4, "floor_id": "upper"}]}
    data = (await ask_matrix(walker, "plain", **asked)).json()["data"]
    assert data["distance_method"] == "euclidean"
    assert data["sources"][0]["targets"][0]["distance"] == 2.5
    response = await ask_matrix(walker, "plain", **asked, distance_method="pathfinding")
    assert response.status_code == 422
    response = await ask_matrix(
        walker, "unscaled", sources=asked["targets"], targets=asked["targets"]
    )
    assert response.status_code == 422
    assert "feet_per_unit" in response.json()["message"]


PLACE = {"x": 1, "y": 25, "floor_id": "lower"}


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({"sources": []}, "data.sources"),
        ({"targets": []}, "data.targets"),
        ({"sources": [PLACE] * 3, "targets": [PLACE] * 17}, "data.sources"),
        ({"sources": [{"x": 1, "y": 2}]}, "data.sources[0]"),
        ({"sources": [{"id": "gym", "floor_id": "upper"}]}, "data.sources[0].floor_id"),
        ({"targets": [PLACE, {"id": "nope"}]}, "data.targets[1].id"),
        ({"targets": [{"id": "p1"}]}, "data.targets[0].id"),  # of another map
        ({"targets": [{**PLACE, "floor_id": "n-2"}]}, "data.targets[0].floor_id"),
        ({"targets": [{**PLACE, "id": ""}]}, "data.targets[0].id"),
        ({"costing": "auto"}, "data.costing"),
        (
            {"costing_options": {"pedestrian": {"mode": "run"}}},
            "data.costing_options.pedestrian.mode",
        ),
        (
            {"costing_options": {"pedestrian": {"mod": "foot"}}},
            "data.costing_options.pedestrian.mod",
        ),
        ({"costingOptions": {"pedestrian": {"mode": "wheelchair"}}}, "data.costingOptions"),
        ({"distance_method": "crow"}, "data.distance_method"),
    ],
)
async def test_invalid_input_is_rejected(
    walker: httpx.AsyncClient, data: dict[str, Any], field: str
) -> None:
    response = await ask_matrix(walker, **{"sources": [PLACE], "targets": [PLACE], **data})
    assert response.status_code == 422, response.text
    assert list(response.json()["fields"]) == [field]


async def test_there_may_be_50_pairs(walker: httpx.AsyncClient) -> None:
    response = await ask_matrix(walker, sources=[PLACE] * 5, targets=[PLACE] * 10)
    assert response.status_code == 200


async def test_rest_and_graphql_use_their_own_argument_names_in_errors(
    walker: httpx.AsyncClient,
) -> None:
    places = """sources: [{id: "gym", floorId: "upper"}], targets: [{id: "gym"}]"""
    query = f"""{{ map(id: "tower") {{ distanceMatrix({places}) {{ distanceMethod }} }} }}"""
    answer = (await walker.post("/graphql", json={"query": query})).json()
    assert list(answer["errors"][0]["extensions"]["fields"]) == ["sources[0].floorId"]
    response = await walker.get("/v1/maps/tower/route?from=1,25,cellar&to=gym")
    assert list(response.json()["fields"]) == ["from"]


async def test_infinite_numbers_are_rejected(walker: httpx.AsyncClient) -> None:
    response = await walker.post(
        "/v1/maps/tower/distance-matrix",
        content='{"data": {"sources": [{"x": 1e999, "y": 0, "floor_id": "lower"}], "targets": []}}',
        headers={"Content-Type": "application/json"},
    )
    assert response.status_code == 422


async def test_a_matrix_repeats_the_id_of_a_unit(walker: httpx.AsyncClient) -> None:
    located = await unit_locations(walker)
    response = await ask_matrix(
        walker,
        sources=[{"unit_id": "lower-east"}, {"id": "lower-east"}, {"id": "gym"}],
        targets=[{"unit_id": "upper-west", "name": "Our flat"}, {"id": located["upper-west"]}],
    )
    data = response.json()["data"]
    assert [each["id"] for each in data["sources"]] == ["lower-east", "lower-east", "gym"]
    assert [each["name"] for each in data["sources"]] == ["Gym"] * 3
    [cells] = {tuple(cell["distance"] for cell in each["targets"]) for each in data["sources"]}
    assert cells[0] == cells[1] > 0
    assert [each["name"] for each in data["sources"][0]["targets"]] == ["Our flat", "upper west"]


async def test_a_position_is_named_alike_beside_any_other_waypoint(
    walker: httpx.AsyncClient,
) -> None:
    """Its id is only echoed, also where another waypoint names the unit with this id."""
    position = {"id": "lower-east", "x": 5.0, "y": 5.0, "floor_id": "lower"}
    for sources in ([position], [position, {"id": "lower-east"}]):
        response = await ask_matrix(walker, sources=sources, targets=[{"id": "gym"}])
        source = response.json()["data"]["sources"][0]
        assert source["id"] == "lower-east"
        assert "name" not in source


REACHABLE = """query (
    $map: ID! = "tower", $from: WaypointInput!, $minutes: Float!, $mode: TravelMode,
    $tags: String, $limit: Int, $floor: ID
) { map(id: $map) { reachable(from: $from, minutes: $minutes, mode: $mode) {
    mode minutes
    locations(tags: $tags, limit: $limit) { distance time location { id } }
    units(tags: $tags, limit: $limit) { distance time unit { id } }
    areas(floorId: $floor) { floorId squareFeet polygons }
} } }"""
NEAREST = """query ($from: WaypointInput!, $mode: TravelMode) {
    map(id: "tower") { nearest(from: $from, mode: $mode, limit: 100) {
        distance time location { id }
    } }
}"""
MIDDLE = {"x": 50, "y": 25, "floorId": "lower"}
"""In the corridor, in front of the lift."""
WALK_FEET = 5.1 * 3280.84 / 3600
"""On foot, in a second."""


async def find_reachable(walker: httpx.AsyncClient, minutes: float, **given: Any) -> Any:
    variables = {"from": MIDDLE, "minutes": minutes, **given}
    return (await data_of(walker, REACHABLE, variables))["map"]["reachable"]


async def invalid_fields(walker: httpx.AsyncClient, **given: Any) -> list[str]:
    variables = {"from": MIDDLE, "minutes": 1, **given}
    response = await walker.post("/graphql", json={"query": REACHABLE, "variables": variables})
    fields: set[str] = set()
    for error in response.json()["errors"]:  # one for each of the lists with the argument
        assert error["extensions"]["code"] == "INVALID_INPUT"
        fields |= error["extensions"]["fields"].keys()
    return [*fields]


def to_shapes(area: dict[str, Any]) -> list[Polygon]:
    return [Polygon(outline, holes) for outline, *holes in area["polygons"]]


def area_on(found: dict[str, Any], floor_id: str) -> dict[str, Any]:
    by_floor: dict[str, dict[str, Any]] = {area["floorId"]: area for area in found["areas"]}
    return by_floor[floor_id]


@pytest.mark.parametrize("mode", ["foot", "wheelchair"])
async def test_locations_within_reach_are_the_nearest_ones_within_the_time(
    walker: httpx.AsyncClient, mode: str
) -> None:
    nearest = (await data_of(walker, NEAREST, {"from": MIDDLE, "mode": mode}))["map"]["nearest"]
    assert len(nearest) > 2
    for near in nearest:
        found = await find_reachable(walker, near["time"] / 60 + 1e-4, mode=mode)
        assert found["mode"] == mode
        assert found["locations"] == [each for each in nearest if each["time"] <= near["time"]]


async def test_units_within_reach_are_those_of_locations(walker: httpx.AsyncClient) -> None:
    located = await unit_locations(walker)
    unit_by_location = {location: unit for unit, location in located.items()}
    found = await find_reachable(walker, 5)
    times = {near["location"]["id"]: near["time"] for near in found["locations"]}
    assert {near["unit"]["id"]: near["time"] for near in found["units"]} == {
        unit_by_location[location]: time
        for location, time in times.items()
        if location in unit_by_location
    }
    assert [near["time"] for near in found["units"]] == sorted(
        near["time"] for near in found["units"]
    )


@pytest.mark.parametrize("tags", ["sport==yes", "sport,svc:id"])
async def test_locations_and_units_meet_every_term(walker: httpx.AsyncClient, tags: str) -> None:
    found = await find_reachable(walker, 5, tags=tags)
    assert [near["location"]["id"] for near in found["locations"]] == ["gym"]
    assert [near["unit"]["id"] for near in found["units"]] == ["lower-east"]


async def test_a_limit_leaves_the_nearest(walker: httpx.AsyncClient) -> None:
    most = await find_reachable(walker, 5, limit=routes.MAX_REACHABLE)
    everything, first = await find_reachable(walker, 5), await find_reachable(walker, 5, limit=1)
    for name in ("locations", "units"):
        assert first[name] == everything[name][:1]
    assert await find_reachable(walker, 5, limit=None) == everything == most
    for limit in (0, routes.MAX_REACHABLE + 1):
        assert await invalid_fields(walker, limit=limit) == ["limit"]


async def test_a_limit_counts_units_not_their_locations(
    own_world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gym = CATALOG["locations"][0]
    stands_for = {"dup0": "lower-east", "dup1": "lower-east", "dup2": "lower-east", "old": "gone"}
    copies = [
        gym | {"id": id, "tags": [{"key": "svc:id", "value": unit}]}
        for id, unit in stands_for.items()
    ]
    monkeypatch.setattr(routes, "DEFAULT_REACHABLE", 1)  # the first batch is as small
    async with processed(own_world, tmp_path, locations=copies) as walker:
        everything = (await find_reachable(walker, 60))["units"]
        assert sorted(near["unit"]["id"] for near in everything) == sorted(
            unit["id"] for unit in CATALOG["units"]
        )
        for limit in range(1, 5):
            found = await find_reachable(walker, 60, limit=limit)
            assert found["units"] == everything[:limit]


async def test_an_area_is_in_the_coordinates_of_the_map(walker: httpx.AsyncClient) -> None:
    seconds = 4 / WALK_FEET
    found = await find_reachable(walker, seconds / 60)
    [area] = found["areas"]
    [shape] = to_shapes(area)
    assert area["floorId"] == "lower"
    assert area["squareFeet"] == pytest.approx(shape.area, abs=0.1)
    west, _, east, _ = shape.bounds
    assert (west, east) == pytest.approx((46, 54), abs=0.1)
    [ring] = area["polygons"][0]
    assert ring[0] == ring[-1]


async def test_every_place_within_reach_is_in_the_area_of_its_floor(
    walker: httpx.AsyncClient,
) -> None:
    places = (await walker.get("/v1/maps/tower/locations")).json()["data"]
    found = await find_reachable(walker, 1.2)
    near = {each["location"]["id"]: each["time"] for each in found["locations"]}
    assert near
    for place in places:
        if place["id"] in {each["id"] for each in LATER}:
            continue
        [floor] = place["floors"]
        shapes = [
            shape
            for area in found["areas"]
            if area["floorId"] == floor["id"]
            for shape in to_shapes(area)
        ]
        is_inside = any(shape.covers(Point(place["x"], place["y"])) for shape in shapes)
        assert is_inside is (place["id"] in near)


async def test_areas_of_one_floor_are_returned_alone(walker: httpx.AsyncClient) -> None:
    everywhere = await find_reachable(walker, 5)
    assert [area["floorId"] for area in everywhere["areas"]] == ["lower", "upper"]
    upper = await find_reachable(walker, 5, floor="upper")
    assert upper["areas"] == [area_on(everywhere, "upper")]
    assert (await find_reachable(walker, 5, floor="none"))["areas"] == []


async def test_nothing_is_near_a_place_off_the_floor(walker: httpx.AsyncClient) -> None:
    found = await find_reachable(walker, 5, **{"from": {**MIDDLE, "y": 500}})
    assert found == {"mode": "foot", "minutes": 5, "locations": [], "units": [], "areas": []}


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"from": {"id": "none"}}, "from.id"),
        ({"tags": "sport,"}, "tags"),
        ({"map": "plain", "from": {"id": "p1"}}, "map"),  # not processed
    ],
)
async def test_what_is_wrong_is_named(
    walker: httpx.AsyncClient, given: dict[str, Any], field: str
) -> None:
    assert await invalid_fields(walker, **given) == [field]


async def test_rest_returns_all_of_it(walker: httpx.AsyncClient) -> None:
    path = "/v1/maps/tower/reachable?from=50,25,lower&minutes=0.5&limit=1&floor=lower"
    data = (await walker.get(path)).json()["data"]
    found = await find_reachable(walker, 0.5, limit=1, floor="lower")
    assert (data["mode"], data["minutes"]) == ("foot", 0.5)
    [near], [unit], [area] = data["locations"], data["units"], data["areas"]
    assert near["location"]["id"] == found["locations"][0]["location"]["id"]
    assert unit["unit"]["id"] == found["units"][0]["unit"]["id"]
    assert area["square_feet"] == found["areas"][0]["squareFeet"]
    assert area["polygons"] == found["areas"][0]["polygons"]


@pytest.mark.parametrize("minutes", ["", "x", "-1", "60.1", "0", "60"])
async def test_minutes_are_from_0_to_60(walker: httpx.AsyncClient, minutes: str) -> None:
    response = await walker.get(f"/v1/maps/tower/reachable?from=gym&minutes={minutes}")
    if minutes in ("0", "60"):
        assert response.status_code == 200
    else:
        assert (response.status_code, [*response.json()["fields"]]) == (422, ["minutes"])


ROUTE = """query ($map: ID!, $from: WaypointInput!, $to: WaypointInput!, $mode: TravelMode) {
    map(id: $map) { route(from: $from, to: $to, mode: $mode) {
        mode feet seconds
        legs { floorId toFloorId feet seconds points connectorId connectorKind connectorName }
    } }
}"""
GYM = {"id": "gym"}
BY_THE_GYM = {"x": 90, "y": 25, "floorId": "lower"}
CLOSET = {"x": 65, "y": 10, "floorId": "upper"}
"""A room with a door that is too narrow for wheelchairs."""


async def find_route(
    walker: httpx.AsyncClient, start: Any, end: Any, map: str = "tower", **given: Any
) -> Any:
    variables = {"map": map, "from": start, "to": end, **given}
    return (await data_of(walker, ROUTE, variables))["map"]["route"]


async def test_a_route_is_described_leg_by_leg(walker: httpx.AsyncClient) -> None:
    located = await unit_locations(walker)
    path = f"/v1/maps/tower/route?from=gym&to={located['upper-west']}"
    way = (await walker.get(path)).json()["data"]
    assert [leg["floor_id"] for leg in way["legs"]] == ["lower", "lower", "upper"]
    lift = way["legs"][1]
    assert (lift["connector_kind"], lift["to_floor_id"]) == ("elevator", "upper")
    assert lift["seconds"] == 35
    assert lift["points"] == []
    assert way["legs"][0]["points"][0] == [90, 10]
    assert all(leg["connector_id"] is None for leg in way["legs"] if leg is not lift)
    assert way["feet"] == pytest.approx(sum(leg["feet"] for leg in way["legs"]), abs=0.01)
    asked: dict[str, Any] = {
        "sources": [{"id": "gym"}],
        "targets": [{"id": located["upper-west"]}],
    }
    target = (await ask_matrix(walker, **asked)).json()["data"]["sources"][0]["targets"][0]
    assert way["feet"] == pytest.approx(target["distance"], abs=0.01)
    assert way["seconds"] == pytest.approx(target["time"], abs=0.01)
    nowhere = await walker.get("/v1/maps/tower/route?from=gym&to=50,500,lower")
    assert nowhere.json() == {"data": None}
    here = (await walker.get("/v1/maps/tower/route?from=gym&to=gym")).json()["data"]
    assert (here["feet"], here["seconds"]) == (0, 0)


async def test_lines_and_steps_are_at_places_of_the_map_and_lengths_in_feet(
    walker: httpx.AsyncClient,
) -> None:
    start = {**BY_THE_GYM, "x": 10, "name": "the desk"}
    small, large = [await find_route(walker, start, BY_THE_GYM, map) for map in ("tower", "large")]
    assert (small["feet"], large["feet"]) == (80, 160)
    assert small["legs"][0]["points"] == large["legs"][0]["points"] == [[10, 25], [90, 25]]
    assert large["seconds"] == pytest.approx(2 * small["seconds"], abs=0.002)
    for map, text in (("tower", "Walk 80 ft past"), ("large", "Walk 160 ft past")):
        steps = await find_steps(walker, start, BY_THE_GYM, map)
        assert [(step["x"], step["y"]) for step in steps] == [(10, 25), (90, 25)]
        assert steps[0]["text"] == f"{text} lower east."


STEPS = """query ($map: ID!, $from: WaypointInput!, $to: WaypointInput!) {
    map(id: $map) { route(from: $from, to: $to) { feet seconds steps {
        code modifier text distance time floorId x y doorIds spaces passed
        connectorId connectorKind connectorName toFloorId toFloorName
    } } }
}"""


async def find_steps(walker: httpx.AsyncClient, start: Any, end: Any, map: str = "tower") -> Any:
    variables = {"map": map, "from": start, "to": end}
    return (await data_of(walker, STEPS, variables))["map"]["route"]["steps"]


async def test_steps_say_what_to_do(walker: httpx.AsyncClient) -> None:
    located = await unit_locations(walker)
    steps = await find_steps(walker, GYM, {"id": located["upper-west"]})
    assert [step["text"] for step in steps] == [
        "Walk 9 ft through lower east.",
        "Go through the door, turn right and walk 38 ft.",
        "Turn right through the door and walk 5 ft.",
        "Take the lift to Upper.",
        "Leave the lift and walk 3 ft.",
        "Go through the door, turn right and walk 38 ft.",
        "Turn right through the door into upper west and walk 11 ft.",
        "Arrive at upper west.",
    ]
    lift = steps[3]
    assert (lift["code"], lift["floorId"], lift["connectorKind"]) == (
        "connector",
        "lower",
        "elevator",
    )
    assert (lift["toFloorId"], lift["toFloorName"]) == ("upper", "Upper")
    assert (lift["connectorName"], lift["time"]) == ("lift", 35)
    assert all(step["connectorId"] is None for step in steps if step is not lift)
    route = await find_route(walker, GYM, {"id": located["upper-west"]})
    for total, part in (("feet", "distance"), ("seconds", "time")):
        assert sum(step[part] for step in steps) == pytest.approx(route[total], abs=0.002)


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (GYM, "Arrive at Gym."),
        ({**GYM, "name": "Pilates"}, "Arrive at Pilates."),
        # elsewhere: the id is only repeated
        ({**GYM, **BY_THE_GYM}, "Arrive at your destination."),
        ({**BY_THE_GYM, "name": "The desk"}, "Arrive at The desk."),
    ],
)
async def test_the_arrival_names_the_target_if_the_route_ends_there(
    walker: httpx.AsyncClient, target: Any, text: str
) -> None:
    steps = await find_steps(walker, {**BY_THE_GYM, "x": 20}, target)
    assert steps[-1]["text"] == text


async def test_rest_has_steps_on_request(
    walker: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "/v1/maps/tower/route?from=gym&to=90,25,lower"
    made = (await walker.get(f"{path}&steps=true")).json()["data"]["steps"]
    assert [(step["code"], step["floor_id"]) for step in made] == [
        ("depart", "lower"), ("door", "lower"), ("arrive", "lower"),
    ]  # fmt: skip
    wrong = await walker.get(f"{path}&steps=yes")
    assert wrong.status_code == 422
    assert wrong.json()["fields"] == {"steps": ["must be true or false, not 'yes'"]}
    # they cost nothing unless they are asked for
    monkeypatch.setattr("routing.directions.steps.build_steps", None)
    for suffix in ("", "&steps=false"):
        assert "steps" not in (await walker.get(path + suffix)).json()["data"]
    nowhere = await walker.get("/v1/maps/tower/route?from=gym&to=50,500,lower&steps=true")
    assert nowhere.json() == {"data": None}


async def test_a_wheelchair_takes_no_narrow_door(walker: httpx.AsyncClient) -> None:
    modes: list[dict[str, Any]] = [{}, {"mode": None}, {"mode": "foot"}]
    for given in modes:
        assert (await find_route(walker, GYM, CLOSET, **given))["mode"] == "foot"
    assert await find_route(walker, GYM, CLOSET, mode="wheelchair") is None
    rolling = await find_route(walker, GYM, BY_THE_GYM, mode="wheelchair")
    assert rolling["mode"] == "wheelchair"


@pytest.mark.parametrize("ends", ["from=lower-east", "from=unit:lower-east"])
async def test_a_unit_is_where_its_location_is(walker: httpx.AsyncClient, ends: str) -> None:
    located = await unit_locations(walker)
    assert "lower-east" not in located.values()  # so that the id can only be that of the unit
    expected = (await walker.get("/v1/maps/tower/route?from=gym&to=90,25,lower")).json()
    assert (await walker.get(f"/v1/maps/tower/route?{ends}&to=90,25,lower")).json() == expected
    end = f"to={located['upper-west']}"
    expected = (await walker.get(f"/v1/maps/tower/route?from=90,25,lower&{end}")).json()
    to_unit = "/v1/maps/tower/route?from=90,25,lower&to=unit:upper-west&steps=true"
    found = (await walker.get(to_unit)).json()["data"]
    assert found.pop("steps")[-1]["text"] == "Arrive at upper west."
    assert found == expected["data"]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"from": {"unitId": "gym"}}, "from.unitId"),  # a location
        ({"from": {"id": "p1"}}, "from.id"),  # of another map
        ({"to": {**BY_THE_GYM, "floorId": "n-2"}}, "to.floorId"),  # of another asset
        ({"from": {"id": "gym", "unitId": "lower-east"}}, "from"),
        ({"map": "plain", "from": {"id": "p1"}, "to": {"id": "p1"}}, "map"),
    ],
)
async def test_what_is_wrong_with_a_route_is_named(
    walker: httpx.AsyncClient, given: dict[str, Any], field: str
) -> None:
    variables = {"map": "tower", "from": GYM, "to": BY_THE_GYM, **given}
    body = (await walker.post("/graphql", json={"query": ROUTE, "variables": variables})).json()
    [error] = body["errors"]
    assert error["extensions"]["code"] == "INVALID_INPUT"
    assert [*error["extensions"]["fields"]] == [field]


NAMES = """query ($from: WaypointInput!, $to: WaypointInput!) {
    map(id: "yard") { route(from: $from, to: $to) { steps { text spaces passed } } }
}"""


async def list_names(walker: httpx.AsyncClient, start: Any, end: Any) -> list[dict[str, Any]]:
    found = await data_of(walker, NAMES, {"from": start, "to": end})
    made: list[dict[str, Any]] = found["map"]["route"]["steps"]
    return made


async def test_steps_name_the_units_that_they_leave_enter_and_pass(
    walker: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = await list_names(walker, PLACES["A"], PLACES["B"])
    assert away[0]["spaces"] == ["lower west"]
    back = await list_names(walker, PLACES["B"], PLACES["A"])
    assert back[-2]["text"].startswith("Turn right through the door into lower west")
    assert back[-1]["text"] == "Arrive at lower west."
    hall = [{"x": x, "y": 25, "floorId": "lower"} for x in (1, 40)]
    assert (await list_names(walker, *hall))[0]["passed"] == ["lower west"]
    monkeypatch.setattr(routes, "MAX_UNITS_TO_NAME", 0)
    unnamed = await list_names(walker, PLACES["A"] | {"y": 11}, PLACES["B"])
    assert "lower west" not in str(unnamed)


async def test_units_that_are_deleted_or_hidden_have_no_name(
    own_world: World, tmp_path: Path
) -> None:
    """Neither in steps nor in the list of what can be closed, also for a key of the map alone."""
    right = "service.distances.calculate"
    async with yard_client(own_world, tmp_path) as full, open_database(own_world) as database:
        await database[UNITS.name].delete_one({"_id": "upper-west"})
        secret = {"asset_id": SEEN, "name": "Secret"}
        await database[UNITS.name].update_one({"_id": "lower-east"}, {"$set": secret})
        _, key = await make_key(database, "tower", permissions=(right,), asset_ids=["tower"])
        async with gateway_client(own_world.settings(), key) as limited:
            limited.headers.update(FLAGS)
            for walker in (full, limited):
                for start, end in ("AB", "BA", "CD", "DC"):
                    made = str(await list_names(walker, PLACES[start], PLACES[end]))
                    assert "Secret" not in made
                    assert "upper west" not in made
                    assert ("upper east" in made) is ("D" in (start, end))
                listed = (await walker.get("/v1/maps/yard/closable")).json()["data"]
                names = {each["id"]: each["name"] for each in listed if each["part"] == "space"}
                assert names["west-hall"] == "West hall"  # as on the plan
                assert (names["lower-west"], names["upper-east"]) == ("lower west", "upper east")
                assert names["lower-east"] is names["upper-west"] is names["gallery"] is None
