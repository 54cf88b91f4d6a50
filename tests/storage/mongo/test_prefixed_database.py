"""Collections with a prefix look like a database of their own."""

from typing import Any

import pytest

from storage.mongo import driver
from storage.mongo.prefixed_database import PrefixedDatabase
from storage.setup.preparation import prepare_database

pytestmark = pytest.mark.anyio


@pytest.fixture
def database_name(fresh_database_name: str) -> str:
    """The name of a database without the product's collections."""
    return fresh_database_name


async def test_a_database_can_be_prepared_within_another(database: Any) -> None:
    await prepare_database(PrefixedDatabase(database, "staging.x."))
    staged = {name: await options_of(database, name) for name in await names_of(database)}
    assert all(name.startswith("staging.x.") for name in staged)
    await prepare_database(database)
    for name, options in staged.items():
        assert await options_of(database, name.removeprefix("staging.x.")) == options


async def test_only_collections_with_the_prefix_are_seen(database: Any) -> None:
    inner = PrefixedDatabase(database, "p.")
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
