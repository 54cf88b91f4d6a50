"""Erasing: after it, nothing in the database names the asset or the key, and the rest is there."""

import json
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from storage.administration import api_keys, audit
from storage.administration.audit import Actor, Origin
from storage.administration.erasure import ERASED, erase_traces, plan_erasure
from storage.attribute_assignments import assign_attributes
from storage.catalog import Assignment
from storage.errors import ErasureRefusedError
from storage.importing.change_plan import ChangeRequest
from storage.importing.import_bundles import import_bundles
from storage.importing.removals import RemovalLimit
from storage.mongo import driver
from storage.records.visibility import ALL_ASSETS
from tests.storage.catalogs import SMALL, write_arrays

ASSET, OTHER = "larkspur", "b"
BUNDLE = json.loads(
    json.dumps(SMALL).replace('"a"', f'"{ASSET}"').replace('"u1"', f'"{ASSET}-101"')
)
KEY_NAME = "the website of Larkspur"


async def dump(database: driver.Database) -> str:
    """All documents of all collections as text."""
    documents = {
        name: await database[name].find({}).to_list(None)
        for name in await database.list_collection_names()
    }
    return json.dumps(documents, default=str).lower()


async def create_key(database: driver.Database, *assets: str) -> str:
    record, _ = await api_keys.create_api_key(
        database, name=KEY_NAME, permissions=[], asset_ids=[*assets], expires_at=None
    )
    return record.id


async def assign(database: driver.Database, unit: str, asset: str, key: str) -> None:
    """Assign an attribute to a unit, by an API key."""
    origin = Origin(Actor("key", key, KEY_NAME), "rest", "192.0.2.7", f"by-{key}")
    assignment = Assignment(group_id="plan", attribute_id="t", asset_id=asset, unit_id=unit)
    await assign_attributes(database, ALL_ASSETS, "plan", [assignment], origin)


@pytest.fixture
async def key(database: Any, tmp_path: Path) -> str:
    """A key that has seen both assets, and has changed units of both. One of them is removed."""
    await import_bundles(database, [write_arrays(tmp_path / f"{ASSET}.json", BUNDLE)])
    key = await create_key(database, ASSET, OTHER)
    limited = partial(msgspec.structs.replace, asset_ids=[OTHER])
    await api_keys.update_api_key(database, key, limited)
    await assign(database, f"{ASSET}-101", ASSET, key)
    await assign(database, "v1", OTHER, key)
    changes = ChangeRequest(removed_kind="asset", removed_keys=(ASSET,), limit=RemovalLimit(None))
    await import_bundles(database, [], changes=changes)
    return key


async def test_nothing_names_an_erased_asset(database: Any, key: str) -> None:
    before = await dump(database)
    planned = await plan_erasure(database, "asset", ASSET)
    assert await dump(database) == before
    await erase_traces(database, "asset", ASSET)
    assert ASSET in before.replace(KEY_NAME.lower(), "")
    assert ASSET not in (await dump(database)).replace(KEY_NAME.lower(), "")
    records = [each async for each in audit.iter_audit_records(database, audit.AuditFilter(), 0)]
    assert [each.action for each in records] == [
        "traces.erased",
        "records.removed",
        "attributes.assigned",
        "attributes.assigned",
        "key.updated",
        "key.created",
        "catalog.imported",
    ]
    by_action = {each.action: each for each in records}
    assert by_action["key.created"].target.ids == [key]
    assert by_action["key.created"].asset_ids == [OTHER, ERASED]
    [updated] = by_action["key.updated"].changes
    assert (updated.before, updated.after) == (
        {"asset_ids": [ERASED, OTHER]},
        {"asset_ids": [OTHER]},
    )
    assert by_action["catalog.imported"].target.ids == [ERASED]
    counts = {each.kind: each.count for each in by_action["catalog.imported"].changes}
    assert counts["units"] == len(BUNDLE["units"])
    of_other = next(each for each in records if each.asset_ids == [OTHER] and each.changes[0].ids)
    assert of_other.changes[0].ids == ["v1"]
    assert by_action["traces.erased"].changes == planned.changes
    assert (await plan_erasure(database, "asset", ASSET)).changes == []


async def test_nothing_names_an_erased_key(database: Any, key: str) -> None:
    with pytest.raises(ErasureRefusedError, match=f"in use: first, floorgate keys revoke {key}"):
        await erase_traces(database, "key", key)
    await api_keys.record_uses(database, {key: datetime.now(UTC)})
    await api_keys.revoke_api_key(database, key)
    await erase_traces(database, "key", key)
    left = await dump(database)
    assert not [each for each in (key, KEY_NAME.lower(), "192.0.2.7") if each in left]
    records = [each async for each in audit.iter_audit_records(database, audit.AuditFilter(), 0)]
    assigned = [each for each in records if each.action == "attributes.assigned"]
    assert {each.actor for each in assigned} == {Actor("key", ERASED, ERASED)}
    assert [each.changes[0].ids for each in assigned] == [["v1"], [f"{ASSET}-101"]]


async def test_an_asset_of_the_catalog_is_not_erased(database: Any, key: str) -> None:
    before = await dump(database)
    with pytest.raises(ErasureRefusedError, match="in use: first, floorgate remove asset b"):
        await erase_traces(database, "asset", OTHER)
    assert await dump(database) == before
