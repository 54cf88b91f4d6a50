"""Distances between waypoints of a routable map."""

from pathlib import Path
from typing import Any

import pytest

from resolvers.processing.pipeline import is_processed
from storage import networks
from storage.publication import Publication
from tests.fixtures import World, gateway_client
from tests.resolvers.tower import (
    CATALOG,
    FLAGS,
    ask_matrix,
    import_more,
    processed,
    tower,
    unit_locations,
)
from tests.rest.openapi.described import errors_of
from tests.storage.catalogs import ARCHIVE

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

MATRIX = "/v1/unitmaps/{unitMapId}/distance-matrix"


async def test_distances_follow_the_walkable_space(own_world: World, tmp_path: Path) -> None:
    async with processed(own_world, tmp_path) as client:
        located = await unit_locations(client)
        sources = [{"id": located["lower-west"]}]
        targets = [{"id": "gym"}, {"id": located["upper-west"]}, {"id": located["lower-west"]}]
        response = await ask_matrix(client, sources=sources, targets=targets)
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


async def test_wheelchairs_take_no_narrow_door(own_world: World, tmp_path: Path) -> None:
    async with processed(own_world, tmp_path) as client:
        closet = {"x": 65, "y": 10, "floor_id": "upper"}
        asked: dict[str, Any] = {"sources": [{"id": "gym"}], "targets": [closet]}
        wheelchair: dict[str, Any] = {"costing_options": {"pedestrian": {"mode": "wheelchair"}}}
        walking = await ask_matrix(client, **asked)
        wheeling = await ask_matrix(client, **asked, **wheelchair)
        on_foot = walking.json()["data"]["sources"][0]["targets"][0]
        rolling = wheeling.json()["data"]
        assert on_foot["distance"] > 0
        assert rolling["distance_method"] == "pathfinding"
        target = rolling["sources"][0]["targets"][0]
        assert (target["distance"], target["time"]) == (None, None)
        assert errors_of(walking, MATRIX) == errors_of(wheeling, MATRIX) == []


async def test_coordinates_win_over_the_id_which_is_echoed(
    own_world: World, tmp_path: Path
) -> None:
    async with processed(own_world, tmp_path) as client:
        body = await ask_matrix(
            client,
            sources=[{"id": "gym", "x": 10, "y": 25, "floor_id": "lower"}],
            targets=[{"x": 60, "y": 25, "floorId": "lower"}],
        )
        [source] = body.json()["data"]["sources"]
        assert (source["id"], source["name"], source["x"]) == ("gym", "Gym", 10)
        target = source["targets"][0]
        assert "id" not in target
        assert (target["floor_id"], target["distance"]) == ("lower", 50)


async def test_a_location_as_it_is_listed_is_that_location(
    own_world: World, tmp_path: Path
) -> None:
    async with processed(own_world, tmp_path) as client:
        listed = (await client.get("/v1/maps/tower/locations")).json()["data"]
        objects = [{**each, "floor_id": each["floors"][0]["id"]} for each in listed]
        by_id = [{"id": each["id"]} for each in listed]
        response = await ask_matrix(client, sources=objects, targets=objects)
        assert response.json() == (await ask_matrix(client, sources=by_id, targets=by_id)).json()


async def test_an_id_of_the_clients_own_is_echoed_with_coordinates(
    own_world: World, tmp_path: Path
) -> None:
    async with processed(own_world, tmp_path) as client:
        body = await ask_matrix(client, sources=[{**PLACE, "id": "me"}], targets=[{"id": "gym"}])
        assert body.json()["data"]["sources"][0]["id"] == "me"


async def test_a_location_that_came_after_processing_is_a_place_like_any_other(
    own_world: World, tmp_path: Path
) -> None:
    async with processed(own_world, tmp_path) as client:
        desk = {**CATALOG["locations"][0], "id": "desk", "x": 10, "y": 25, "tags": []}
        await import_more(own_world, tmp_path, locations=[desk])
        body = await ask_matrix(client, sources=[{"id": "desk"}], targets=[{**PLACE, "x": 60}])
        data = body.json()["data"]
        assert data["distance_method"] == "pathfinding"
        assert data["sources"][0]["targets"][0]["distance"] == 50


async def test_a_floor_that_the_plan_does_not_show_is_out_of_reach(
    own_world: World, tmp_path: Path
) -> None:
    async with processed(own_world, tmp_path) as client:
        attic = {"id": "attic", "asset_id": "tower", "name": "Attic", "sort": 3}
        await import_more(own_world, tmp_path, floors=[attic])
        asked: dict[str, Any] = {
            "sources": [{**PLACE, "floor_id": "attic"}],
            "targets": [PLACE, {"id": "gym"}],
        }
        for method, used in (("default", "euclidean"), ("pathfinding", "pathfinding")):
            data = (await ask_matrix(client, **asked, distance_method=method)).json()["data"]
            assert data["distance_method"] == used
            distance = data["sources"][0]["targets"][0]["distance"]
            assert distance == (0 if used == "euclidean" else None)
        route = await client.get("/v1/maps/tower/route?from=1,25,attic&to=gym")
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


