"""Floors: those of an asset from the lowest up, one of them, and the floor of a unit."""

from typing import Any

import pytest

from tests.fixtures import FLOOR, HIDDEN, SEEN, UNIT, UNIT_IDS
from tests.resolvers.directory import Directory

pytestmark = pytest.mark.anyio

FLOORS_OF_ASSET = """query (
    $asset: ID!, $page: Int, $perPage: Int, $after: String, $orderBy: FloorOrder
) {
    asset(id: $asset) {
        floors(page: $page, perPage: $perPage, after: $after, orderBy: $orderBy) {
            data { id } paging { currentPage next }
        }
    }
}"""
FLOOR_OF_ASSET = (
    "query ($asset: ID!, $floor: ID!) { asset(id: $asset) { floor(id: $floor) { id } } }"
)


def ids(page: dict[str, Any]) -> list[str]:
    return [record["id"] for record in page["data"]]


@pytest.mark.parametrize(
    ("order", "floors"),
    [
        ({}, [FLOOR, "n-2"]),
        ({"orderBy": None}, [FLOOR, "n-2"]),
        ({"orderBy": "sort_desc"}, ["n-2", FLOOR]),
        ({"orderBy": "id"}, ["n-2", FLOOR]),
        ({"orderBy": "id_desc"}, [FLOOR, "n-2"]),
    ],
)
async def test_the_floors_of_an_asset_come_from_the_lowest_up_or_in_another_order(
    directory: Directory, order: dict[str, Any], floors: list[str]
) -> None:
    found = await directory.read(FLOORS_OF_ASSET, asset=SEEN, **order)
    assert ids(found["asset"]["floors"]) == floors
    assert directory.collections_read == ["assets"]  # the floors with the same command


async def test_the_cursor_of_a_page_leads_to_the_next(directory: Directory) -> None:
    first = (await directory.read(FLOORS_OF_ASSET, asset=SEEN, perPage=1))["asset"]["floors"]
    assert ids(first) == [FLOOR]
    after = first["paging"]["next"]
    second = await directory.read(FLOORS_OF_ASSET, asset=SEEN, page=2, perPage=1, after=after)
    assert second["asset"]["floors"] == {
        "data": [{"id": "n-2"}],
        "paging": {"currentPage": 2, "next": None},
    }


async def test_a_page_past_the_last_floor_is_empty(directory: Directory) -> None:
    found = await directory.read(FLOORS_OF_ASSET, asset=SEEN, page=2)
    assert found["asset"]["floors"] == {"data": [], "paging": {"currentPage": 2, "next": None}}


@pytest.mark.parametrize(
    ("asset", "floor", "found"),
    [
        (SEEN, FLOOR, True),
        (SEEN, "n-2", True),
        (HIDDEN, "s-1", True),
        (SEEN, "s-1", False),  # of another asset
        (HIDDEN, FLOOR, False),
        (SEEN, "none", False),
        (SEEN, FLOOR.upper(), False),
    ],
)
async def test_a_floor_is_found_in_its_own_asset(
    directory: Directory, asset: str, floor: str, found: bool
) -> None:
    answer = await directory.read(FLOOR_OF_ASSET, asset=asset, floor=floor)
    assert answer == {"asset": {"floor": {"id": floor} if found else None}}


async def test_one_floor_is_looked_up_once_for_every_asset(directory: Directory) -> None:
    query = '{ assets { data { id floor(id: "n-2") { id } } } }'
    assert (await directory.read(query))["assets"]["data"] == [
        {"id": SEEN, "floor": {"id": "n-2"}},
        {"id": HIDDEN, "floor": None},
    ]
    assert directory.collections_read == ["assets", "floors"]


async def test_a_hidden_asset_has_no_floors_to_ask_for(directory: Directory) -> None:
    for query in (FLOORS_OF_ASSET, FLOOR_OF_ASSET):
        for asset in (HIDDEN, "none"):
            found = await directory.read(query, [SEEN], asset=asset, floor="s-1")
            assert found == {"asset": None}
            assert directory.collections_read == ["assets"]


@pytest.mark.parametrize(
    ("floor", "fields"),
    [
        (FLOOR, {"name": "First", "label": "First", "shortLabel": "1", "sort": 1}),
        ("n-2", {"name": "Second", "label": "Second", "shortLabel": "Second", "sort": 2}),
    ],
)
async def test_labels_are_the_name_unless_given(
    directory: Directory, floor: str, fields: dict[str, Any]
) -> None:
    query = """query ($asset: ID!, $floor: ID!) {
        asset(id: $asset) { floor(id: $floor) { id assetId name label shortLabel sort } }
    }"""
    found = await directory.read(query, asset=SEEN, floor=floor)
    assert found["asset"]["floor"] == {"id": floor, "assetId": SEEN, **fields}


@pytest.mark.parametrize(
    ("unit", "floor"), [(UNIT, FLOOR), (UNIT_IDS[-1], "n-2"), ("unit-s", "s-1")]
)
async def test_a_unit_is_on_its_floor(directory: Directory, unit: str, floor: str) -> None:
    query = "query ($unit: ID!) { unit(id: $unit) { floorId floor { id } } }"
    found = await directory.read(query, unit=unit)
    assert found["unit"] == {"floorId": floor, "floor": {"id": floor}}


async def test_the_floors_of_all_units_are_read_at_once(directory: Directory) -> None:
    found = await directory.read("{ units { data { floorId floor { id } } } }")
    units = found["units"]["data"]
    assert [unit["floorId"] for unit in units] == [unit["floor"]["id"] for unit in units]
    assert len({unit["floorId"] for unit in units}) == 3
    assert directory.collections_read == ["units", "floors"]
