"""Lists of units in another order than that of ids: `order-by`."""

from typing import Any
from urllib.parse import quote, urlencode

import httpx
import pytest

from resolvers.request.kinds import get_record_limits
from rest.scope_members import MAX_URL_BYTES
from tests.fixtures import MAP, World, gateway_client, open_database
from tests.rest.page_walks import query_of, walk

pytestmark = pytest.mark.anyio

LISTS = ["/v1/units", f"/v1/maps/{quote(MAP, safe='')}/units"]
BEFORE_ALL = "2000-01-01T00:00:00+00:00"


async def records_of(
    client: httpx.AsyncClient, path: str, **parameters: Any
) -> list[dict[str, Any]]:
    """The records of a list, read to its end by `next_url`."""
    address = f"{path}?{urlencode(parameters)}"
    return [record for page in await walk(client, address) for record in page["data"]]


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize(
    ("field", "filters"), [("id", {}), ("name", {}), ("updated_at", {"updated_since": BEFORE_ALL})]
)
async def test_next_url_leads_through_a_list_in_its_order(
    client: httpx.AsyncClient, path: str, field: str, filters: dict[str, str]
) -> None:
    every = (await client.get(path)).json()["data"]
    assert len(every) > 3
    for word, is_descending in ((field, False), (f"{field}_desc", True)):
        expected = sorted(every, key=lambda unit: (unit[field], unit["id"]), reverse=is_descending)
        found = await records_of(client, path, **{"order-by": word, "per-page": 3, **filters})
        assert found == expected


async def test_next_url_keeps_the_order_and_no_other_may_continue_it(
    client: httpx.AsyncClient,
) -> None:
    first = await client.get("/v1/units", params={"order-by": "name_desc", "per-page": 2})
    address = first.json()["paging"]["next_url"]
    assert query_of(address)["order-by"] == "name_desc"
    for order in ("name", "id"):
        refused = await client.get(address.replace("name_desc", order))
        assert refused.status_code == 422
        assert refused.json()["fields"]["after"][0].startswith("is of another list")


async def test_floors_are_sorted_by_id_or_as_asked(client: httpx.AsyncClient) -> None:
    path = "/v1/assets/north/floors"
    floors = (await client.get(path)).json()["data"]
    assert floors == sorted(floors, key=lambda floor: str(floor["id"]))
    assert floors[0]["sort"] == 2
    for word, is_descending in (("sort", False), ("sort_desc", True)):
        expected = sorted(floors, key=lambda floor: int(floor["sort"]), reverse=is_descending)
        assert await records_of(client, path, **{"order-by": word, "per-page": 1}) == expected


@pytest.mark.parametrize("order", ["NAME", ""])
async def test_an_unknown_order_is_refused_with_the_orders_that_there_are(
    client: httpx.AsyncClient, order: str
) -> None:
    refused = await client.get("/v1/units", params={"order-by": order})
    assert refused.status_code == 422
    [message] = refused.json()["fields"]["order-by"]
    assert message.startswith("must be id, id_desc, name, name_desc, updated_at or updated_at_desc")


async def test_a_search_and_ids_are_sorted_too(client: httpx.AsyncClient) -> None:
    every = await records_of(client, "/v1/units", **{"order-by": "name_desc"})
    some = ",".join(unit["id"] for unit in every[2:6])
    found = await records_of(client, "/v1/units", **{"ids": some, "order-by": "name_desc"})
    assert found == every[2:6]
    found = await records_of(client, "/v1/units", **{"search": "south", "order-by": "name_desc"})
    assert [unit["name"] for unit in found] == ["South 2", "South 1"]


async def test_the_address_of_the_next_page_is_within_its_limit_after_the_longest_name(
    own_world: World,
) -> None:
    longest = get_record_limits()["Unit"]["name"]["maxLength"] * "\U00010348"
    async with open_database(own_world) as database:
        await database["units"].update_many({}, {"$set": {"name": longest}})
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        first = (await client.get("/v1/units", params={"order-by": "name", "per-page": 1})).json()
        address = first["paging"]["next_url"]
        assert len(address) < MAX_URL_BYTES
        second = (await client.get(address)).json()
    assert [unit["name"] for unit in first["data"] + second["data"]] == [longest, longest]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("sort", ["older-1", "older-2", "n/1 %", "n-2"]),
        ("sort_desc", ["n-2", "n/1 %", "older-2", "older-1"]),
    ],
)
async def test_older_documents_without_the_field_of_an_order_are_listed_once(
    own_world: World, order: str, expected: list[str]
) -> None:
    """They come before all others, also where a page ends before or among them."""
    labels = dict.fromkeys(("name", "label", "short_label"), "N")
    times = dict.fromkeys(("created_at", "updated_at"), BEFORE_ALL)
    floors = [{"_id": f"older-{n}", "asset_id": "north", **labels, **times} for n in (1, 2)]
    async with open_database(own_world) as database:
        await database["floors"].insert_many(floors)
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        parameters = {"order-by": order, "per-page": 1}
        found = await records_of(client, "/v1/assets/north/floors", **parameters)
    assert [floor["id"] for floor in found] == expected
