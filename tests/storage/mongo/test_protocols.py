"""Databases behind others, with a prefix of their own; plans of commands."""

from typing import Any

import pytest

from storage.mongo import driver
from storage.mongo.plans import MAX_EXPLAINED_BYTES, explain_command, read_plan
from storage.mongo.protocols import with_prefix
from storage.setup.preparation import prepare_database


@pytest.fixture
def database_name(fresh_database_name: str) -> str:
    """The name of a database without the product's collections."""
    return fresh_database_name


async def test_a_database_can_be_prepared_within_another(database: Any) -> None:
    await prepare_database(with_prefix(database, "staging.x."))
    staged = {name: await options_of(database, name) for name in await names_of(database)}
    assert all(name.startswith("staging.x.") for name in staged)
    await prepare_database(database)
    for name, options in staged.items():
        assert await options_of(database, name.removeprefix("staging.x.")) == options


async def test_only_collections_with_the_prefix_are_seen(database: Any) -> None:
    inner = with_prefix(database, "p.")
    await database["units"].insert_one({"_id": "outer"})
    await inner["units"].insert_one({"_id": "inner"})
    assert await inner.list_collection_names() == ["units"]
    reply = await inner.command("listCollections")
    assert [each["name"] for each in reply["cursor"]["firstBatch"]] == ["units"]
    assert await driver.find_documents(inner, "units", {}, {}, limit=5) == [{"_id": "inner"}]
    assert (await inner.command("count", "units"))["n"] == 1
    await inner.drop_collection("units")
    assert await names_of(database) == ["units"]


async def names_of(database: Any) -> list[str]:
    names: list[str] = await database.list_collection_names()
    return names


async def options_of(database: Any, name: str) -> Any:
    reply = await database.command({"listCollections": 1, "filter": {"name": name}})
    indexes = await database.command({"listIndexes": name})
    keys = [(index["name"], index["key"]) for index in indexes["cursor"]["firstBatch"]]
    return reply["cursor"]["firstBatch"][0]["options"], sorted(keys)


async def test_plans_tell_scans_and_how_much_is_examined(database: driver.Database) -> None:
    await database["units"].insert_many([{"n": number, "m": number % 2} for number in range(10)])
    await database["units"].create_index([("n", 1)])
    indexed = await explain_command(database, {"find": "units", "filter": {"n": {"$lt": 3}}})
    assert indexed is not None
    assert [scan.index_keys for scan in indexed.scans] == [{"n": 1}]
    assert (indexed.keys_examined, indexed.documents_examined) == (3, 3)
    whole = await explain_command(database, {"find": "units", "filter": {"m": 1}})
    assert whole is not None
    assert [scan.stage for scan in whole.scans] == ["COLLSCAN"]
    unread = await explain_command(database, {"find": "units", "filter": {"m": 1}}, again=False)
    assert unread is not None
    assert (unread.scans, unread.documents_examined) == (whole.scans, 0)
    by_id = await explain_command(database, {"find": "units", "filter": {"_id": "a"}})
    assert by_id is not None
    assert [scan.index_name for scan in by_id.scans] == ["_id_"]
    assert [scan.index_keys for scan in by_id.scans] == [{"_id": 1}]
    pipeline = [
        {"$match": {"n": 1}},
        {"$unionWith": {"coll": "units", "pipeline": [{"$match": {"m": 0}}]}},
    ]
    union = await explain_command(
        database, {"aggregate": "units", "pipeline": pipeline, "cursor": {}}
    )
    assert union is not None
    assert [scan.stage for scan in union.scans] == ["IXSCAN", "COLLSCAN"]


async def test_what_cannot_be_explained_has_no_plan(database: driver.Database) -> None:
    too_long = {"find": "units", "filter": {"n": "x" * MAX_EXPLAINED_BYTES}}
    assert await explain_command(database, too_long) is None
    assert await explain_command(database, {"find": "units", "filter": {"n": {"$no": 1}}}) is None


@pytest.mark.parametrize(
    ("stage", "keys"),
    [
        # MongoDB 6 and 7, and the plan of the engine of 7, which is nested.
        ({"stage": "IDHACK"}, {"_id": 1}),
        ({"queryPlan": {"stage": "IXSCAN", "keyPattern": {"n": 1}}, "slotBasedPlan": {}}, {"n": 1}),
        # MongoDB 8, which writes the fields as text here.
        ({"stage": "EXPRESS_IXSCAN", "keyPattern": "{ _id: 1 }", "indexName": "_id_"}, {"_id": 1}),
        ({"stage": "EXPRESS_IXSCAN", "keyPattern": "{ a.b: -1 }", "indexName": "i"}, {"a.b": -1}),
    ],
)
def test_plans_of_all_releases_of_mongodb_are_read(stage: Any, keys: Any) -> None:
    reply = {"queryPlanner": {"winningPlan": {"isCached": False, **stage}}}
    assert [scan.index_keys for scan in read_plan(reply).scans] == [keys]
