"""The operator closes doors, connectors and spaces of a map, and opens them again."""

import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

import routing.network.restrictions as restrictions_module
from gateway.app import Gateway
from resolvers.closures import MAX_CLOSED
from routing.network.restrictions import Restrictions
from tests.fixtures import (
    SEEN,
    World,
    data_of,
    gateway_client,
    make_key,
    open_client,
    open_database,
    run_gateway,
)
from tests.resolvers.worlds import FLAGS, PLACES, measure, prepare_yard, yard_client
from tests.rest.error_bodies import read_error

pytestmark = pytest.mark.usefixtures("no_processes")

SET = """mutation ($map: ID!, $connectors: [ID!], $doors: [ID!], $spaces: [ID!]) {
    setClosures(input: { map: $map, connectors: $connectors, doors: $doors, spaces: $spaces }) {
        map { id } closures { connectors doors spaces }
    }
}"""
GET = "query ($map: ID!) { map(id: $map) { closures { connectors doors spaces } } }"
NOTHING: dict[str, list[str]] = {"connectors": [], "doors": [], "spaces": []}
LIFT, STAIRS = "lift-lower", "stairs-lower"


@pytest.fixture(scope="module")
async def clients(
    routes_world: World, routes_gateway: Gateway
) -> AsyncIterator[dict[str, httpx.AsyncClient]]:
    """Clients of two gateways on one database, with a key that does not see the map,
    and with one of an administrator who may do nothing else.
    """
    walks, admin = "service.distances.calculate", "service.admin"
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(open_database(routes_world))
        keys = {
            "limited": await make_key(
                database, "limited", permissions=(walks, admin), asset_ids=[SEEN]
            ),
            "administrator": await make_key(database, "administrator", permissions=(admin,)),
        }
        opened = {
            name: await stack.enter_async_context(open_client(routes_gateway, key))
            for name, (_, key) in keys.items()
        }
        other = gateway_client(routes_world.settings(), routes_world.keys.full)
        opened["other"] = await stack.enter_async_context(other)
        for client in opened.values():
            client.headers.update(FLAGS)
        yield opened


@pytest.fixture
async def client(walker: httpx.AsyncClient) -> AsyncIterator[httpx.AsyncClient]:
    """A client of an operator; all is open before and after."""
    yield walker
    await close(walker)


async def close(client: httpx.AsyncClient, map: str = "yard", **closed: Any) -> Any:
    return (await data_of(client, SET, {"map": map, **closed}))["setClosures"]["closures"]


async def refuse(client: httpx.AsyncClient, **given: Any) -> Any:
    body = {"query": SET, "variables": {"map": "yard", **given}}
    [error] = (await client.post("/graphql", json=body)).json()["errors"]
    extensions = error["extensions"]
    if "fields" in extensions:
        fields = extensions["fields"].items()
        extensions["fields"] = {name.removeprefix("input."): found for name, found in fields}
    return extensions


async def get_closures(client: httpx.AsyncClient, map: str = "yard") -> Any:
    return (await data_of(client, GET, {"map": map}))["map"]["closures"]


async def test_a_closed_lift_ends_the_way_of_wheelchairs_until_it_opens(
    client: httpx.AsyncClient,
) -> None:
    foot, wheelchair = await measure(client, "AC"), await measure(client, "AC", "wheelchair")
    assert foot > 0 < wheelchair
    assert await close(client, connectors=[LIFT]) == {**NOTHING, "connectors": [LIFT]}
    assert await measure(client, "AC", "wheelchair") is None
    assert await measure(client, "AC") > foot
    path = "/v1/maps/yard/route?from=10,10,lower&to=10,10,upper&mode=wheelchair"
    assert (await client.get(path)).json() == {"data": None}
    assert await close(client) == NOTHING
    assert await measure(client, "AC", "wheelchair") == wheelchair
    assert await measure(client, "AC") == foot


