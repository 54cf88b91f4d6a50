"""Clients avoid stairs, escalators, lifts and what is outdoors."""

from typing import Any

import httpx
import pytest

from tests.fixtures import data_of
from tests.resolvers.yard import PLACES, measure

pytestmark = pytest.mark.anyio

ROUTE = """query (
    $from: WaypointInput!, $to: WaypointInput!, $mode: TravelMode, $avoid: [Avoidable!]
) {
    map(id: "yard") { route(from: $from, to: $to, mode: $mode, avoid: $avoid) {
        legs { connectorKind }
    } }
}"""


async def kinds(walker: httpx.AsyncClient, ends: str, **given: Any) -> list[str] | None:
    """The kinds of connectors on a route; None if there is no route."""
    start, end = (PLACES[name] for name in ends)
    found = await data_of(walker, ROUTE, {"from": start, "to": end, **given})
    route = found["map"]["route"]
    return route and [leg["connectorKind"] for leg in route["legs"] if leg["connectorKind"]]


async def test_a_route_avoids_stairs_and_lifts(walker: httpx.AsyncClient) -> None:
    assert await kinds(walker, "BD") == ["steps"]
    for nothing in (None, [], ["escalators"]):
        assert await kinds(walker, "BD", avoid=nothing) == ["steps"]
    assert await kinds(walker, "BD", avoid=["stairs"]) == ["elevator"]
    assert await kinds(walker, "BD", avoid=["lifts"]) == ["steps"]
    assert await kinds(walker, "BD", avoid=["stairs", "lifts"]) is None
    assert await kinds(walker, "BD", avoid=["lifts"], mode="wheelchair") is None


async def test_what_is_outdoors_is_avoided_upstairs(walker: httpx.AsyncClient) -> None:
    assert await kinds(walker, "AB") == []
    assert await kinds(walker, "AB", avoid=["outdoors"]) == ["elevator", "steps"]
    assert await kinds(walker, "AB", avoid=["outdoors", "stairs"]) is None
    assert await kinds(walker, "CD", avoid=["outdoors"]) == []


async def test_a_matrix_avoids_as_a_route_does(walker: httpx.AsyncClient) -> None:
    straight = await measure(walker, "AB")
    assert straight > 160
    assert await measure(walker, "AB", avoid=["outdoors"]) > straight
    assert await measure(walker, "AB", avoid=["outdoors", "lifts"]) is None
    assert await measure(walker, "AB", "wheelchair", avoid=["outdoors"]) is None


async def test_straight_lines_avoid_nothing(walker: httpx.AsyncClient) -> None:
    start, end = ({**PLACES[name], "floor_id": "lower"} for name in "AB")
    data = {
        "sources": [start],
        "targets": [end],
        "distance_method": "euclidean",
        "costing_options": {"pedestrian": {"avoid": ["outdoors", "lifts"]}},
    }
    response = await walker.post("/v1/maps/yard/distance-matrix", json={"data": data})
    assert response.json()["data"]["sources"][0]["targets"][0]["distance"] == 160


async def test_what_is_avoided_is_no_reason_for_straight_lines(walker: httpx.AsyncClient) -> None:
    in_the_yard = {"x": 50, "y": 35, "floor_id": "lower"}
    data = {
        "sources": [{"x": 10, "y": 10, "floor_id": "lower"}],
        "targets": [in_the_yard],
        "costing_options": {"pedestrian": {"avoid": ["outdoors"]}},
    }
    response = await walker.post("/v1/maps/yard/distance-matrix", json={"data": data})
    body = response.json()["data"]
    assert body["distance_method"] == "pathfinding"
    assert body["sources"][0]["targets"][0]["distance"] is None


async def test_rest_has_a_list_with_commas(walker: httpx.AsyncClient) -> None:
    path = "/v1/maps/yard/route?from=90,10,lower&to=90,10,upper"
    avoiding = (await walker.get(f"{path}&avoid=stairs,escalators")).json()["data"]
    assert avoiding["legs"][1]["connector_kind"] == "elevator"
    assert (await walker.get(f"{path}&avoid=stairs,lifts")).json() == {"data": None}
    located = (await walker.get("/v1/maps/yard/locations")).json()["data"]
    names = {each["id"]: each["name"] for each in located}
    near = "/v1/maps/yard/nearest?from=10,10,lower&limit=10"
    found = (await walker.get(f"{near}&avoid=outdoors,lifts")).json()["data"]
    assert [names[each["location"]["id"]] for each in found] == ["lower west"]
    assert len((await walker.get(near)).json()["data"]) == 4


@pytest.mark.parametrize("avoid", ["stairs,rain", "stairs,"])
async def test_only_what_can_be_avoided_is_accepted(walker: httpx.AsyncClient, avoid: str) -> None:
    response = await walker.get(f"/v1/maps/yard/nearest?from=10,10,lower&avoid={avoid}")
    assert response.status_code == 422
    wrong = avoid.rpartition(",")[2]
    expected = f"must be stairs, escalators, lifts or outdoors, not {wrong!r}"
    assert response.json()["fields"] == {"avoid": [expected]}


async def test_a_matrix_names_where_the_wrong_value_is(walker: httpx.AsyncClient) -> None:
    place = {"x": 10, "y": 10, "floor_id": "lower"}
    for avoid, error in {
        ("rain",): "must be stairs, escalators, lifts or outdoors, not 'rain'",
        ("stairs",) * 5: "must hold 0 to 4 values, not 5",
    }.items():
        options = {"pedestrian": {"avoid": avoid}}
        data = {"sources": [place], "targets": [place], "costing_options": options}
        response = await walker.post("/v1/maps/yard/distance-matrix", json={"data": data})
        assert response.status_code == 422
        path = "data.costing_options.pedestrian.avoid"
        assert response.json()["fields"] == {path: [error]}


async def test_what_is_within_reach_is_so_without_what_is_avoided(
    walker: httpx.AsyncClient,
) -> None:
    async def reach(avoid: str = "") -> tuple[set[str], set[str]]:
        """The units and floors within reach."""
        path = f"/v1/maps/yard/reachable?from=10,10,lower&minutes=60{avoid}"
        found = (await walker.get(path)).json()["data"]
        units = {each["unit"]["id"] for each in found["units"]}
        return units, {area["floor_id"] for area in found["areas"]}

    units, floors = await reach()
    assert len(units) == 4
    assert floors == {"lower", "upper"}
    assert await reach("&avoid=outdoors") == (units, floors)
    alone, below = await reach("&avoid=outdoors,lifts")
    assert len(alone) == 1
    assert below == {"lower"}
