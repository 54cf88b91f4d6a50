"""Saved endpoints: operations that are saved are REST endpoints of every gateway at once."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from gateway.app import Gateway
from storage.administration.saved_endpoints import ENDPOINTS_COLLECTION
from tests.fixtures import (
    BASE_URL,
    FLOOR,
    SEEN,
    World,
    data_of,
    gateway_client,
    open_client,
    open_database,
    post_graphql,
    run_following_gateway,
)
from tests.waiting import TIMEOUT_SECONDS

UNITS = """
query FloorUnits($floor: ID!, $search: String, $page: Int, $perPage: Int)
@endpoint(path: "/v1/x/floors/{floor}/units", summary: "List the units of a floor") {
  units(floor: $floor, search: $search, page: $page, perPage: $perPage) { data { ...Unit } }
}
fragment Unit on Unit { id floorId }
"""
UNIT = """
query XUnit($unit: ID!)
@endpoint(path: "/v1/x/units/{unit}", summary: "Get a unit") { unit(id: $unit) { id assetId } }
"""
SAVE = """mutation($documents: [String!]!, $breaking: Boolean! = false, $dryRun: Boolean! = false) {
  saveEndpoints(documents: $documents, breaking: $breaking, dryRun: $dryRun) {
    added changed unchanged breaking endpoints { name method path summary document savedAt }
  }
}"""
REMOVE = "mutation($names: [String!]!) { removeEndpoints(names: $names) { removed } }"


async def save(client: httpx.AsyncClient, *documents: str, **options: bool) -> dict[str, Any]:
    data = await data_of(client, SAVE, {"documents": [*documents], **options})
    saved: dict[str, Any] = data["saveEndpoints"]
    return saved


async def errors_of(client: httpx.AsyncClient, *documents: str, **options: bool) -> dict[str, Any]:
    """The extensions of the only error of a save that is refused."""
    body = await post_graphql(client, SAVE, {"documents": [*documents], **options})
    [error] = body["errors"]
    extensions: dict[str, Any] = error["extensions"]
    return extensions


async def get_until(
    client: httpx.AsyncClient, is_awaited: Callable[[httpx.Response], bool]
) -> httpx.Response:
    """The first response of a unit's endpoint that is the awaited one."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while not is_awaited(response := await client.get("/v1/x/units/unit-1")):
            await asyncio.sleep(0)
    return response


@pytest.fixture
async def gateway(own_world: World) -> AsyncIterator[Gateway]:
    async with run_following_gateway(own_world.settings()) as gateway:
        yield gateway


@pytest.fixture
async def client(gateway: Gateway, own_world: World) -> AsyncIterator[httpx.AsyncClient]:
    async with open_client(gateway, own_world.keys.full) as client:
        yield client


async def test_a_saved_operation_is_an_endpoint(client: httpx.AsyncClient) -> None:
    saved = await save(client, UNITS)
    assert (saved["added"], saved["changed"], saved["unchanged"]) == (["FloorUnits"], [], [])
    [endpoint] = saved["endpoints"]
    assert endpoint["path"] == "/v1/x/floors/{floor}/units"
    floor = quote(FLOOR, safe="")
    page = await client.get(f"/v1/x/floors/{floor}/units", params={"per-page": 2})
    assert page.status_code == 200
    assert page.json()["paging"]["next_url"] == (
        f"{BASE_URL}/v1/x/floors/{floor}/units?per-page=2&page=2"
    )
    assert page.json()["data"][0].keys() == {"id", "floor_id"}


async def test_at_most_a_hundred_endpoints_are_saved_together(client: httpx.AsyncClient) -> None:
    texts = [
        f'query X{n} @ # a comment\n endpoint(path: "/v1/x/{n}", summary: "X") {{ __typename }}'
        for n in range(101)
    ]
    [fault] = (await errors_of(client, "\n".join(texts), dryRun=True))["fields"]["documents"]
    assert fault == "documents[0]:201:1: There may be 100 endpoints together at most"