async def test_a_closed_space_is_walked_around_and_nothing_in_it_is_reached(
    client: httpx.AsyncClient,
) -> None:
    straight = await measure(client, "AB")
    before = (await client.get("/v1/maps/yard")).json()
    await close(client, spaces=["yard"])
    after = (await client.get("/v1/maps/yard")).json()
    assert {**after, "updated_at": ""} == {**before, "updated_at": ""}  # still routable
    assert await measure(client, "AB") > straight  # upstairs
    assert await measure(client, "AB", "wheelchair") is None
    await close(client, spaces=["lower-west"])
    assert await measure(client, "AB") is None
    near = "/v1/maps/yard/nearest?from=10,10,upper&limit=10"
    found = (await client.get(near)).json()["data"]
    names = {each["location"]["name"] for each in found}
    assert names == {"lower east", "upper west", "upper east"}


async def test_a_closure_holds_at_once_for_what_was_cached_before(
    client: httpx.AsyncClient,
) -> None:
    for _ in range(3):
        before = await measure(client, "CD")
        assert await measure(client, "CD") == before  # from the cache
        await close(client, doors=["east-door-upper"])
        assert await measure(client, "CD") is None
        assert await measure(client, "CD") is None
        await close(client)
        assert await measure(client, "CD") == before


async def test_another_gateway_learns_of_a_closure(
    client: httpx.AsyncClient, clients: dict[str, httpx.AsyncClient]
) -> None:
    other = clients["other"]
    before = await measure(other, "CD")
    await close(client, doors=["east-door-upper"])
    with anyio.fail_after(60):
        while await measure(other, "CD") is not None:
            await anyio.sleep(0.01)
    assert (await get_closures(other))["doors"] == ["east-door-upper"]
    await close(other)
    with anyio.fail_after(60):
        while await measure(client, "CD") is None:
            await anyio.sleep(0.01)
    assert await measure(client, "CD") == before


async def test_closures_are_replaced_as_a_whole_and_sorted(client: httpx.AsyncClient) -> None:
    await close(client, doors=["west-door-lower"], spaces=["yard"])
    both = ["east-door-lower", "west-door-upper"]
    for _ in range(2):
        written = await close(client, doors=[*reversed(both), both[0]], connectors=[STAIRS])
        assert written == {"connectors": [STAIRS], "doors": both, "spaces": []}
        assert await get_closures(client) == written
    response = await client.get("/v1/maps/yard/closures")
    assert response.json() == {"data": {"connectors": [STAIRS], "doors": both, "spaces": []}}


async def test_rest_replaces_closures_too(client: httpx.AsyncClient) -> None:
    path = "/v1/maps/yard/closures"
    first = await client.get(path)
    assert first.json() == {"data": NOTHING}
    closed = {"connectors": [LIFT], "doors": [], "spaces": ["yard"]}
    for data in (closed, {"connectors": [LIFT], "spaces": ["yard"], "doors": None}):
        response = await client.put(path, json={"data": data})
        assert (response.status_code, response.json()) == (200, {"data": closed})
    late = await client.put(
        path, json={"data": NOTHING}, headers={"If-Match": first.headers["etag"]}
    )
    assert late.status_code == 412
    assert (await client.get(path)).json() == {"data": closed}
    again = await client.get(path)
    matching = {"If-Match": again.headers["etag"]}
    assert (await client.put(path, json={"data": {}}, headers=matching)).json() == {"data": NOTHING}


async def test_everything_that_the_map_does_not_have_is_named(client: httpx.AsyncClient) -> None:
    refused = await refuse(
        client, doors=["yard", "west-door-lower", "gate"], spaces=["attic"], connectors=[LIFT]
    )
    assert refused["code"] == "INVALID_INPUT"
    assert refused["fields"] == {
        "doors": [
            "must be doors in the map's list `closable`, not 'gate', 'yard', which is a space"
        ],
        "spaces": ["must be spaces in the map's list `closable`, not 'attic'"],
    }
    assert await get_closures(client) == NOTHING
    many = [f"door-{number:02}" for number in range(12)]
    response = await client.put("/v1/maps/yard/closures", json={"data": {"doors": many}})
    assert response.status_code == 422
    [message] = response.json()["fields"]["data.doors"]
    assert message.endswith("'door-09' and 2 more")


