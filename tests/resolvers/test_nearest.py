"""The locations that are nearest to a waypoint of a map, to several of them, or to units."""

import time
from typing import Any

import httpx
import pytest

from resolvers import routes
from routing.search.router import Router
from tests.fixtures import data_of
from tests.resolvers.conftest import LATER

pytestmark = pytest.mark.anyio

GYM = {"id": "gym"}
BY_THE_GYM = {"x": 90, "y": 25, "floorId": "lower"}
CLOSET = {"x": 65, "y": 10, "floorId": "upper", "name": "Closet"}
"""A room with a door that is too narrow for wheelchairs."""
NOWHERE = {"x": 50, "y": 500, "floorId": "lower"}
FROM_SOURCES = """query (
    $sources: [WaypointInput!]!, $tags: String, $limit: Int, $mode: TravelMode, $avoid: [Avoidable!]
) { map(id: "tower") {
    nearestFromSources(sources: $sources, tags: $tags, limit: $limit, mode: $mode, avoid: $avoid) {
        index waypointId name locations { distance time location { id } }
    }
} }"""
FROM_ONE = """query (
    $map: ID! = "tower", $from: WaypointInput!, $tags: String, $limit: Int, $mode: TravelMode,
    $avoid: [Avoidable!]
) { map(id: $map) {
    nearest(from: $from, tags: $tags, limit: $limit, mode: $mode, avoid: $avoid) {
        distance time location { id }
    }
} }"""
OF_UNITS = """query ($limit: Int, $map: ID, $tags: String) {
    units(asset: "tower", perPage: 5) { data { id nearest(limit: $limit, map: $map, tags: $tags) {
        distance time location { id }
    } } }
}"""


async def find_nearest(walker: httpx.AsyncClient, start: Any, **given: Any) -> Any:
    return (await data_of(walker, FROM_ONE, {"from": start, **given}))["map"]["nearest"]


async def find_from_sources(walker: httpx.AsyncClient, *sources: Any, **given: Any) -> Any:
    data = await data_of(walker, FROM_SOURCES, {"sources": sources, **given})
    return data["map"]["nearestFromSources"]


async def find_of_units(walker: httpx.AsyncClient, **given: Any) -> dict[str, Any]:
    body = (await walker.post("/graphql", json={"query": OF_UNITS, "variables": given})).json()
    return {unit["id"]: unit["nearest"] for unit in body["data"]["units"]["data"]}


async def test_every_location_of_the_network_is_as_far_as_its_route_and_the_nearest_come_first(
    walker: httpx.AsyncClient,
) -> None:
    query = """query ($from: WaypointInput!, $to: WaypointInput!) {
        map(id: "tower") { route(from: $from, to: $to) { feet seconds } }
    }"""
    found = await find_nearest(walker, BY_THE_GYM)
    listed = (await walker.get("/v1/maps/tower/locations")).json()["data"]
    routable = {each["id"] for each in listed} - {each["id"] for each in LATER}
    assert {near["location"]["id"] for near in found} == routable
    assert found[0]["location"]["id"] == "gym"
    assert [near["time"] for near in found] == sorted(near["time"] for near in found)
    for near in found:
        ends = {"from": BY_THE_GYM, "to": near["location"]}
        route = (await data_of(walker, query, ends))["map"]["route"]
        walk = pytest.approx((route["feet"], route["seconds"]), abs=0.002)
        assert (near["distance"], near["time"]) == walk
    path = "/v1/maps/tower/nearest?from=90,25,lower&tags=svc:id&limit=2"
    first = (await walker.get(path)).json()["data"]
    assert [each["location"]["id"] for each in first] == [
        each["location"]["id"] for each in found[:2]
    ]


async def test_a_location_and_its_unit_are_not_among_what_is_nearest_to_them(
    walker: httpx.AsyncClient,
) -> None:
    expected = await find_nearest(walker, GYM)
    assert expected
    assert "gym" not in [near["location"]["id"] for near in expected]
    for start in ({"id": "lower-east"}, {"unitId": "lower-east"}):
        assert await find_nearest(walker, start) == expected


async def test_a_location_precedes_a_unit_of_the_same_id(walker: httpx.AsyncClient) -> None:
    # "twin" is a location in the west and, elsewhere, the unit of another location
    [west] = await find_nearest(walker, {"id": "twin"}, limit=1)
    [east] = await find_nearest(walker, {"unitId": "twin"}, limit=1)
    assert west["location"]["id"] != east["location"]["id"] == "gym"


@pytest.mark.parametrize(
    ("tags", "found"), [("sport==yes", ["gym"]), ("sport,-svc:id", []), ("-svc:id", [])]
)
async def test_the_nearest_meet_every_term(
    walker: httpx.AsyncClient, tags: str, found: list[str]
) -> None:
    nearest = await find_nearest(walker, BY_THE_GYM, tags=tags)
    assert [near["location"]["id"] for near in nearest] == found