async def test_a_page_leads_to_the_others(client: httpx.AsyncClient) -> None:
    await save(client, UNITS.replace("$floor: ID!", "$floor: ID").replace("floors/{floor}/", ""))
    expected = (await client.get("/v1/units", params={"per-page": 10_000})).json()["data"]
    url, seen = f"{BASE_URL}/v1/x/units?per-page=4", []
    while url:
        page = (await client.get(url)).json()
        seen += page["data"]
        url = page["paging"]["next_url"]
    assert [each["id"] for each in seen] == [each["id"] for each in expected]
    assert {*seen[0]} == {"id", "floor_id"}


async def test_requests_are_as_those_of_built_in_endpoints(
    client: httpx.AsyncClient, own_world: World, gateway: Gateway
) -> None:
    await save(client, UNIT)
    found = await client.get("/v1/x/units/unit-1")
    assert found.json() == {"id": "unit-1", "asset_id": SEEN}
    tag = found.headers["etag"]
    again = await client.get("/v1/x/units/unit-1", headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    head = await client.head("/v1/x/units/unit-1")
    assert (head.status_code, head.headers["etag"], head.content) == (200, tag, b"")
    options = await client.options("/v1/x/units/unit-1")
    assert (options.status_code, options.headers["allow"]) == (204, "GET, HEAD, OPTIONS")
    wrong = await client.put("/v1/x/units/unit-1", json={})
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "GET, HEAD, OPTIONS")
    missing = await client.get("/v1/x/units/nothing")
    assert (missing.status_code, missing.json()["code"]) == (404, "NOT_FOUND")
    ignored = await client.get("/v1/x/units/unit-1", params={"colour": "red"})
    assert ignored.headers["floorgate-ignored-parameters"] == '"colour"'
    fields = await client.get("/v1/x/units/unit-1", params={"fields": "id"})
    assert fields.json() == {"id": "unit-1"}
    explained = await client.get("/v1/x/units/unit-1", headers={"Floorgate-Explain": "true"})
    assert explained.json()["operation"]["name"] == "XUnit"
    assert explained.json()["cost"]["limit"] is not None
    async with open_client(gateway, None) as anonymous:
        assert (await anonymous.get("/v1/x/units/unit-1")).status_code == 401
    async with open_client(gateway, own_world.keys.restricted) as restricted:
        hidden = next(
            each["id"]
            for each in (await client.get("/v1/units")).json()["data"]
            if each["asset_id"] != SEEN
        )
        assert (await restricted.get(f"/v1/x/units/{hidden}")).status_code == 404


async def test_errors_name_the_parameter(client: httpx.AsyncClient) -> None:
    await save(client, UNITS)
    response = await client.get("/v1/x/floors/f/units", params={"per-page": "many"})
    assert (response.status_code, response.json()["code"]) == (422, "INVALID_INPUT")
    assert [*response.json()["fields"]] == ["per-page"]


async def test_a_request_is_held_to_the_limits_of_graphql(client: httpx.AsyncClient) -> None:
    document = """query Deep($perPage: Int)
    @endpoint(path: "/v1/x/deep", summary: "Many") {
      assets(perPage: $perPage) { data { units(perPage: $perPage) { data { id } } } }
    }"""
    await save(client, document)
    assert (await client.get("/v1/x/deep", params={"per-page": 10})).status_code == 200
    response = await client.get("/v1/x/deep", params={"per-page": 10_000})
    assert (response.status_code, response.json()["code"]) == (422, "LIMIT_EXCEEDED")


