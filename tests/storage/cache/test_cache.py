"""The LRU cache: bounded, and exact where it follows changes; records are cached by key in one."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest

from storage.cache.cache import MISSING, Cache
from storage.cache.change_feed import is_unchanged_since
from storage.cache.read_set import whole
from storage.cache.record_cache import BypassedRecordCache, RecordCache, RecordCacheKey
from storage.catalog import ASSETS
from storage.mongo import consistent_reads, driver
from storage.records.visibility import ALL_ASSETS, AssetScope
from tests.storage.cache.conftest import ChangesInMemory
from tests.storage.cache.test_change_feed import follow_changes, wait_for_snapshot, wait_until


def test_the_least_recently_used_entry_is_evicted() -> None:
    cache = Cache[str, int](max_entries=2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.get("a")
    cache.put("c", 3)
    assert [cache.get(key) for key in "abc"] == [1, None, 3]


def test_putting_an_entry_again_makes_it_recent_and_replaces_its_value() -> None:
    cache = Cache[str, int](max_entries=2)
    for key, value in (("a", 1), ("b", 2), ("a", 3), ("c", 4)):
        cache.put(key, value)
    assert [cache.get(key) for key in "abc"] == [3, None, 4]


def test_peeking_neither_counts_nor_makes_recent() -> None:
    cache = Cache[str, int](max_entries=2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert (cache.peek("a", 0), cache.peek("z", 0)) == (1, 0)
    cache.put("c", 3)
    assert cache.get("a", count_miss=False, default=None) is None
    assert cache.counters._replace(evictions=0, entries=0) == Cache[str, int]().counters


def test_none_can_be_cached() -> None:
    cache = Cache[str, str | None]()
    cache.put("a", None)
    assert cache.get("a", MISSING) is None
    assert cache.get("b", MISSING) is MISSING


def weigh(key: str, value: bytearray) -> int:
    return len(key) + len(value)


def test_a_byte_budget_evicts_until_the_new_entry_fits() -> None:
    cache = Cache[str, bytearray](max_bytes=30, weigh=weigh)
    for key in "abc":
        cache.put(key, bytearray(9))
    cache.put("d", bytearray(15))
    assert [key for key in "abcd" if cache.get(key)] == ["c", "d"]
    assert (cache.counters.size_bytes, cache.counters.evictions) == (26, 2)


def test_what_is_larger_than_the_budget_evicts_nothing() -> None:
    cache = Cache[str, bytearray](max_bytes=30, weigh=weigh)
    assert cache.put("a", bytearray(9))
    assert not cache.put("b", bytearray(30))
    assert [key for key in "ab" if cache.get(key)] == ["a"]


def test_a_value_too_large_to_be_cached_removes_the_one_that_it_replaces() -> None:
    cache = Cache[str, bytearray](max_bytes=30, weigh=weigh)
    cache.put("a", bytearray(9))
    assert not cache.put("a", bytearray(30))
    assert cache.get("a") is None
    assert cache.counters.size_bytes == 0


def test_a_minimum_of_entries_is_kept_at_any_size() -> None:
    cache = Cache[str, bytearray](max_bytes=30, weigh=weigh, min_entries=1)
    cache.put("a", bytearray(9))
    assert cache.put("b", bytearray(100))
    assert [key for key in "ab" if cache.get(key)] == ["b"]
    cache.put("c", bytearray(9))
    assert [key for key in "bc" if cache.get(key)] == ["c"]
    assert cache.counters.size_bytes == 10


def test_an_entry_that_grows_evicts_others() -> None:
    cache = Cache[str, bytearray](max_bytes=30, weigh=weigh)
    grown = bytearray(9)
    cache.put("a", bytearray(9))
    cache.put("b", grown)
    grown.extend(bytes(11))
    cache.reweigh("b")
    cache.reweigh("none")
    assert [key for key in "ab" if cache.get(key)] == ["b"]
    assert cache.counters.size_bytes == 21


def test_an_entry_that_grows_over_the_budget_evicts_only_itself() -> None:
    cache = Cache[str, bytearray](max_bytes=30, weigh=weigh)
    grown = bytearray(9)
    cache.put("a", bytearray(9))
    cache.put("b", grown)
    grown.extend(bytes(30))
    cache.reweigh("b")
    assert [key for key in "ab" if cache.get(key)] == ["a"]
    assert (cache.counters.size_bytes, cache.counters.evictions) == (10, 1)


def test_a_change_invalidates_what_was_read_from_its_collection(feed: ChangesInMemory) -> None:
    cache = Cache[str, int](feed=feed)
    before = feed.take()
    cache.put("asset", 1, before, whole("assets"))
    cache.put("unit", 2, before, whole("units", "floors"))
    feed.report("assets")
    assert not cache.contains("asset")
    assert cache.contains("unit")
    assert (cache.get("asset"), cache.get("unit")) == (None, 2)
    assert cache.counters[:4] == (1, 1, 1, 0)
    assert len(cache) == 1


def test_a_change_during_the_read_invalidates_it(feed: ChangesInMemory) -> None:
    cache, snapshot = Cache[str, int](feed=feed), feed.take()
    feed.count_write()
    cache.put("a", 1, snapshot, whole("assets"))
    assert cache.get("a") is None


def test_nothing_is_cached_or_used_while_changes_might_go_unnoticed(feed: ChangesInMemory) -> None:
    cache = Cache[str, int](feed=feed)
    cache.put("a", 1, feed.take(), whole("assets"))
    feed.lose()
    assert not cache.put("b", 2, feed.take_snapshot(), whole("assets"))
    assert cache.get("a") is None
    feed.follow_again()
    assert (cache.get("a"), cache.get("b")) == (1, None)


OAK = AssetScope(frozenset(["oak"]))


class Names:
    """Names of assets in a cache of records, and the number of times that they were read."""

    def __init__(self, feed: ChangesInMemory, max_records: int = 10) -> None:
        self.records = RecordCache(feed, max_records)
        self.stored = {"oak": "Oak", "elm": "Elm"}
        self.reads = 0

    async def get(self, key: str, scope: AssetScope = ALL_ASSETS) -> str | None:
        return await self.records.get_or_load(_record_key(key, scope), self._read(key, scope))

    def _read(self, key: str, scope: AssetScope) -> Callable[[], Awaitable[str | None]]:
        async def read() -> str | None:
            self.reads += 1
            return self.stored.get(key) if scope.allows(key) else None

        return read


def _record_key(key: str, scope: AssetScope = ALL_ASSETS) -> RecordCacheKey:
    return RecordCacheKey(ASSETS.name, "name", scope, key)


@pytest.mark.anyio
async def test_a_record_is_read_once_and_again_if_it_is_missing_or_evicted(
    feed: ChangesInMemory,
) -> None:
    names = Names(feed, max_records=1)
    for key, reads_made in (("oak", 1), ("oak", 1), ("ash", 2), ("ash", 3), ("elm", 4), ("oak", 5)):
        assert await names.get(key) == names.stored.get(key)
        assert names.reads == reads_made


@pytest.mark.anyio
async def test_scopes_share_no_records(feed: ChangesInMemory) -> None:
    names = Names(feed)
    assert await names.get("elm") == "Elm"
    assert await names.get("elm", OAK) is None
    assert await names.get("oak", OAK) == "Oak"
    assert names.reads == 3


@pytest.mark.anyio
async def test_a_record_is_read_again_after_a_change(feed: ChangesInMemory) -> None:
    names = Names(feed)
    changes: list[tuple[bool, Callable[[], None]]] = [
        (True, partial(feed.report, ASSETS.name)),
        (False, partial(feed.report, "backgrounds")),
        (True, feed.count_write),  # by this gateway, at once
        (True, feed.lose),
    ]
    for is_reread, change in changes:
        await names.get("oak")
        before = names.reads
        names.stored["oak"] = f"Oak {before}"
        change()
        assert (await names.get("oak") == f"Oak {before}") is is_reread
        assert (names.reads > before) is is_reread


@pytest.mark.anyio
async def test_a_cache_that_is_bypassed_counts_what_it_would_have_had(
    feed: ChangesInMemory,
) -> None:
    names = Names(feed)
    await names.get("oak")
    names.records = bypassed = BypassedRecordCache(names.records)
    for key in ("oak", "elm", "elm"):
        await names.get(key)
    assert (bypassed.hits, bypassed.misses, names.reads) == (1, 2, 4)


@pytest.mark.anyio
async def test_a_record_read_at_an_older_snapshot_is_not_cached_under_newer_versions(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A field waits for the first read of its operation, and an asset is renamed meanwhile."""
    send, answered, go_on = consistent_reads._send, asyncio.Event(), asyncio.Event()

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

    stamps = {"created_at": "2026-01-01", "updated_at": "2026-01-01"}
    await database[ASSETS.name].insert_one({"_id": "oak", "name": "Oak", "market": "m", **stamps})
    async with follow_changes(database, monkeypatch) as followed:
        cache, key = RecordCache(followed), _record_key("oak")
        monkeypatch.setattr(consistent_reads, "_send", send_slowly)
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