async def test_as_many_are_found_as_are_asked_for(
    walker: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "DEFAULT_NEAREST", 2)
    assert len(await find_nearest(walker, GYM, limit=None)) == 2
    assert len(await find_nearest(walker, GYM, limit=3)) == 3
    for limit, status in ((0, 422), (1, 200), (100, 200), (101, 422)):
        response = await walker.get(f"/v1/maps/tower/nearest?from=gym&limit={limit}")
        assert response.status_code == status


@pytest.mark.parametrize(("most", "is_found"), [(7, False), (8, True)])
async def test_more_candidates_than_can_be_compared_are_an_error(
    walker: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, most: int, is_found: bool
) -> None:
    monkeypatch.setattr(routes, "MAX_CANDIDATES", most)
    response = await walker.get("/v1/maps/tower/nearest?from=90,25,lower")
    assert (response.status_code == 200) is is_found
    if not is_found:
        message = "must leave fewer than 7 locations; add a term"
        assert response.json()["fields"] == {"tags": [message]}
    assert await find_nearest(walker, BY_THE_GYM, tags="sport")


async def test_a_map_without_a_network_has_nothing_near(walker: httpx.AsyncClient) -> None:
    refused = await walker.get("/v1/maps/plain/nearest?from=p1")
    assert refused.status_code == 422
    assert "'plain' has not been processed for pathfinding" in refused.json()["message"]
    assert await data_of(walker, FROM_ONE, {"map": "none", "from": GYM}) == {"map": None}


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"limit": 1, "tags": "sport"},
        {"mode": "wheelchair"},
        {"avoid": ["lifts", "stairs"]},
    ],
)
async def test_each_source_has_what_is_nearest_to_it_alone(
    walker: httpx.AsyncClient, given: dict[str, Any]
) -> None:
    sources = [GYM, BY_THE_GYM, CLOSET, {"unitId": "upper-west"}, GYM, NOWHERE]
    found = await find_from_sources(walker, *sources, **given)
    for source, row in zip(sources, found, strict=True):
        assert row["locations"] == await find_nearest(walker, source, **given)


async def test_sources_come_in_the_order_of_the_request_and_repeat_its_ids(
    walker: httpx.AsyncClient,
) -> None:
    found = await find_from_sources(walker, {"unitId": "lower-east"}, CLOSET, GYM)
    assert [(row["index"], row["waypointId"], row["name"]) for row in found] == [
        (0, "lower-east", "Gym"),
        (1, None, "Closet"),
        (2, "gym", "Gym"),
    ]


async def test_all_sources_take_one_matrix(
    walker: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []
    compute = Router.matrix

    def count(router: Router, sources: Any, *others: Any) -> Any:
        sizes.append(len(sources))
        return compute(router, sources, *others)

    monkeypatch.setattr(Router, "matrix", count)
    await find_from_sources(walker, *[BY_THE_GYM] * 20)
    assert sizes == [20]
    sizes.clear()
    found = await find_of_units(walker, map="tower")
    assert sizes == [len(found)]


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ([], "sources: must hold 1 to 20 waypoints, not 0"),
        ([GYM] * 21, "The operation passes 21 waypoints in one list, over the limit of 20"),
        ([GYM, {"id": "none"}], "sources[1].id: must be a location of this map"),
    ],
)
async def test_what_is_wrong_with_a_source_is_named(
    walker: httpx.AsyncClient, sources: list[Any], message: str
) -> None:
    request = {"query": FROM_SOURCES, "variables": {"sources": sources}}
    body = (await walker.post("/graphql", json=request)).json()
    [error] = body["errors"]
    assert error["message"].startswith(message)
    assert body.get("data") in ({"map": {"nearestFromSources": None}}, None)


async def test_a_unit_has_what_is_nearest_to_its_location(walker: httpx.AsyncClient) -> None:
    found = await find_of_units(walker, map="tower", limit=3)
    assert len(found) == 4
    assert {*(await find_of_units(walker, map="none")).values()} == {None}
    for unit_id, nearest in found.items():
        assert nearest == await find_nearest(walker, {"unitId": unit_id}, limit=3)
        assert len(nearest) == 3


async def test_a_unit_starts_at_its_first_location_as_the_field_location_has_it(
    walker: httpx.AsyncClient,
) -> None:
    body = (await walker.post("/graphql", json={"query": OF_UNITS})).json()
    found = {unit["id"]: unit["nearest"] for unit in body["data"]["units"]["data"]}
    # The first location of this unit is on a map without a network; the others keep their data.
    assert found.pop("lower-east") is None
    assert all(found.values())
    [error] = body["errors"]
    assert error["path"][-1] == "nearest"
    assert error["message"] == "map: 'plain' has not been processed for pathfinding"


async def test_too_many_candidates_are_an_error_of_each_unit(
    walker: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "MAX_CANDIDATES", 2)
    query = {"query": OF_UNITS, "variables": {"map": "tower", "limit": 9}}
    body = (await walker.post("/graphql", json=query)).json()
    errors = body["errors"]
    assert len(errors) == 4
    assert {error["message"] for error in errors} == {
        "tags: must leave fewer than 2 locations; add a term"
    }


async def test_searches_of_a_map_run_one_at_a_time(
    walker: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
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
    found = (await data_of(walker, text, waypoints))["map"]
    assert len(found) == 15
