"""Routes between two waypoints of a routable map: their legs, and steps that say what to do."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from resolvers import routes as steps
from storage.catalog import UNITS
from tests.fixtures import SEEN, World, data_of, gateway_client, make_key, open_database
from tests.resolvers.tower import FLAGS, ask_matrix, unit_locations
from tests.resolvers.yard import PLACES, yard_client

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("no_processes")]

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
    monkeypatch.setattr(steps, "MAX_UNITS_TO_NAME", 0)
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