async def test_a_change_is_there_at_once_on_every_gateway(
    client: httpx.AsyncClient, own_world: World
) -> None:
    await save(client, UNIT)
    async with (
        run_following_gateway(own_world.settings()) as other,
        open_client(other, own_world.keys.full) as second,
    ):
        for _ in range(3):  # the last by the fast path
            assert [*(await second.get("/v1/x/units/unit-1")).json()] == ["id", "asset_id"]
        changed = UNIT.replace("id assetId }", "id name floorId assetId }")
        assert (await save(client, changed))["changed"] == ["XUnit"]
        assert len((await client.get("/v1/x/units/unit-1")).json()) == 4
        await get_until(second, lambda response: len(response.json()) == 4)
        data = await data_of(client, REMOVE, {"names": ["XUnit"]})
        assert data["removeEndpoints"] == {"removed": ["XUnit"]}
        assert (await client.get("/v1/x/units/unit-1")).status_code == 404
        await get_until(second, lambda response: response.status_code == 404)


async def test_responses_come_from_the_cache_and_from_the_fast_path(
    client: httpx.AsyncClient, gateway: Gateway
) -> None:
    await save(client, UNIT)
    for _ in range(3):
        await client.get("/v1/x/units/unit-1")
    assert gateway.state is not None
    counters = gateway.state.response_cache.counters
    assert counters.hits >= 2
    explained = await client.get("/v1/x/units/unit-1", headers={"Floorgate-Explain": "true"})
    assert explained.json()["caches"]["response"] == "hit"
    assert explained.json()["caches"]["fast_path"]
    await save(client, UNIT.replace("id assetId }", "id name assetId }"))
    explained = await client.get("/v1/x/units/unit-1", headers={"Floorgate-Explain": "true"})
    assert not explained.json()["caches"]["fast_path"]


async def test_what_breaks_callers_is_refused_unless_it_is_said(client: httpx.AsyncClient) -> None:
    await save(client, UNIT)
    narrower = UNIT.replace("id assetId }", "id }")
    refused = await errors_of(client, narrower)
    assert refused["code"] == "INVALID_INPUT"
    assert "asset_id" in refused["fields"]["breaking"][0]
    planned = await save(client, narrower, dryRun=True)
    assert planned["changed"] == ["XUnit"]
    assert planned["breaking"]
    assert len((await client.get("/v1/x/units/unit-1")).json()) == 2
    await save(client, narrower, breaking=True)
    assert len((await client.get("/v1/x/units/unit-1")).json()) == 1


async def test_all_are_saved_or_none(client: httpx.AsyncClient) -> None:
    wrong = UNITS.replace("floorId", "flor").replace("FloorUnits", "Wrong")
    refused = await errors_of(client, UNIT, wrong)
    [fault] = refused["fields"]["documents"]
    assert fault.startswith("documents[1]:6:")
    assert "Did you mean 'floor'?" in fault
    assert (await client.get("/v1/x/units/unit-1")).status_code == 404


@pytest.mark.parametrize("key", ["restricted", "anonymous"])
async def test_saving_and_listing_need_permissions(
    own_world: World, gateway: Gateway, key: str
) -> None:
    text = own_world.keys.restricted if key == "restricted" else None
    async with open_client(gateway, text) as client:
        for document in (SAVE, "{ endpoints { data { name } } }"):
            body = await post_graphql(client, document, {"documents": [UNIT]})
            code = "PERMISSION_REQUIRED" if text else "UNAUTHENTICATED"
            assert body["errors"][0]["extensions"]["code"] == code


async def test_one_that_this_release_cannot_run_is_a_503_of_its_own(
    client: httpx.AsyncClient, own_world: World
) -> None:
    await save(client, UNIT)
    async with open_database(own_world) as database:
        endpoints = database[ENDPOINTS_COLLECTION]
        gone = UNIT.replace("assetId", "ownerId")
        await endpoints.update_one({"_id": "XUnit"}, {"$set": {"text": gone}})
        response = await get_until(client, lambda response: response.status_code != 200)
        assert (response.status_code, response.json()["code"]) == (503, "ENDPOINT_INVALID")
        # The same text with another meaning: its callers rely on what the contract has.
        stored = await endpoints.find_one({"_id": "XUnit"})
        assert stored is not None
        contract = json.loads(stored["contract"])
        text = json.dumps(contract).replace('"asset_id"', '"owner_id"')
        await endpoints.update_one({"_id": "XUnit"}, {"$set": {"text": UNIT, "contract": text}})
        async with gateway_client(own_world.settings(), own_world.keys.full) as fresh:
            response = await fresh.get("/v1/x/units/unit-1")
            assert (response.status_code, response.json()["code"]) == (503, "ENDPOINT_INVALID")
            assert (await fresh.options("/v1/x/units/unit-1")).status_code == 204


