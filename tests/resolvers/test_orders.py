"""Lists in another order than that of ids: which records follow which, and where cursors lead."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.fixtures import FLOOR, MAP, OTHER_MAP, SEEN, UNIT_IDS
from tests.resolvers.directory import Directory

pytestmark = pytest.mark.anyio

UNITS = """query (
    $orderBy: UnitOrder, $after: String, $perPage: Int, $asset: ID, $floor: ID, $map: ID
    $ids: [ID!], $search: String
) {
    units(
        orderBy: $orderBy, after: $after, perPage: $perPage
        asset: $asset, floor: $floor, map: $map, ids: $ids, search: $search
    ) { totalCount data { id name updatedAt } pageInfo { hasNextPage endCursor } }
}"""
SortKey = Callable[[dict[str, str]], tuple[str, ...]]
ORDERS: dict[str, tuple[SortKey, bool]] = {
    "id": (lambda unit: (unit["id"],), False),
    "id_desc": (lambda unit: (unit["id"],), True),
    "name": (lambda unit: (unit["name"], unit["id"]), False),
    "name_desc": (lambda unit: (unit["name"], unit["id"]), True),
    "updated_at": (lambda unit: (unit["updatedAt"], unit["id"]), False),
    "updated_at_desc": (lambda unit: (unit["updatedAt"], unit["id"]), True),
}


async def walk(directory: Directory, **arguments: Any) -> list[dict[str, str]]:
    """Read a list to its end by cursors."""
    units: list[dict[str, str]] = []
    info: dict[str, Any] = {"endCursor": None}
    while info.get("hasNextPage", True):
        after = info["endCursor"]
        found = await directory.read(UNITS, [SEEN], after=after, **arguments)
        units += found["units"]["data"]
        info = found["units"]["pageInfo"]
        assert len(units) <= found["units"]["totalCount"]
    return units


@pytest.mark.parametrize(
    ("order", "filters"),
    [
        *((order, {}) for order in ORDERS),
        ("name_desc", {"floor": FLOOR}),
        ("name", {"map": MAP, "asset": SEEN}),
        ("updated_at_desc", {"ids": UNIT_IDS[3:9]}),
        ("id_desc", {"search": "u"}),
    ],
)
async def test_cursors_lead_through_every_order_with_every_filter(
    directory: Directory, order: str, filters: dict[str, Any]
) -> None:
    every = (await directory.read(UNITS, [SEEN], **filters))["units"]["data"]
    key, is_descending = ORDERS[order]
    expected = sorted(every, key=key, reverse=is_descending)
    assert await walk(directory, orderBy=order, perPage=4, **filters) == expected


@pytest.mark.parametrize(
    ("order", "floors"),
    [
        (None, [FLOOR, "n-2"]),
        ("sort_desc", ["n-2", FLOOR]),
        ("id", ["n-2", FLOOR]),
        ("id_desc", [FLOOR, "n-2"]),
    ],
)
async def test_floors_come_from_the_lowest_up_or_in_another_order(
    directory: Directory, order: str | None, floors: list[str]
) -> None:
    query = """query ($asset: ID!, $order: FloorOrder) {
        asset(id: $asset) { floors(orderBy: $order) { data { id } } }
    }"""
    found = (await directory.read(query, asset=SEEN, order=order))["asset"]["floors"]["data"]
    assert [floor["id"] for floor in found] == floors
    assert directory.collections_read == ["assets"]  # the floors with the same command


@pytest.mark.parametrize("other", [None, "name_desc", "updated_at", "id"])
async def test_a_cursor_continues_only_its_own_order(
    directory: Directory, other: str | None
) -> None:
    first = await directory.read(UNITS, orderBy="name", perPage=2)
    after = first["units"]["pageInfo"]["endCursor"]
    fields = await directory.invalid_fields(UNITS, orderBy=other, after=after)
    [message] = fields["after"]
    assert message.startswith("is of another list")


async def test_an_unknown_order_is_refused_with_the_words_that_there_are(
    directory: Directory,
) -> None:
    [error] = (await directory.run(UNITS, orderBy="sort")).errors  # an order of floors
    assert error.message == (
        "Variable '$orderBy' has invalid value: A value of UnitOrder must be id, id_desc, name, "
        "name_desc, updated_at or updated_at_desc, not 'sort'"
    )


@pytest.mark.parametrize(
    "parents",
    ["assets { data { units", "assets { data { floors { data { units", "maps { data { units"],
)
async def test_the_ordered_lists_of_many_parents_are_read_at_once(
    directory: Directory, parents: str
) -> None:
    depth = parents.count("{")
    query = f"{{ {parents}(orderBy: %s) {{ data {{ id name }} }} {'}' * depth} }}"
    by_id = await directory.read(query % "id")
    by_name = await directory.read(query % "name_desc")
    assert len(directory.collections_read) == 1 + depth // 2
    assert find_lists(by_name) == [
        sorted(units, key=lambda unit: (unit["name"], unit["id"]), reverse=True)
        for units in find_lists(by_id)
    ]


def find_lists(data: Any) -> list[list[dict[str, str]]]:
    """Return all lists of units in a response."""
    if isinstance(data, list):
        return [found for each in data for found in find_lists(each)]
    if not isinstance(data, dict):
        return []
    own = [data["units"]["data"]] if "units" in data else []
    return own + [found for each in data.values() for found in find_lists(each)]


async def test_a_page_by_number_has_the_order_too(directory: Directory) -> None:
    query = """query ($id: ID!) { map(id: $id) {
        all: units(orderBy: name) { data { id } }
        second: units(orderBy: name, page: 2, perPage: 3) { data { id } }
    } }"""
    found = (await directory.read(query, id=OTHER_MAP))["map"]
    assert found["second"]["data"] == found["all"]["data"][3:6]
