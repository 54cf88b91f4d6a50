"""While members of a replica set lag behind the primary, no stale value is cached for good."""

from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from pymongo import WriteConcern

from storage.assets import ASSETS
from storage.cache import change_feed
from storage.cache.change_feed import ChangeFeed, is_unchanged_since
from storage.cache.read_set import whole
from storage.cache.record_cache import RecordCache
from tests.storage.cache.test_change_feed import wait_for_snapshot, wait_until
from tests.storage.cache.test_record_cache import Directory
from tests.storage.mongo.replica_set_of_three import ReplicaSet, run_replica_set

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture(scope="module")
def replica_set(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReplicaSet]:
    with run_replica_set(tmp_path_factory.mktemp("three")) as replica_set:
        yield replica_set


@pytest.fixture(scope="module")
def mongo_url(replica_set: ReplicaSet) -> str:
    """Has the client of each test speak to the three."""
    return replica_set.url


async def test_a_write_without_a_majority_at_the_stream_start_invalidates_earlier_reads(
    replica_set: ReplicaSet, database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_feed, "CONFIRMATION_TTL_SECONDS", 3600.0)
    assets = database[ASSETS.name]
    await assets.insert_one({"_id": "oak", "name": "Oak"})
    async with AsyncExitStack() as stack:
        with replica_set.without_majority():
            hasty = assets.with_options(write_concern=WriteConcern(w=1))
            await hasty.update_one({"_id": "oak"}, {"$set": {"name": "Holm Oak"}})
            followed = await stack.enter_async_context(ChangeFeed(database).run())
            before = await wait_for_snapshot(followed)
            directory = Directory(database, RecordCache(followed))
            assert [await directory.name("oak") for _ in range(2)] == ["Oak"] * 2
            assert directory.reads == 1
        await database["floors"].insert_one({"_id": "f"})  # reported after all earlier writes
        await wait_until(followed, lambda now: not is_unchanged_since(before, now, whole("floors")))
        assert await directory.name("oak") == "Holm Oak"
