"""Members are staged apart from the catalog, in bundle order, and each key only once."""

import io
import json
from typing import Any

import pytest

from storage.administration.import_lease import STAGING_PREFIX
from storage.bundles.json_bundles import read_members
from storage.bundles.violations import Violations
from storage.catalog import ASSIGNMENTS, RECORD_TYPES
from storage.errors import BundleError
from storage.importing import staging as staging_module
from storage.importing.staging import Staging
from storage.mongo import driver
from storage.records.kinds import RecordType
from tests.storage.catalogs import SMALL, stage

pytestmark = pytest.mark.anyio


def assets(*ids: str) -> dict[str, list[dict[str, Any]]]:
    return {"assets": [{"id": id, "name": f"Name of {id}"} for id in ids]}


async def staged(staging: Staging, kind: RecordType[Any]) -> list[list[tuple[str, str]]]:
    """The keys and origins of the staged members, batch by batch."""
    return [
        [(document["_id"], document["_place"]) for document in batch]
        async for batch in staging.iter_batches(kind)
    ]


async def test_members_come_back_in_bundle_order_in_batches(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "BATCH_DOCUMENTS", 2)
    staging = await stage(database, assets("c", "a"), assets("b"))
    assert await staged(staging, RECORD_TYPES[0]) == [
        [("c", "b0: $.assets[0]"), ("a", "b0: $.assets[1]")],
        [("b", "b1: $.assets[0]")],
    ]


async def test_members_that_may_share_a_key_come_sorted_so_that_they_are_neighbours(
    database: Any,
) -> None:
    staging = await stage(database, {"attribute_assignments": SMALL["attribute_assignments"]})
    (batch,) = await staged(staging, ASSIGNMENTS)
    assert [key for key, _ in batch] == ["extras\0u1\0quiet", "extras\0u1\0view", "plan\0u1\0s"]


async def test_a_repeated_key_is_a_violation_that_names_both_origins(database: Any) -> None:
    with pytest.raises(BundleError) as caught:
        await stage(database, assets("a", "b", "a"), assets("b", "c"))
    assert caught.value.violations == [
        'b0: $.assets[2]: asset "a" is already at b0: $.assets[0]',
        'b1: $.assets[0]: asset "b" is already at b0: $.assets[1]',
    ]


@pytest.mark.parametrize("many", [1, 3])
async def test_this_is_so_too_where_the_index_is_built_at_the_end(
    database: Any, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    monkeypatch.setattr(staging_module, "BULK_MEMBERS", many)
    with pytest.raises(BundleError) as caught:
        await stage(database, assets("a", "b"), assets("c", "d"), assets("d", "e", "a"))
    assert sorted(caught.value.violations) == [
        'b2: $.assets[0]: asset "d" is already at b1: $.assets[1]',
        'b2: $.assets[2]: asset "a" is already at b0: $.assets[0]',
    ]


async def test_only_the_first_member_of_a_key_is_kept_so_that_others_can_be_checked(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging_module, "BULK_MEMBERS", 1)
    monkeypatch.setattr(driver, "BATCH_DOCUMENTS", 2)
    staging, violations = Staging(database, "import"), Violations()
    content = io.BytesIO(json.dumps(assets("a", "b", "a", "b", "a", "c")).encode())
    for member in read_members(content, "b", violations):
        await staging.add_members([member], violations)
    await staging.build_indexes(violations)
    batches = await staged(staging, RECORD_TYPES[0])
    assert [key for batch in batches for key, _ in batch] == ["a", "b", "c"]
    assert [each.place for each in violations.list_first()] == [
        f"b: $.assets[{number}]" for number in (2, 3, 4)
    ]
    indexes = await database[staging.collection_of("assets").name].index_information()
    assert "_key_1__id_1" in indexes


async def test_dropping_also_drops_what_killed_imports_left_and_nothing_else(database: Any) -> None:
    await database["api_key_uses"].insert_one({"_id": "live"})
    await stage(database, assets("a"), import_id="killed")
    staging = await stage(database, SMALL)
    await staging.drop(await staging.list_names())
    names = await database.list_collection_names()
    assert [name for name in names if name.startswith(STAGING_PREFIX)] == []
    assert await database["api_key_uses"].count_documents({}) == 1
    assert await staged(staging, RECORD_TYPES[0]) == []
