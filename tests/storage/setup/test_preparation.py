"""Preparing a database: its validators accept what records hold, however often it is done."""

import asyncio
from typing import Any

import pytest
from pymongo.errors import WriteError

from storage.bundles.reading.members import parse_member
from storage.catalog import RECORD_TYPES, RECORD_TYPES_BY_NAME
from storage.setup.preparation import prepare_database
from storage.setup.validators import build_validator
from tests.storage.catalogs import SMALL

pytestmark = pytest.mark.anyio


async def shape(database: Any) -> dict[str, Any]:
    """The validator and indexes of every collection."""
    found = {}
    for name in sorted(await database.list_collection_names()):
        info = (await database.command("listCollections", filter={"name": name}))["cursor"]
        indexes = await database[name].index_information()
        found[name] = (
            info["firstBatch"][0]["options"].get("validator"),
            {index: keys["key"] for index, keys in indexes.items()},
        )
    return found


@pytest.fixture
async def prepared(database: Any) -> Any:
    await prepare_database(database)
    return database


def document(kind_name: str) -> dict[str, Any]:
    kind = RECORD_TYPES_BY_NAME[kind_name]
    return parse_member(kind, SMALL[kind_name][0])


async def test_every_kind_gets_its_validator_and_indexes(prepared: Any) -> None:
    found = await shape(prepared)
    for kind in RECORD_TYPES:
        rule, indexes = found[kind.name]
        assert rule == build_validator(kind)
        wanted = [[("_id", 1)], *([(field, 1) for field in index] for index in kind.indexes)]
        assert sorted(indexes.values()) == sorted(wanted)
        await prepared[kind.name].insert_one(document(kind.name))
    await prepare_database(prepared)
    assert await shape(prepared) == found


async def test_documents_of_another_shape_are_rejected(prepared: Any) -> None:
    """But fields may be added to those of the record."""
    await prepared["units"].insert_one(document("units") | {"added": 1})
    changes: list[tuple[str, dict[str, Any]]] = [
        ("assets", {"name": 3}),
        ("assets", {"name": None}),
        ("assets", {"_id": ""}),
        ("units", {"asset_id": "x" * 256}),
        ("units", {"map_ids": [3]}),
        ("floors", {"sort": 1.5}),
        ("maps", {"feet_per_unit": "1"}),
        ("attribute_groups", {"one_attribute_per_unit": 1}),
        ("attribute_groups", {"attributes": [{"attribute_id": "a"}]}),
        ("locations", {"x": None}),
        ("locations", {"tags": [{"key": "k", "value": 1, "created_at": "", "updated_at": ""}]}),
    ]
    wrong = [(kind, document(kind) | change) for kind, change in changes]
    for field in ("asset_id", "floor_id", "name"):  # are required
        complete = document("units") | {"_id": field}
        wrong.append(("units", {name: complete[name] for name in complete if name != field}))
    for kind, each in wrong:
        with pytest.raises(WriteError, match="failed validation"):
            await prepared[kind].insert_one(each)


async def test_an_older_validator_is_replaced(database: Any) -> None:
    await database.create_collection("assets", validator={"name": {"$type": "string"}})
    await prepare_database(database)
    assert (await shape(database))["assets"][0] == build_validator(RECORD_TYPES[0])


async def test_gateways_that_start_at_once_prepare_what_one_does(database: Any) -> None:
    await asyncio.gather(*(prepare_database(database) for _ in range(6)))
    before = await shape(database)
    await prepare_database(database)
    assert await shape(database) == before
