"""Records are cached by key until their collection changes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from storage.assets import ASSETS
from storage.cache import change_feed
from storage.cache.change_feed import ChangeFeed, is_unchanged_since
from storage.cache.read_set import whole
from storage.cache.record_cache import RecordCache, RecordCacheKey
from storage.mongo import driver
from storage.mongo.consistency import reads
from storage.records.visibility import ALL_ASSETS, AssetScope
from storage.setup import preparation
from tests.storage.cache.test_change_feed import wait_for_snapshot, wait_until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

STAMPS = {"created_at": "2026-01-01T00:00:00+00:00", "updated_at": "2026-01-01T00:00:00+00:00"}
OAK = AssetScope(frozenset(["oak"]))


class Directory:
    """Assets, and the number of reads."""

    def __init__(self, database: Any, records: RecordCache) -> None:
        self.database = database
        self.records = records
        self.reads = 0

    async def name(self, key: str, scope: AssetScope = ALL_ASSETS) -> str | None:
        """The name of an asset, if the scope allows it."""
        return await self.records.get_or_load(
            RecordCacheKey(ASSETS.name, "name", scope, key), self.read(key, scope)
        )

    def read(self, key: str, scope: AssetScope) -> Callable[[], Awaitable[str | None]]:
        async def read() -> str | None:
            self.reads += 1
            where = scope.restrict(ASSETS, {"_id": key})
            found = await self.database[ASSETS.name].find_one(where)
            return found["name"] if found else None

        return read

    async def rename(self, key: str, name: str) -> None:
        await self.database[ASSETS.name].update_one({"_id": key}, {"$set": {"name": name}})


@asynccontextmanager
async def open_change_feed(database: Any) -> AsyncIterator[ChangeFeed]:
    await preparation.prepare_database(database)
    async with ChangeFeed(database).run() as followed:
        await wait_for_snapshot(followed)
        yield followed


async def test_a_record_read_at_an_older_snapshot_is_not_cached_under_newer_versions(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A field waits for the first read of its operation, and an asset is renamed meanwhile."""
    monkeypatch.setattr(change_feed, "CONFIRMATION_TTL_SECONDS", 3600.0)
    send, answered, go_on = reads._send, asyncio.Event(), asyncio.Event()

    async def send_slowly(*args: Any) -> Any:
        reply = await send(*args)
        answered.set()
        await go_on.wait()
        return reply

    async def read_name() -> str:
        where = {"_id": "oak"}
        found = await driver.find_documents(database, ASSETS.name, where, {"name": 1}, limit=1)
        name: str = found[0]["name"]
        return name

    async with open_change_feed(database) as followed:
        cache, key = RecordCache(followed), RecordCacheKey(ASSETS.name, "name", ALL_ASSETS, "oak")
        oak = {"_id": "oak", "name": "Oak", "market": "m", **STAMPS}
        before = await wait_for_snapshot(followed)
        await database[ASSETS.name].insert_one(oak)
        await wait_until(
            followed, lambda now: not is_unchanged_since(before, now, whole(ASSETS.name))
        )
        monkeypatch.setattr(reads, "_send", send_slowly)
        with driver.limit_time(60):
            first = asyncio.create_task(read_name())
            await answered.wait()
            before = await wait_for_snapshot(followed)
            await database[ASSETS.name].update_one({"_id": "oak"}, {"$set": {"name": "Elder"}})
            await wait_until(
                followed, lambda now: not is_unchanged_since(before, now, whole(ASSETS.name))
            )
            second = asyncio.create_task(cache.get_or_load(key, read_name))
            await asyncio.sleep(0)  # it has the versions, and waits for the first read
            go_on.set()
            assert await first == await second == "Oak"
        assert await cache.get_or_load(key, read_name) == "Elder"


@pytest.fixture
async def directory(database: Any, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Directory]:
    """Two assets, cached however slow this machine is."""
    monkeypatch.setattr(change_feed, "CONFIRMATION_TTL_SECONDS", 3600.0)
    async with open_change_feed(database) as followed:
        before = await wait_for_snapshot(followed)
        await database[ASSETS.name].insert_many(
            [{"_id": key, "name": key.title(), "market": "m", **STAMPS} for key in ("oak", "elm")]
        )
        await wait_until(
            followed, lambda now: not is_unchanged_since(before, now, whole(ASSETS.name))
        )
        yield Directory(database, RecordCache(followed))


async def test_a_record_is_read_once(directory: Directory) -> None:
    assert [await directory.name("oak") for _ in range(3)] == ["Oak"] * 3
    assert directory.reads == 1


async def test_a_missing_record_is_read_again(directory: Directory) -> None:
    assert [await directory.name("ash") for _ in range(2)] == [None] * 2
    assert directory.reads == 2


async def test_scopes_do_not_share_entries(directory: Directory) -> None:
    assert await directory.name("elm") == "Elm"
    assert await directory.name("elm", OAK) is None
    assert await directory.name("elm", AssetScope(frozenset())) is None
    assert await directory.name("oak", OAK) == "Oak"
    assert await directory.name("elm", AssetScope(frozenset(["elm", "oak"]))) == "Elm"
    assert directory.reads == 5


async def test_a_change_by_another_client_invalidates(directory: Directory) -> None:
    await directory.name("oak")
    followed = directory.records._feed
    before = await wait_for_snapshot(followed)
    await directory.rename("oak", "Great Oak")
    await wait_until(followed, lambda now: not is_unchanged_since(before, now, whole(ASSETS.name)))
    assert await directory.name("oak") == "Great Oak"


async def test_a_write_by_this_gateway_invalidates_at_once(directory: Directory) -> None:
    for number in range(5):
        await directory.rename("oak", f"Oak {number}")
        directory.records._feed.count_write()
        assert await directory.name("oak") == f"Oak {number}"


async def test_a_change_during_the_read_invalidates(directory: Directory) -> None:
    followed = directory.records._feed

    async def read() -> str:
        followed.count_write()
        return "Oak before the change"

    key = RecordCacheKey(ASSETS.name, "name", ALL_ASSETS, "oak")
    assert await directory.records.get_or_load(key, read) == "Oak before the change"
    assert await directory.name("oak") == "Oak"


async def test_a_change_of_another_collection_does_not_invalidate(directory: Directory) -> None:
    followed = directory.records._feed
    await directory.name("oak")
    before = await wait_for_snapshot(followed)
    await directory.database["backgrounds"].insert_one(
        {"_id": "b", "asset_id": "oak", "unit_map_id": "m", "name": "B", **STAMPS}
    )
    await wait_until(
        followed, lambda now: not is_unchanged_since(before, now, whole("backgrounds"))
    )
    await directory.name("oak")
    assert directory.reads == 1


async def test_nothing_is_cached_while_changes_might_go_unnoticed(database: Any) -> None:
    async with open_change_feed(database) as followed:
        pass
    directory = Directory(database, RecordCache(followed))
    await database[ASSETS.name].insert_one({"_id": "oak", "name": "Oak", "market": "m", **STAMPS})
    assert [await directory.name("oak") for _ in range(2)] == ["Oak"] * 2
    assert directory.reads == 2


async def test_the_least_recently_used_record_is_evicted(directory: Directory) -> None:
    directory.records = RecordCache(directory.records._feed, max_records=1)
    for key in ("oak", "elm", "elm", "oak"):
        await directory.name(key)
    assert directory.reads == 3
