"""Distances between waypoints of a routable map."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from resolvers.processing.pipeline import is_processed
from storage import networks
from storage.publication import Publication
from tests.fixtures import World, gateway_client
from tests.resolvers.tower import FLAGS, ask_matrix, tower, unit_locations
from tests.rest.openapi.described import errors_of
from tests.storage.catalogs import ARCHIVE

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("no_processes")]

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
