"""What is nearest to several waypoints of a map in one request, and to units."""

import uuid
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from resolvers import routes
from routing.search.router import Router
from tests.fixtures import create_world, data_of, drop_world
from tests.resolvers.tower import CATALOG, processed

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

GYM = {"id": "gym"}
BY_THE_GYM = {"x": 90, "y": 25, "floorId": "lower"}
CLOSET = {"x": 65, "y": 10, "floorId": "upper", "name": "Closet"}
"""A room with a door that is too narrow for wheelchairs."""
NOWHERE = {"x": 50, "y": 500, "floorId": "lower"}
UNIT_ON_TWO_MAPS = {
    **CATALOG["locations"][1],
    "id": "a-plain-gym",
    "tags": [{"key": "svc:id", "value": "lower-east"}],
}
"""A location of the gym's unit on a map without a network; the first by its id."""

FROM_SOURCES = """query (
    $sources: [WaypointInput!]!, $tags: String, $limit: Int, $mode: TravelMode, $avoid: [Avoidable!]
) { map(id: "tower") {
    nearestFromSources(sources: $sources, tags: $tags, limit: $limit, mode: $mode, avoid: $avoid) {
        index waypointId name locations { distance time location { id } }
    }
} }"""
FROM_ONE = """query (
    $from: WaypointInput!, $tags: String, $limit: Int, $mode: TravelMode, $avoid: [Avoidable!]
) { map(id: "tower") {
    nearest(from: $from, tags: $tags, limit: $limit, mode: $mode, avoid: $avoid) {
        distance time location { id }
    }
} }"""
OF_UNITS = """query ($limit: Int, $map: ID, $tags: String) {
    units(asset: "tower", perPage: 5) { data { id nearest(limit: $limit, map: $map, tags: $tags) {
        distance time location { id }
    } } }
}"""


@pytest.fixture(scope="module")
async def client(
    mongo_url: str, tmp_path_factory: pytest.TempPathFactory, anyio_backend: str
) -> AsyncIterator[httpx.AsyncClient]:
    directory = tmp_path_factory.mktemp("nearest")
    world = await create_world(mongo_url, uuid.uuid4().hex, directory / "world.json")
    async with processed(world, directory, locations=[UNIT_ON_TWO_MAPS]) as client:
        yield client
    drop_world(world)


async def find_from_sources(client: httpx.AsyncClient, *sources: Any, **given: Any) -> Any:
    data = await data_of(client, FROM_SOURCES, {"sources": sources, **given})
    return data["map"]["nearestFromSources"]


async def find_of_units(client: httpx.AsyncClient, **given: Any) -> dict[str, Any]:
    body = (await client.post("/graphql", json={"query": OF_UNITS, "variables": given})).json()
    return {unit["id"]: unit["nearest"] for unit in body["data"]["units"]["data"]}


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"limit": 1},
        {"limit": None},
        {"tags": "sport"},
        {"tags": "none"},
        {"mode": "wheelchair"},
        {"avoid": ["lifts", "stairs"]},
    ],
)
async def test_each_source_has_what_is_nearest_to_it_alone(
    client: httpx.AsyncClient, given: dict[str, Any]
) -> None:
    sources = [GYM, BY_THE_GYM, CLOSET, {"unitId": "upper-west"}, GYM, NOWHERE]
    found = await find_from_sources(client, *sources, **given)
    for source, row in zip(sources, found, strict=True):
        alone = await data_of(client, FROM_ONE, {"from": source, **given})
        assert row["locations"] == alone["map"]["nearest"]


async def test_sources_come_in_the_order_of_the_request_and_repeat_its_ids(
    client: httpx.AsyncClient,
) -> None:
    found = await find_from_sources(client, {"unitId": "lower-east"}, CLOSET, GYM)
    assert [(row["index"], row["waypointId"], row["name"]) for row in found] == [
        (0, "lower-east", "Gym"),
        (1, None, "Closet"),
        (2, "gym", "Gym"),
    ]


async def test_all_sources_take_one_matrix(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []
    compute = Router.matrix

    def count(router: Router, sources: Any, *others: Any) -> Any:
        sizes.append(len(sources))
        return compute(router, sources, *others)

    monkeypatch.setattr(Router, "matrix", count)
    await find_from_sources(client, *[BY_THE_GYM] * 20)
    assert sizes == [20]
    sizes.clear()
    found = await find_of_units(client, map="tower")
    assert sizes == [len(found)]


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ([], "sources: must hold 1 to 20 waypoints, not 0"),
        ([GYM, {"id": "none"}], "sources[1].id: must be a location of this map"),
    ],
)
async def test_what_is_wrong_with_a_source_is_named(
    client: httpx.AsyncClient, sources: list[Any], message: str
) -> None:
    request = {"query": FROM_SOURCES, "variables": {"sources": sources}}
    body = (await client.post("/graphql", json=request)).json()
    [error] = body["errors"]
    assert error["message"].startswith(message)
    assert body["data"] == {"map": {"nearestFromSources": None}}


async def test_more_sources_than_a_request_may_have_are_refused(client: httpx.AsyncClient) -> None:
    request = {"query": FROM_SOURCES, "variables": {"sources": [GYM] * 21}}
    [error] = (await client.post("/graphql", json=request)).json()["errors"]
    assert error["extensions"]["code"] == "LIMIT_EXCEEDED"
    assert "21 waypoints in one list, over the limit of 20" in error["message"]


async def test_a_unit_has_what_is_nearest_to_its_location(client: httpx.AsyncClient) -> None:
    found = await find_of_units(client, map="tower", limit=3)
    assert len(found) == 4
    for unit_id, nearest in found.items():
        alone = await data_of(client, FROM_ONE, {"from": {"unitId": unit_id}, "limit": 3})
        assert nearest == alone["map"]["nearest"]
        assert len(nearest) == 3


async def test_a_unit_starts_at_its_first_location_as_the_field_location_has_it(
    client: httpx.AsyncClient,
) -> None:
    body = (await client.post("/graphql", json={"query": OF_UNITS})).json()
    found = {unit["id"]: unit["nearest"] for unit in body["data"]["units"]["data"]}
    # The first location of this unit is on a map without a network; the others keep their data.
    assert found.pop("lower-east") is None
    assert all(found.values())
    [error] = body["errors"]
    assert error["path"][-1] == "nearest"
    assert error["message"] == "map: 'plain' has not been processed for pathfinding"


async def test_a_unit_without_a_location_has_nothing_near(client: httpx.AsyncClient) -> None:
    assert set((await find_of_units(client, map="none")).values()) == {None}


async def test_too_many_candidates_are_an_error_of_each_unit(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "MAX_CANDIDATES", 2)
    query = {"query": OF_UNITS, "variables": {"map": "tower", "limit": 9}}
    body = (await client.post("/graphql", json=query)).json()
    errors = body["errors"]
    assert len(errors) == 4
    assert {error["message"] for error in errors} == {
        "tags: must leave fewer than 2 locations; add a term"
    }
