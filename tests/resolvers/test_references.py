"""References (E5 and E8): ids of assets and units in third-party systems."""

from typing import Any

import httpx
import pytest

from tests.fixtures import (
    ALL_FLAGS,
    HIDDEN,
    SEEN,
    UNIT,
    World,
    data_of,
    gateway_client,
    make_key,
    open_database,
)
from tests.resolvers.directory import Directory
from tests.rest.error_bodies import read_message

pytestmark = pytest.mark.anyio

FLAG = {"Experimental-Flags": "references"}


async def listed(client: httpx.AsyncClient, path: str) -> list[tuple[str, str]]:
    response = await client.get(path, headers=FLAG)
    assert response.status_code == 200, response.text
    return [
        (each.get("unit_id", each["asset_id"]), each["key"]) for each in response.json()["data"]
    ]


async def test_asset_references_have_every_field(client: httpx.AsyncClient) -> None:
    response = await client.get("/v1/assets/references", headers=FLAG)
    first = response.json()["data"][0]
    stamps = {name: first[name] for name in ("created_at", "updated_at")}
    assert first == {"id": "ref-1", "asset_id": SEEN, "key": "crm", "value": "N", **stamps}


async def test_unit_references_are_ordered_by_unit_then_key(client: httpx.AsyncClient) -> None:
    assert await listed(client, f"/v1/units/references?asset={SEEN}") == [
        ("a/b", "crm"),
        (UNIT, "crm"),
        (UNIT, "crm-unit-ids"),
    ]


async def test_one_provider_may_offer_two_keys_for_a_unit(client: httpx.AsyncClient) -> None:
    assert await listed(client, "/v1/units/references?key=crm-unit-ids") == [(UNIT, "crm-unit-ids")]


async def test_filters_hold_together(client: httpx.AsyncClient) -> None:
    assert await listed(client, f"/v1/assets/references?asset={SEEN}&key=erp") == [(SEEN, "erp")]
    assert await listed(client, "/v1/assets/references?asset=nope") == []


@pytest.mark.parametrize("key", ["", "a", "A1", "1a", "a_b", "a" * 256, "%24gt"])
@pytest.mark.parametrize("path", ["/v1/assets/references", "/v1/units/references"])
async def test_a_key_that_does_not_match_its_pattern_is_rejected(
    client: httpx.AsyncClient, path: str, key: str
) -> None:
    response = await client.get(f"{path}?key={key}", headers=FLAG)
    assert response.status_code == 422
    assert list(response.json()["fields"]) == ["key"]


@pytest.mark.slow
async def test_a_list_holds_only_what_the_key_may_access(own_world: World) -> None:
    permissions = ("service.asset-references.read", "service.unit-references.read")
    async with open_database(own_world) as database:
        _, key = await make_key(database, "reader", permissions=permissions, asset_ids=[SEEN])
    async with gateway_client(own_world.settings(), key) as client:
        assert await listed(client, "/v1/assets/references") == [(SEEN, "crm"), (SEEN, "erp")]
        assert ("unit-s", "crm") not in await listed(client, "/v1/units/references")
        assert await listed(client, "/v1/units/references?asset=south%2F%20%25") == []


@pytest.mark.parametrize("path", ["/v1/assets/references", "/v1/units/references"])
async def test_the_flag_comes_before_the_permission(
    restricted: httpx.AsyncClient, path: str
) -> None:
    response = await restricted.get(path)
    assert response.status_code == 400
    assert read_message(response) == "Experimental-Flags header must include references"
    response = await restricted.get(path, headers=ALL_FLAGS)
    assert response.status_code == 403
    kind = path.split("/")[2].removesuffix("s")
    permission = f"service.{kind}-references.read"
    assert read_message(response) == f"Access denied: this key lacks the permission {permission}"


async def test_references_hang_on_assets_and_units_in_graphql(client: httpx.AsyncClient) -> None:
    query = """query ($asset: ID!, $unit: ID!) {
        asset(id: $asset) { references { data { key value } } }
        unit(id: $unit) { references { data { key value unit { id } asset { id } } } }
    }"""
    data = await data_of(client, query, {"asset": SEEN, "unit": UNIT})
    assert [each["key"] for each in data["asset"]["references"]["data"]] == ["crm", "erp"]
    assert data["unit"]["references"]["data"][0] == {
        "key": "crm",
        "value": "1_2",
        "unit": {"id": UNIT},
        "asset": {"id": SEEN},
    }


LIST = """query ($asset: ID, $key: String, $page: Int, $perPage: Int) {
    assets: assetReferences(asset: $asset, key: $key, page: $page, perPage: $perPage) {
        data { id }
    }
    units: unitReferences(asset: $asset, key: $key, page: $page, perPage: $perPage) {
        data { value }
    }
}"""


@pytest.mark.parametrize(
    ("filters", "assets", "units"),
    [
        ({}, ["ref-1", "ref-2", "ref-s"], ["3", "1_2", "2", "S"]),
        ({"asset": SEEN}, ["ref-1", "ref-2"], ["3", "1_2", "2"]),
        ({"asset": HIDDEN}, ["ref-s"], ["S"]),
        ({"asset": "none"}, [], []),
        ({"key": "crm"}, ["ref-1", "ref-s"], ["3", "1_2", "S"]),
        ({"key": "erp"}, ["ref-2"], []),
        ({"key": "crm-unit-ids"}, [], ["2"]),
        ({"key": "unknown"}, [], []),
        ({"asset": SEEN, "key": "crm"}, ["ref-1"], ["3", "1_2"]),
        ({"asset": HIDDEN, "key": "erp"}, [], []),
        ({"asset": SEEN, "page": 2, "perPage": 1}, ["ref-2"], ["1_2"]),
    ],
)
async def test_references_are_filtered_by_asset_and_by_system(
    directory: Directory, filters: dict[str, Any], assets: list[str], units: list[str]
) -> None:
    found = await directory.read(LIST, **filters)
    assert [each["id"] for each in found["assets"]["data"]] == assets
    assert [each["value"] for each in found["units"]["data"]] == units


@pytest.mark.parametrize("asset", [HIDDEN, "none"])
async def test_a_hidden_asset_has_no_references_as_an_unknown_one(
    directory: Directory, asset: str
) -> None:
    found = await directory.read(LIST, [SEEN], asset=asset)
    assert found == {"assets": {"data": []}, "units": {"data": []}}


async def test_every_asset_and_unit_lists_its_own_references_in_one_read(
    directory: Directory,
) -> None:
    query = "{ assets { data { id references { data { value } } } } }"
    found = (await directory.read(query))["assets"]["data"]
    assert directory.collections_read == ["assets", "asset_references"]
    assert {each["id"]: values(each) for each in found} == {SEEN: ["N", "1"], HIDDEN: ["S"]}
    query = "{ units { data { id references { data { value } } } } }"
    found = (await directory.read(query))["units"]["data"]
    assert directory.collections_read == ["units", "unit_references"]
    assert {each["id"]: values(each) for each in found if values(each)} == {
        UNIT: ["1_2", "2"],
        "a/b": ["3"],
        "unit-s": ["S"],
    }


def values(owner: dict[str, Any]) -> list[str]:
    return [each["value"] for each in owner["references"]["data"]]