async def test_lists_are_bounded(client: httpx.AsyncClient) -> None:
    many = [str(number) for number in range(MAX_CLOSED + 1)]
    expected = [f"must hold 0 to {MAX_CLOSED} ids, not {MAX_CLOSED + 1}"]
    assert (await refuse(client, spaces=many))["limit"] == "list_length"
    assert "spaces" in (await refuse(client, spaces=[""]))["fields"]
    response = await client.put("/v1/maps/yard/closures", json={"data": {"spaces": many}})
    assert response.json()["fields"] == {"data.spaces": expected}


async def test_what_can_be_closed_is_listed_with_its_places(client: httpx.AsyncClient) -> None:
    await close(client, doors=["west-door-lower"], spaces=["yard"])
    listed = (await client.get("/v1/maps/yard/closable")).json()["data"]
    by_part = {
        part: [each["id"] for each in listed if each["part"] == part]
        for part in ("connector", "door", "space")
    }
    assert by_part["connector"] == [LIFT, STAIRS]
    assert by_part["door"] == sorted(
        f"{side}-door-{floor}" for side in ("east", "west", "lift") for floor in ("lower", "upper")
    )
    assert {"yard", "gallery", "lower-west", LIFT} <= {*by_part["space"]}
    lift, hall = (
        next(each for each in listed if (each["part"], each["id"]) == key)
        for key in (("connector", LIFT), ("space", "west-hall"))
    )
    assert (lift["kind"], lift["name"]) == ("elevator", "L1")
    assert [place["floor_id"] for place in lift["places"]] == ["lower", "upper"]
    assert (hall["kind"], hall["name"]) == ("corridor", "West hall")
    [place] = hall["places"]
    assert 0 < place["x"] < 45 and 21 < place["y"] < 30  # in the map's units, not in feet


async def test_what_can_be_closed_comes_in_pages(client: httpx.AsyncClient) -> None:
    whole = (await client.get("/v1/maps/yard/closable")).json()["data"]
    url, found = "/v1/maps/yard/closable?per-page=4", []
    while url:
        page = (await client.get(url)).json()
        found += page["data"]
        url = page["paging"]["next_url"]
    assert found == whole
    second = (await client.get("/v1/maps/yard/closable?per-page=4&page=2")).json()["data"]
    assert second == whole[4:8]


async def test_a_map_that_is_not_routable_has_nothing_to_close(client: httpx.AsyncClient) -> None:
    assert (await refuse(client, map="plain", doors=["d"]))["fields"] == {
        "map": ["'plain' has not been processed for pathfinding"]
    }
    assert await close(client, "plain") == NOTHING
    assert await get_closures(client, "plain") == NOTHING
    assert (await client.get("/v1/maps/plain/closable")).json()["data"] == []


@pytest.mark.parametrize("path", ["closures", "closable", "route?from=10,10,lower&to=1,1,lower"])
async def test_a_key_that_does_not_see_the_map_gets_the_same_answers_as_for_routes(
    client: httpx.AsyncClient, clients: dict[str, httpx.AsyncClient], path: str
) -> None:
    restricted, full = clients["limited"], client
    unseen = await restricted.get(f"/v1/maps/yard/{path}")
    missing = await full.get(f"/v1/maps/missing/{path}")
    assert unseen.status_code == missing.status_code
    assert read_error(unseen) == read_error(missing)
    assert unseen.status_code == 404
    without_flag = await full.get(f"/v1/maps/yard/{path}", headers={"Experimental-Flags": ""})
    assert without_flag.status_code != 200


