"""Assigning attributes: all or nothing, and one per unit even under concurrent writes."""

import asyncio
from typing import Any

import pytest
from pymongo import MongoClient

from storage.attribute_assignments import (
    AttributeGroupNotFoundError,
    InvalidAssignmentsError,
    assign_attributes,
    unassign_attributes,
)
from storage.catalog import Assignment
from storage.mongo import driver
from storage.records.visibility import ALL_ASSETS, AssetScope

pytestmark = pytest.mark.anyio

UNITS = [f"u{number}" for number in range(4)]
ATTRIBUTES = [
    {"attribute_id": name, "attribute_name": name, "attribute_key": name} for name in "abcd"
]


@pytest.fixture
def database(client: Any, mongo_url: str, database_name: str) -> driver.Database:
    fill(mongo_url, database_name)
    database: driver.Database = client[database_name]
    return database


def fill(mongo_url: str, database_name: str) -> None:
    stamps = {"created_at": "", "updated_at": ""}
    with MongoClient[dict[str, Any]](mongo_url) as client:
        database = client[database_name]
        database.units.insert_many(
            {"_id": unit, "asset_id": asset, "floor_id": "f", "name": "", "map_ids": None} | stamps
            for unit, asset in [*((unit, "a") for unit in UNITS), ("elsewhere", "b")]
        )
        database.attribute_groups.insert_many(
            {
                "_id": name,
                "group_id": name,
                "group_name": name,
                "one_attribute_per_unit": is_exclusive,
                "attributes": ATTRIBUTES,
            }
            for name, is_exclusive in (("one", True), ("many", False))
        )


def build_assignment(
    attribute: str, unit: str = "u0", group: str = "one", asset: str = "a"
) -> Assignment:
    return Assignment(group_id=group, attribute_id=attribute, asset_id=asset, unit_id=unit)


async def list_assignments(database: driver.Database, group: str) -> set[tuple[str, str]]:
    found = await database["attribute_assignments"].find({"group_id": group}).to_list(None)
    return {(document["unit_id"], document["attribute_id"]) for document in found}


async def test_a_group_of_one_per_unit_replaces(database: driver.Database) -> None:
    await assign_attributes(
        database, ALL_ASSETS, "one", [build_assignment("a"), build_assignment("b", "u1")]
    )
    await assign_attributes(database, ALL_ASSETS, "one", [build_assignment("c")])
    assert await list_assignments(database, "one") == {("u0", "c"), ("u1", "b")}


async def test_other_groups_add_and_assigning_twice_changes_nothing(
    database: driver.Database,
) -> None:
    for attribute in "aab":
        await assign_attributes(
            database, ALL_ASSETS, "many", [build_assignment(attribute, group="many")]
        )
    assert await list_assignments(database, "many") == {("u0", "a"), ("u0", "b")}


async def test_unassigning_takes_only_what_is_named(database: driver.Database) -> None:
    await assign_attributes(database, ALL_ASSETS, "one", [build_assignment("a")])
    await unassign_attributes(
        database, ALL_ASSETS, "one", [build_assignment("b"), build_assignment("a", "u1")]
    )
    assert await list_assignments(database, "one") == {("u0", "a")}
    await unassign_attributes(database, ALL_ASSETS, "one", [build_assignment("a")])
    assert await list_assignments(database, "one") == set()


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        (build_assignment("nope", "u2"), "attribute_id"),
        (build_assignment("a", "nope"), "unit_id"),
        (build_assignment("a", "elsewhere", asset="b"), "unit_id"),  # there, but not for this key
        (build_assignment("a", asset="b"), "asset_id"),
        (build_assignment("a", group="many"), "group_id"),
        (build_assignment("b"), "attribute_id"),  # the second of one unit in one request
    ],
)
async def test_one_wrong_assignment_stops_them_all(
    database: driver.Database, wrong: Assignment, field: str
) -> None:
    scope = AssetScope(frozenset({"a"}))
    with pytest.raises(InvalidAssignmentsError) as caught:
        await assign_attributes(
            database, scope, "one", [build_assignment("a"), build_assignment("a", "u1"), wrong]
        )
    assert [(fault.position, fault.field) for fault in caught.value.violations] == [(2, field)]
    assert await list_assignments(database, "one") == set()


async def test_the_first_hundred_errors_are_reported(database: driver.Database) -> None:
    wrong = [build_assignment("nope")] * 101
    with pytest.raises(InvalidAssignmentsError) as caught:
        await assign_attributes(database, AssetScope(frozenset({"a"})), "one", wrong)
    assert [fault.position for fault in caught.value.violations] == [*range(100)]


async def test_an_unknown_group_is_an_error_of_its_own(database: driver.Database) -> None:
    with pytest.raises(AttributeGroupNotFoundError):
        await assign_attributes(database, ALL_ASSETS, "nope", [build_assignment("a", group="nope")])


async def test_racing_writers_never_give_a_unit_two_attributes(
    client: Any, database: driver.Database
) -> None:
    """Every state between their writes is that of one complete request."""

    async def write_often(first: int) -> None:
        for number in range(first, first + 4):
            batch = [build_assignment("abcd"[number % 4], unit) for unit in UNITS]
            await assign_attributes(database, ALL_ASSETS, "one", batch)

    await write_often(0)
    writing = asyncio.gather(*(write_often(first) for first in range(4)))
    while not writing.done():
        async with driver.open_snapshot_session(client) as session:
            cursor = database["attribute_assignments"].find({"group_id": "one"}, session=session)
            found = [(each["unit_id"], each["attribute_id"]) for each in await cursor.to_list(None)]
        assert sorted(unit for unit, _ in found) == UNITS
        assert len({attribute for _, attribute in found}) == 1
    await writing
