"""E17: what is where on a map, filtered by tags."""

import httpx
import pytest

from tests.world import FLOOR, MAP, SEEN, UNIT, ask, data_of

pytestmark = pytest.mark.anyio

FLAG = {"Experimental-Flags": "locations-resource"}
PATHS = ["/v1/unitmaps/plan%2Fone/locations", "/v1/maps/plan%2Fone/locations"]


async def found(client: httpx.AsyncClient, path: str, tags: str | None = None) -> list[str]:
    response = await client.get(path, params={} if tags is None else {"tags": tags}, headers=FLAG)
    assert response.status_code == 200, response.text
    return [each["name"] for each in response.json()["data"]]


@pytest.mark.parametrize("path", PATHS)
async def test_locations_come_in_data_without_paging(client: httpx.AsyncClient, path: str) -> None:
    body = (await client.get(path, headers=FLAG)).json()
    assert list(body) == ["data"]
    first = body["data"][0]
    stamps = {name: first[name] for name in ("created_at", "updated_at")}
    assert stamps == {name: first["tags"][0][name] for name in stamps}
    assert first == {
        "id": "loc-1",
        "asset_id": SEEN,
        "unit_map_id": MAP,
        "name": "Unit 1",
        "x": 1.5,
        "y": 2,
        "floors": [{"id": FLOOR}],
        "tags": [
            {"key": "svc:id", "value": UNIT, **stamps},
            {"key": "svc:type", "value": "unit", **stamps},
        ],
        **stamps,
    }


@pytest.mark.parametrize("path", PATHS)
async def test_pages_are_linked(client: httpx.AsyncClient, path: str) -> None:
    response = await client.get(f"{path}?per-page=1", headers=FLAG)
    assert [each["name"] for each in response.json()["data"]] == ["Unit 1"]
    response = await client.get(response.links["next"]["url"], headers=FLAG)
    assert [each["name"] for each in response.json()["data"]] == ["Pool"]
    assert list(response.links) == ["prev"]


@pytest.mark.parametrize(
    ("tags", "names"),
    [
        (None, ["Unit 1", "Pool"]),
        ("svc:amenity==yes", ["Pool"]),
        ("SVC:Amenity==YES,-svc:id", ["Pool"]),
        ("-svc:amenity", ["Unit 1"]),
        ("svc:type,svc:id", ["Unit 1"]),
        (f"svc:id=={UNIT.replace('-', chr(92) + '-')}", ["Unit 1"]),
        ("svc:type==unit,svc:amenity", []),
    ],
)
async def test_all_terms_must_hold(
    client: httpx.AsyncClient, tags: str | None, names: list[str]
) -> None:
    assert await found(client, PATHS[0], tags) == names


@pytest.mark.parametrize("tags", ["", "a=b", "a,,b", "a==", "--a", "a\\", ",".join("a" * 51)])
async def test_rest_and_graphql_quote_malformed_terms(client: httpx.AsyncClient, tags: str) -> None:
    response = await client.get(PATHS[0], params={"tags": tags}, headers=FLAG)
    assert response.status_code == 422
    assert list(response.json()["fields"]) == ["tags"]
    query = """query ($map: ID!, $tags: String) {
        map(id: $map) { locations(tags: $tags) { data { id } } }
    }"""
    body = await ask(client, query, {"map": MAP, "tags": tags})
    assert body["errors"][0]["extensions"]["fields"] == response.json()["fields"]


async def test_the_flag_is_needed(client: httpx.AsyncClient) -> None:
    response = await client.get(PATHS[0])
    assert response.status_code == 400
    assert response.json()["message"].endswith("must include locations-resource")


async def test_a_map_that_the_key_does_not_see_is_not_found(narrow: httpx.AsyncClient) -> None:
    hidden = await narrow.get("/v1/unitmaps/south-plan/locations", headers=FLAG)
    unknown = await narrow.get("/v1/unitmaps/nope/locations", headers=FLAG)
    assert hidden.status_code == unknown.status_code == 404
    assert hidden.content == unknown.content


async def test_units_maps_and_locations_lead_to_each_other(client: httpx.AsyncClient) -> None:
    query = """query ($unit: ID!, $map: ID!) {
        unit(id: $unit) {
            location { name map { id } unit { id } floors { floor { name } } }
            there: location(map: $map) { name }
            elsewhere: location(map: "plan-two") { name }
        }
    }"""
    unit = (await data_of(client, query, {"unit": UNIT, "map": MAP}))["unit"]
    assert unit["location"] == {
        "name": "Unit 1",
        "map": {"id": MAP},
        "unit": {"id": UNIT},
        "floors": [{"floor": {"name": "First"}}],
    }
    assert (unit["there"], unit["elsewhere"]) == ({"name": "Unit 1"}, None)


async def test_a_unit_whose_id_differs_in_case_has_no_location(client: httpx.AsyncClient) -> None:
    query = '{ unit(id: "unit-2") { location { id } } }'
    assert (await data_of(client, query)) == {"unit": {"location": None}}
