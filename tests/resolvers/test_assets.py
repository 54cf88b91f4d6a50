"""Assets: listed and found as far as the key sees them, and reached from what belongs to them."""

from typing import Any

import pytest

from tests.fixtures import FLOOR, HIDDEN, MAP, SEEN, UNIT
from tests.resolvers.directory import Directory

pytestmark = pytest.mark.anyio

LIST = (
    "query ($page: Int, $perPage: Int) { assets(page: $page, perPage: $perPage) { data { id } } }"
)
GET = "query ($id: ID!) { asset(id: $id) { id } }"


@pytest.mark.parametrize(
    ("assets", "listed"),
    [
        (None, [SEEN, HIDDEN]),
        ([SEEN, HIDDEN], [SEEN, HIDDEN]),
        ([HIDDEN], [HIDDEN]),
        (["none"], []),
        ([], []),
    ],
)
async def test_the_assets_that_a_key_sees_are_listed_by_id(
    directory: Directory, assets: list[str] | None, listed: list[str]
) -> None:
    found = await directory.read(LIST, assets)
    assert [asset["id"] for asset in found["assets"]["data"]] == listed


@pytest.mark.parametrize(("page", "listed"), [(1, [SEEN]), (2, [HIDDEN]), (3, [])])
async def test_assets_come_in_pages(directory: Directory, page: int, listed: list[str]) -> None:
    found = await directory.read(LIST, page=page, perPage=1)
    assert [asset["id"] for asset in found["assets"]["data"]] == listed


@pytest.mark.parametrize("id", [HIDDEN, "none", SEEN.upper(), f"{SEEN} "])
async def test_an_asset_beyond_the_scope_is_as_absent_as_an_unknown_one(
    directory: Directory, id: str
) -> None:
    assert await directory.read(GET, [SEEN], id=id) == {"asset": None}


async def test_an_asset_has_its_fields_and_a_default_market(directory: Directory) -> None:
    query = "query ($id: ID!) { asset(id: $id) { id name market createdAt updatedAt } }"
    south = (await directory.read(query, id=HIDDEN))["asset"]
    assert south.pop("createdAt") == south.pop("updatedAt")
    assert south == {"id": HIDDEN, "name": "South House", "market": "office"}
    assert (await directory.read(query, id=SEEN))["asset"]["market"] == "multifamily"


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("asset(id: $asset) { floor(id: $floor) { asset { id } } }", "asset floor"),
        ("unit(id: $unit) { asset { id } }", "unit"),
        ("map(id: $map) { asset { id } }", "map"),
        ("map(id: $map) { locations(perPage: 1) { data { asset { id } } } }", "map locations"),
        ("assetReferences(asset: $asset, perPage: 1) { data { asset { id } } }", "assetReferences"),
        ("unit(id: $unit) { references(perPage: 1) { data { asset { id } } } }", "unit references"),
        ("unit(id: $unit) { attributes { data { asset { id } } } }", "unit attributes"),
    ],
)
async def test_a_record_leads_to_its_asset(directory: Directory, query: str, path: str) -> None:
    variables: dict[str, Any] = {"asset": SEEN, "floor": FLOOR, "unit": UNIT, "map": MAP}
    declared = ", ".join(f"${name}: ID!" for name in variables if f"${name}" in query)
    found = await directory.read(f"query ({declared}) {{ {query} }}", **variables)
    for name in path.split():
        found = found[name]
    assert found.get("data", [found]) == [{"asset": {"id": SEEN}}]


@pytest.mark.parametrize("kind", ["units", "maps", "assetReferences", "unitReferences"])
async def test_the_assets_of_a_whole_page_are_read_at_once(directory: Directory, kind: str) -> None:
    found = await directory.read(f"{{ {kind} {{ data {{ asset {{ id }} }} }} }}")
    assert {record["asset"]["id"] for record in found[kind]["data"]} == {SEEN, HIDDEN}
    assert directory.collections_read[1:] == ["assets"]