async def test_a_location_is_on_its_own_floors_only(own_world: World, tmp_path: Path) -> None:
    async with processed(own_world, tmp_path) as client:
        elsewhere = {"id": "gym", "floor_id": "upper"}
        response = await ask_matrix(client, sources=[elsewhere], targets=[PLACE])
        assert response.status_code == 422
        assert list(response.json()["fields"]) == ["data.sources[0].floor_id"]


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
async def test_input_is_checked_before_existence(own_world: World, path: str) -> None:
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        assert (await client.get(f"/v1/maps/nope/{path}", headers=FLAGS)).status_code == 422
        refused = await client.post(
            "/v1/maps/nope/distance-matrix",
            json={"data": {"sources": [], "targets": [PLACE]}},
            headers=FLAGS,
        )
        assert refused.status_code == 422


async def test_default_falls_back_to_straight_lines(own_world: World, tmp_path: Path) -> None:
    async with processed(own_world, tmp_path) as client:
        outside = {"x": 50, "y": 130, "floor_id": "lower"}  # 100 ft from the corridor
        inside = {"x": 50, "y": 30, "floor_id": "upper"}
        for given, used in (("default", "euclidean"), ("pathfinding", "pathfinding")):
            body = await ask_matrix(
                client, sources=[outside], targets=[inside], distance_method=given
            )
            data = body.json()["data"]
            assert data["distance_method"] == used
            distance = data["sources"][0]["targets"][0]["distance"]
            assert distance == (100 if used == "euclidean" else None)


async def test_a_map_that_was_not_processed_knows_straight_lines(
    own_world: World, tmp_path: Path
) -> None:
    async with processed(own_world, tmp_path) as client:
        asked = {"sources": [{"id": "p1"}], "targets": [{"x": 3, "y": 4, "floor_id": "upper"}]}
        data = (await ask_matrix(client, "plain", **asked)).json()["data"]
        assert data["distance_method"] == "euclidean"
        assert data["sources"][0]["targets"][0]["distance"] == 2.5
        response = await ask_matrix(client, "plain", **asked, distance_method="pathfinding")
        assert response.status_code == 422
        response = await ask_matrix(
            client, "unscaled", sources=asked["targets"], targets=asked["targets"]
        )
        assert response.status_code == 422
        assert "feet_per_unit" in response.json()["message"]


PLACE = {"x": 1, "y": 25, "floor_id": "lower"}


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({"sources": []}, "data.sources"),
        ({"targets": []}, "data.targets"),
        ({"sources": [PLACE] * 6, "targets": [PLACE] * 9}, "data.sources"),
        ({"sources": [{}]}, "data.sources[0]"),
        ({"sources": [{"x": 1, "floor_id": "lower"}]}, "data.sources[0]"),
        ({"sources": [{"x": 1, "y": 2}]}, "data.sources[0]"),
        ({"targets": [PLACE, {"id": "nope"}]}, "data.targets[1].id"),
        ({"targets": [{"id": "p1"}]}, "data.targets[0].id"),  # of another map
        ({"targets": [{**PLACE, "floor_id": "n-2"}]}, "data.targets[0].floor_id"),
        ({"targets": [{**PLACE, "id": ""}]}, "data.targets[0].id"),
        ({"costing": "auto"}, "data.costing"),
        (
            {"costing_options": {"pedestrian": {"mode": "run"}}},
            "data.costing_options.pedestrian.mode",
        ),
        ({"costing_options": {"pedestrain": {}}}, "data.costing_options.pedestrain"),
        (
            {"costing_options": {"pedestrian": {"mod": "foot"}}},
            "data.costing_options.pedestrian.mod",
        ),
        ({"costingOptions": {"pedestrian": {"mode": "wheelchair"}}}, "data.costingOptions"),
        ({"distance_method": "crow"}, "data.distance_method"),
    ],
)
async def test_invalid_input_is_rejected(
    own_world: World, tmp_path: Path, data: dict[str, Any], field: str
) -> None:
    async with tower(own_world, tmp_path):
        pass
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        client.headers.update(FLAGS)
        response = await ask_matrix(client, **{"sources": [PLACE], "targets": [PLACE], **data})
        assert response.status_code == 422, response.text
        assert list(response.json()["fields"]) == [field]


async def test_rest_and_graphql_use_their_own_argument_names_in_errors(
    own_world: World, tmp_path: Path
) -> None:
    async with processed(own_world, tmp_path) as client:
        places = """sources: [{id: "gym", floorId: "upper"}], targets: [{id: "gym"}]"""
        query = f"""{{ map(id: "tower") {{ distanceMatrix({places}) {{ distanceMethod }} }} }}"""
        answer = (await client.post("/graphql", json={"query": query})).json()
        assert list(answer["errors"][0]["extensions"]["fields"]) == ["sources[0].floorId"]
        response = await client.get("/v1/maps/tower/route?from=1,25,attic&to=gym")
        assert list(response.json()["fields"]) == ["from"]


async def test_infinite_numbers_are_rejected(own_world: World, tmp_path: Path) -> None:
    async with tower(own_world, tmp_path):
        pass
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        body = '{"data": {"sources": [{"x": 1e999, "y": 0, "floor_id": "lower"}], "targets": []}}'
        response = await client.post(
            "/v1/maps/tower/distance-matrix",
            content=body,
            headers={**FLAGS, "Content-Type": "application/json"},
        )
        assert response.status_code == 422