async def test_only_an_administrator_closes_anything(
    client: httpx.AsyncClient, clients: dict[str, httpx.AsyncClient]
) -> None:
    restricted, full = clients["limited"], client
    refused = await restricted.put("/v1/maps/yard/closures", json={"data": NOTHING})
    assert refused.status_code == 403
    assert "service.admin" in refused.json()["message"]
    missing = await full.put("/v1/maps/missing/closures", json={"data": NOTHING})
    assert missing.status_code == 404
    assert (await refuse(full, map="missing"))["code"] == "NOT_FOUND"


async def test_an_administrator_reads_what_is_closed_only_with_that_permission_too(
    client: httpx.AsyncClient, clients: dict[str, httpx.AsyncClient]
) -> None:
    path, closed = "/v1/maps/yard/closures", {**NOTHING, "connectors": [LIFT]}
    written = await clients["administrator"].put(path, json={"data": closed})
    assert (written.status_code, written.json()) == (200, {"data": closed})
    refused = await clients["administrator"].get(path)
    assert refused.status_code == 403
    assert "service.distances.calculate" in refused.json()["message"]


async def test_a_route_between_places_in_a_closed_space_is_none(client: httpx.AsyncClient) -> None:
    route = """query ($from: WaypointInput!, $to: WaypointInput!) {
        map(id: "yard") { route(from: $from, to: $to) { feet } }
    }"""
    variables = {"from": PLACES["C"], "to": {**PLACES["C"], "x": 5}}
    assert (await data_of(client, route, variables))["map"]["route"] == {"feet": 10}
    await close(client, spaces=["upper-west"])
    assert (await data_of(client, route, variables))["map"]["route"] is None


async def test_a_route_that_waits_too_long_for_its_floor_is_503_and_the_next_one_finds_it(
    own_world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end = threading.Event()
    builds = []
    build = restrictions_module.close_floor

    def close_floor(networks: Any, restrictions: Restrictions) -> Any:
        builds.append(restrictions)
        may_end.wait(60)
        return build(networks, restrictions)

    monkeypatch.setattr(restrictions_module, "close_floor", close_floor)
    await prepare_yard(own_world, tmp_path)
    async with (
        run_gateway(own_world.settings()) as gateway,
        open_client(gateway, own_world.keys.full) as client,
    ):
        client.headers.update(FLAGS)
        path = "/v1/maps/yard/route?from=10,10,lower&to=90,10,lower&avoid=outdoors"
        with monkeypatch.context() as impatient:
            impatient.setattr(gateway.executor, "deadline_seconds", 2)
            late = await client.get(path)
        assert late.status_code == 503
        assert int(late.headers["retry-after"]) > 0
        elsewhere = await client.get(path.removesuffix("&avoid=outdoors"))
        assert elsewhere.status_code == 200  # searches do not wait for it
        may_end.set()
        found = await client.get(path)
        assert [leg["connector_kind"] for leg in found.json()["data"]["legs"]].count(None) == 3
        assert len(builds) == 1


async def test_closing_more_does_not_wait_for_the_floor_of_what_is_closed(
    own_world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end, builds, build = threading.Event(), [], restrictions_module.close_floor

    def close_floor(networks: Any, restrictions: Restrictions) -> Any:
        builds.append(restrictions.space_ids)
        may_end.wait(60)
        return build(networks, restrictions)

    monkeypatch.setattr(restrictions_module, "close_floor", close_floor)
    async with yard_client(own_world, tmp_path) as client:
        for spaces in (["yard"], ["gallery", "yard"]):
            assert (await close(client, spaces=spaces))["spaces"] == spaces
            assert (await client.get("/v1/maps/yard/closable")).status_code == 200
        assert builds == [{"yard"}]  # has begun before any route
        may_end.set()
        with anyio.fail_after(60):
            while len(builds) < 2:
                await anyio.sleep(0.01)
        assert await measure(client, "CD") is None
        assert builds == [{"yard"}, {"yard", "gallery"}]  # and the route finds it
