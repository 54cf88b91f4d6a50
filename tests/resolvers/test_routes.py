"""Routes between two waypoints of a routable map, and the nearest locations."""

import json
import time
import uuid
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from resolvers import routes
from resolvers.administration.catalog import import_catalog
from resolvers.processing.pipeline import ProcessingRequest, process_and_publish
from routing.search.router import Router
from storage.store import Store
from tests.fixtures import create_world, data_of, drop_world, gateway_client, open_database
from tests.resolvers.tower import CATALOG, FLAGS, SVG, ask_matrix, import_more, unit_locations

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

LARGE = {**CATALOG["maps"][0], "id": "large", "feet_per_unit": 2}
"""The tower drawn at half the scale: everything is twice as far."""


@pytest.fixture(scope="module")
async def client(
    mongo_url: str, tmp_path_factory: pytest.TempPathFactory, anyio_backend: str
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a gateway in which the tower is routable, at two scales."""
    directory = tmp_path_factory.mktemp("routes")
    world = await create_world(mongo_url, uuid.uuid4().hex, directory / "world.json")
    bundle = directory / "tower.json"
    bundle.write_text(json.dumps({**CATALOG, "maps": [*CATALOG["maps"], LARGE]}))
    (directory / "tower.svg").write_text(SVG)
    async with open_database(world) as database:
        await import_catalog(database, [bundle])
        for map_id in ("tower", "large"):
            request = ProcessingRequest(map_id, {})
            outcome = await process_and_publish(Store(database.client, database.name), request)
            assert outcome.published, outcome.report
        # after processing: the network does not know them
        desk = {**CATALOG["locations"][0], "id": "desk", "name": "Desk", "tags": []}
        twin = {**desk, "id": "twin", "x": 10}
        of_twin = {**desk, "id": "other", "tags": [{"key": "svc:id", "value": "twin"}]}
        await import_more(world, directory, locations=[desk, twin, of_twin])
    async with gateway_client(world.settings(), world.keys.full) as client:
        client.headers.update(FLAGS)
        yield client
    drop_world(world)


ROUTE = """query ($map: ID!, $from: WaypointInput!, $to: WaypointInput!, $mode: TravelMode) {
    map(id: $map) { route(from: $from, to: $to, mode: $mode) {
        mode feet seconds
        legs { floorId toFloorId feet seconds points connectorId connectorKind connectorName }
    } }
}"""
NEAREST = """query (
    $map: ID!, $from: WaypointInput!, $tags: String, $limit: Int, $mode: TravelMode
) { map(id: $map) { nearest(from: $from, tags: $tags, limit: $limit, mode: $mode) {
    distance time location { id }
} } }"""
GYM = {"id": "gym"}
BY_THE_GYM = {"x": 90, "y": 25, "floorId": "lower"}
CLOSET = {"x": 65, "y": 10, "floorId": "upper"}
"""A room with a door that is too narrow for wheelchairs."""


async def find_route(
    client: httpx.AsyncClient, start: Any, end: Any, map: str = "tower", **given: Any
) -> Any:
    variables = {"map": map, "from": start, "to": end, **given}
    return (await data_of(client, ROUTE, variables))["map"]["route"]


async def find_nearest(client: httpx.AsyncClient, start: Any, **given: Any) -> Any:
    variables = {"map": "tower", "from": start, **given}
    return (await data_of(client, NEAREST, variables))["map"]["nearest"]


async def invalid_fields(client: httpx.AsyncClient, query: str, **given: Any) -> Any:
    body = (await client.post("/graphql", json={"query": query, "variables": given})).json()
    [error] = body["errors"]
    assert error["extensions"]["code"] == "INVALID_INPUT"
    return error["extensions"]["fields"]


async def test_a_route_is_described_leg_by_leg(client: httpx.AsyncClient) -> None:
    located = await unit_locations(client)
    path = f"/v1/maps/tower/route?from=gym&to={located['upper-west']}"
    way = (await client.get(path)).json()["data"]
    assert [leg["floor_id"] for leg in way["legs"]] == ["lower", "lower", "upper"]
    lift = way["legs"][1]
    assert (lift["connector_kind"], lift["to_floor_id"]) == ("elevator", "upper")
    assert lift["seconds"] == 35
    assert way["legs"][0]["points"][0] == [90, 10]
    assert way["feet"] == pytest.approx(sum(leg["feet"] for leg in way["legs"]), abs=0.01)
    asked: dict[str, Any] = {
        "sources": [{"id": "gym"}],
        "targets": [{"id": located["upper-west"]}],
    }
    target = (await ask_matrix(client, **asked)).json()["data"]["sources"][0]["targets"][0]
    assert way["feet"] == pytest.approx(target["distance"], abs=0.01)
    assert way["seconds"] == pytest.approx(target["time"], abs=0.01)
    nowhere = await client.get("/v1/maps/tower/route?from=gym&to=50,500,lower")
    assert nowhere.json() == {"data": None}


STEPS = """query ($map: ID!, $from: WaypointInput!, $to: WaypointInput!) {
    map(id: $map) { route(from: $from, to: $to) { feet seconds steps {
        code modifier text distance time floorId x y doorIds spaces passed
        connectorId connectorKind connectorName toFloorId toFloorName
    } } }
}"""


async def find_steps(client: httpx.AsyncClient, start: Any, end: Any, map: str = "tower") -> Any:
    variables = {"map": map, "from": start, "to": end}
    return (await data_of(client, STEPS, variables))["map"]["route"]["steps"]


async def test_steps_say_what_to_do(client: httpx.AsyncClient) -> None:
    located = await unit_locations(client)
    steps = await find_steps(client, GYM, {"id": located["upper-west"]})
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


async def test_the_numbers_of_steps_add_up_to_those_of_the_route(
    client: httpx.AsyncClient,
) -> None:
    variables = {"map": "tower", "from": GYM, "to": CLOSET}
    route = (await data_of(client, STEPS, variables))["map"]["route"]
    for total, part in (("feet", "distance"), ("seconds", "time")):
        assert sum(step[part] for step in route["steps"]) == pytest.approx(route[total], abs=1e-9)


async def test_steps_are_at_places_of_the_map_and_say_feet(client: httpx.AsyncClient) -> None:
    start = {**BY_THE_GYM, "x": 10, "name": "the desk"}
    small, large = [await find_steps(client, start, BY_THE_GYM, map) for map in ("tower", "large")]
    for steps in (small, large):
        assert [(step["x"], step["y"]) for step in steps] == [(10, 25), (90, 25)]
    assert [steps[0]["text"] for steps in (small, large)] == [
        "Walk 80 ft past lower east.",
        "Walk 160 ft past lower east.",
    ]


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
    client: httpx.AsyncClient, target: Any, text: str
) -> None:
    steps = await find_steps(client, {**BY_THE_GYM, "x": 20}, target)
    assert steps[-1]["text"] == text


async def test_rest_has_steps_on_request(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "/v1/maps/tower/route?from=gym&to=90,25,lower"
    made = (await client.get(f"{path}&steps=true")).json()["data"]["steps"]
    assert [(step["code"], step["floor_id"]) for step in made] == [
        ("depart", "lower"), ("door", "lower"), ("arrive", "lower"),
    ]  # fmt: skip
    wrong = await client.get(f"{path}&steps=yes")
    assert wrong.status_code == 422
    assert wrong.json()["fields"] == {"steps": ["must be true or false, not 'yes'"]}
    # they cost nothing unless they are asked for
    monkeypatch.setattr("routing.directions.steps.build_steps", None)
    for suffix in ("", "&steps=false"):
        assert "steps" not in (await client.get(path + suffix)).json()["data"]
    nowhere = await client.get("/v1/maps/tower/route?from=gym&to=50,500,lower&steps=true")
    assert nowhere.json() == {"data": None}


async def test_a_walk_has_a_line_and_a_passage_has_its_connector(
    client: httpx.AsyncClient,
) -> None:
    route = await find_route(client, GYM, CLOSET)
    down, lift, up = route["legs"]
    for walk in (down, up):
        assert walk["floorId"] == walk["toFloorId"]
        assert len(walk["points"]) > 1
        assert walk["connectorId"] is walk["connectorKind"] is walk["connectorName"] is None
    assert lift["points"] == []
    assert lift["connectorId"]
    assert (lift["connectorKind"], lift["connectorName"]) == ("elevator", "lift")


async def test_a_route_to_where_it_starts_has_no_length(client: httpx.AsyncClient) -> None:
    route = await find_route(client, GYM, GYM)
    assert (route["feet"], route["seconds"]) == (0, 0)


async def test_lines_are_in_the_coordinates_of_the_map_and_lengths_in_feet(
    client: httpx.AsyncClient,
) -> None:
    start = {**BY_THE_GYM, "x": 10}
    small, large = [await find_route(client, start, BY_THE_GYM, map) for map in ("tower", "large")]
    assert (small["feet"], large["feet"]) == (80, 160)
    assert small["legs"][0]["points"] == large["legs"][0]["points"] == [[10, 25], [90, 25]]
    assert large["seconds"] == pytest.approx(2 * small["seconds"], abs=0.002)


async def test_a_wheelchair_takes_no_narrow_door(client: httpx.AsyncClient) -> None:
    modes: list[dict[str, Any]] = [{}, {"mode": None}, {"mode": "foot"}]
    for given in modes:
        assert (await find_route(client, GYM, CLOSET, **given))["mode"] == "foot"
    assert await find_route(client, GYM, CLOSET, mode="wheelchair") is None
    rolling = await find_route(client, GYM, BY_THE_GYM, mode="wheelchair")
    assert rolling["mode"] == "wheelchair"


async def test_a_location_that_the_network_does_not_know_is_a_place(
    client: httpx.AsyncClient,
) -> None:
    from_desk = await find_route(client, {"id": "desk"}, BY_THE_GYM)
    from_gym = await find_route(client, GYM, BY_THE_GYM)
    assert from_desk == from_gym


@pytest.mark.parametrize("ends", ["from=lower-east", "from=unit:lower-east"])
async def test_a_unit_is_where_its_location_is(client: httpx.AsyncClient, ends: str) -> None:
    located = await unit_locations(client)
    assert "lower-east" not in located.values()  # so that the id can only be that of the unit
    expected = (await client.get("/v1/maps/tower/route?from=gym&to=90,25,lower")).json()
    assert (await client.get(f"/v1/maps/tower/route?{ends}&to=90,25,lower")).json() == expected
    end = f"to={located['upper-west']}"
    expected = (await client.get(f"/v1/maps/tower/route?from=90,25,lower&{end}")).json()
    to_unit = "/v1/maps/tower/route?from=90,25,lower&to=unit:upper-west&steps=true"
    found = (await client.get(to_unit)).json()["data"]
    assert found.pop("steps")[-1]["text"] == "Arrive at upper west."
    assert found == expected["data"]


async def test_what_is_near_a_unit_leaves_out_its_own_location(client: httpx.AsyncClient) -> None:
    expected = await find_nearest(client, GYM)
    for start in ({"id": "lower-east"}, {"unitId": "lower-east"}):
        assert await find_nearest(client, start) == expected
    path = "/v1/maps/tower/reachable?minutes=5&from="
    bodies = [(await client.get(path + start)).json() for start in ("gym", "unit:lower-east")]
    assert bodies[0]["data"]["locations"]
    assert bodies[0] == bodies[1]


async def test_a_matrix_repeats_the_id_of_a_unit(client: httpx.AsyncClient) -> None:
    located = await unit_locations(client)
    response = await ask_matrix(
        client,
        sources=[{"unit_id": "lower-east"}, {"id": "lower-east"}, {"id": "gym"}],
        targets=[{"unit_id": "upper-west", "name": "Our flat"}, {"id": located["upper-west"]}],
    )
    data = response.json()["data"]
    assert data["distance_method"] == "pathfinding"
    assert [each["id"] for each in data["sources"]] == ["lower-east", "lower-east", "gym"]
    assert [each["name"] for each in data["sources"]] == ["Gym"] * 3
    [cells] = {tuple(cell["distance"] for cell in each["targets"]) for each in data["sources"]}
    assert cells[0] == cells[1] > 0
    assert [each["name"] for each in data["sources"][0]["targets"]] == ["Our flat", "upper west"]


async def test_a_position_is_named_alike_beside_any_other_waypoint(
    client: httpx.AsyncClient,
) -> None:
    """Its id is only echoed, also where another waypoint names the unit with this id."""
    position = {"id": "lower-east", "x": 5.0, "y": 5.0, "floor_id": "lower"}
    target = {"id": "gym"}
    for sources in ([position], [position, {"id": "lower-east"}]):
        response = await ask_matrix(client, sources=sources, targets=[target])
        assert "name" not in response.json()["data"]["sources"][0]


async def test_a_location_precedes_a_unit_of_the_same_id(client: httpx.AsyncClient) -> None:
    # "twin" is a location in the west and, elsewhere, the unit of another location
    [west] = await find_nearest(client, {"id": "twin"}, limit=1)
    [east] = await find_nearest(client, {"unitId": "twin"}, limit=1)
    assert west["location"]["id"] != east["location"]["id"]
    assert east["location"]["id"] == "gym"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"from": {"unitId": "none"}}, "from.unitId"),
        ({"from": {"unitId": "gym"}}, "from.unitId"),  # a location
        ({"from": {"unitId": "lower-east", "floorId": "upper"}}, "from.floorId"),
        ({"from": {"id": "gym", "unitId": "lower-east"}}, "from"),
        ({"from": {"id": "none"}}, "from.id"),
        ({"from": {"id": "p1"}}, "from.id"),  # of another map
        ({"to": {"id": "none"}}, "to.id"),
        ({"to": {**BY_THE_GYM, "floorId": "n-2"}}, "to.floorId"),  # of another asset
        ({"from": {}}, "from"),
    ],
)
async def test_what_is_wrong_with_a_route_is_named(
    client: httpx.AsyncClient, given: dict[str, Any], field: str
) -> None:
    fields = await invalid_fields(
        client, ROUTE, **{"map": "tower", "from": GYM, "to": BY_THE_GYM, **given}
    )
    assert [*fields] == [field]


async def test_a_map_without_a_network_has_no_routes(client: httpx.AsyncClient) -> None:
    start = {"x": 1, "y": 1, "floorId": "lower"}
    for query in (ROUTE, NEAREST):
        ends = {"from": start, "to": start} if query == ROUTE else {"from": start}
        fields = await invalid_fields(client, query, map="plain", **ends)
        assert fields == {"map": ["'plain' has not been processed for pathfinding"]}


async def test_a_map_that_the_key_does_not_see_is_null(client: httpx.AsyncClient) -> None:
    for query, ends in ((ROUTE, {"from": GYM, "to": GYM}), (NEAREST, {"from": GYM})):
        assert await data_of(client, query, {"map": "none", **ends}) == {"map": None}


async def test_the_nearest_come_first(client: httpx.AsyncClient) -> None:
    response = await client.get("/v1/maps/tower/nearest?from=90,25,lower&tags=svc:id&limit=2")
    found = response.json()["data"]
    assert found[0]["location"]["id"] == "gym"
    assert found[0]["time"] <= found[1]["time"]
    assert len(found) == 2
    refused = await client.get("/v1/maps/plain/nearest?from=p1")
    assert refused.status_code == 422
    [nearest] = await find_nearest(client, GYM, limit=1)
    assert nearest["location"]["id"] != "gym"


async def test_every_location_of_the_network_is_as_far_as_its_route(
    client: httpx.AsyncClient,
) -> None:
    found = await find_nearest(client, BY_THE_GYM)
    listed = (await client.get("/v1/maps/tower/locations")).json()["data"]
    routable = {each["id"] for each in listed} - {"desk", "twin", "other"}
    assert {near["location"]["id"] for near in found} == routable
    assert [near["time"] for near in found] == sorted(near["time"] for near in found)
    for near in found:
        route = await find_route(client, BY_THE_GYM, near["location"])
        assert (near["distance"], near["time"]) == pytest.approx(
            (route["feet"], route["seconds"]), abs=0.002
        )


async def test_the_start_is_not_among_the_nearest(client: httpx.AsyncClient) -> None:
    found = await find_nearest(client, GYM)
    assert found
    assert "gym" not in [near["location"]["id"] for near in found]


@pytest.mark.parametrize(
    ("tags", "found"),
    [("sport==yes", ["gym"]), ("sport,-svc:id", []), ("none", []), ("-svc:id", [])],
)
async def test_the_nearest_meet_every_term(
    client: httpx.AsyncClient, tags: str, found: list[str]
) -> None:
    nearest = await find_nearest(client, BY_THE_GYM, tags=tags)
    assert [near["location"]["id"] for near in nearest] == found


async def test_a_limit_of_null_is_the_default_one(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "DEFAULT_NEAREST", 2)
    assert len(await find_nearest(client, GYM, limit=None)) == 2
    assert [*await invalid_fields(client, NEAREST, **{"map": "tower", "from": GYM}, limit=0)] == [
        "limit"
    ]


async def test_more_candidates_than_can_be_compared_are_an_error(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "MAX_CANDIDATES", 2)
    fields = await invalid_fields(client, NEAREST, **{"map": "tower", "from": GYM})
    assert fields == {"tags": ["must leave fewer than 2 locations; add a term"]}
    assert await find_nearest(client, BY_THE_GYM, tags="sport")


async def test_searches_of_a_map_run_one_at_a_time(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    running: list[str] = []

    def alone(search: Any) -> Any:
        def run(*arguments: Any) -> Any:
            assert not running  # two at once end the process
            running.append("search")
            time.sleep(0.01)  # time for another thread to begin
            found = search(*arguments)
            running.clear()
            return found

        return run

    for name in ("matrix", "route"):
        monkeypatch.setattr(Router, name, alone(getattr(Router, name)))
    waypoints = {"a": BY_THE_GYM, "b": CLOSET}
    fields = (
        "distanceMatrix(sources: [$a], targets: [$b]) { distanceMethod }",
        "route(from: $a, to: $b) { feet }",
        "nearest(from: $a) { time }",
    )
    selected = " ".join(f"f{n}_{m}: {text}" for n in range(5) for m, text in enumerate(fields))
    text = f'query ($a: WaypointInput!, $b: WaypointInput!) {{ map(id: "tower") {{ {selected} }} }}'
    found = (await data_of(client, text, waypoints))["map"]
    assert len(found) == 15