async def test_the_description_has_them_for_requests_with_a_key(
    client: httpx.AsyncClient, gateway: Gateway
) -> None:
    await save(client, UNIT)
    described = (await client.get("/v1/openapi.json")).json()["paths"]
    assert described["/v1/x/units/{unit}"]["get"]["operationId"] == "xUnit"
    async with open_client(gateway, None) as anonymous:
        assert "/v1/x/units/{unit}" not in (await anonymous.get("/v1/openapi.json")).text
    await data_of(client, REMOVE, {"names": ["XUnit"]})
    assert "/v1/x/units/{unit}" not in (await client.get("/v1/openapi.json")).text


@pytest.mark.parametrize("path", ["/v1/openapi.json", "/v1/openapi.yaml", "/v1/postman.json"])
async def test_the_description_with_them_is_of_its_key_and_of_its_moment(
    client: httpx.AsyncClient, gateway: Gateway, own_world: World, path: str
) -> None:
    await save(client, UNIT)
    described = await client.get(path)
    assert described.headers["cache-control"] == "private, no-cache"
    assert "API-Key" in described.headers["vary"]
    tag = {"If-None-Match": described.headers["etag"]}
    assert (await client.get(path, headers=tag)).status_code == 304
    zipped = await client.get(path, headers={"Accept-Encoding": "gzip"})
    assert (zipped.headers["content-encoding"], zipped.content) == ("gzip", described.content)
    async with open_client(gateway, None) as anonymous:
        public = await anonymous.get(path)
        assert (public.status_code, "x/units" in public.text) == (200, False)
        in_query = await anonymous.get(path, params={"api-key": own_world.keys.full})
        assert in_query.content == described.content
        assert (await anonymous.get(path, params={"api-key": "other"})).status_code == 403
        twice = {"api-key": ["other", own_world.keys.full]}
        assert (await anonymous.get(path, params=twice)).status_code == 401
    await save(client, UNITS)
    newer = await client.get(path, headers=tag)
    assert (newer.status_code, "floorUnits" in newer.text) == (200, True)


async def test_one_that_is_deprecated_says_so(client: httpx.AsyncClient) -> None:
    dates = 'summary: "Get a unit", deprecated: "2027-01-01", sunset: "2027-07-01"'
    await save(client, UNIT.replace('summary: "Get a unit"', dates))
    for _ in range(2):
        response = await client.get("/v1/x/units/unit-1")
        assert response.headers["deprecation"] == "@1798761600"
        assert response.headers["sunset"] == "Thu, 01 Jul 2027 00:00:00 GMT"
    listed = await data_of(client, "{ endpoints { data { id openapi savedAt document } } }")
    [endpoint] = listed["endpoints"]["data"]
    assert endpoint["openapi"]["deprecated"]
    assert endpoint["savedAt"]


async def test_two_changes_at_a_time_see_each_other(client: httpx.AsyncClient) -> None:
    same = UNIT.replace("XUnit", "Other")
    answers = await asyncio.gather(
        *(post_graphql(client, SAVE, {"documents": [each]}) for each in (UNIT, same))
    )
    [refused] = [each for each in answers if "errors" in each]
    assert "/v1/x/units/{unit}" in refused["errors"][0]["message"]
    listed = await data_of(client, "{ endpoints { data { name } } }")
    assert len(listed["endpoints"]["data"]) == 1
