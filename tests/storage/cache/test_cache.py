"""The LRU cache: bounded, and exact where it follows changes; records and keys are in one."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from storage.administration import api_keys
from storage.administration.api_keys import KEYS_COLLECTION
from storage.administration.saved_endpoints import (
    ENDPOINTS_COLLECTION,
    EndpointPlan,
    SavedEndpoint,
    change_endpoints,
    list_endpoints,
)
from storage.cache import api_key_cache, record_cache
from storage.cache.api_key_cache import ApiKeyCache
from storage.cache.cache import MISSING, Cache
from storage.cache.change_feed import is_unchanged_since
from storage.cache.read_set import whole
from storage.cache.record_cache import (
    BypassedRecordCache,
    RecordCache,
    RecordCacheKey,
    SavedEndpointCache,
)
from storage.catalog import ASSETS
from storage.errors import UnavailableCause, UnavailableError
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


async def test_a_record_is_read_once_and_again_if_it_is_missing_or_evicted(
    feed: ChangesInMemory,
) -> None:
    names = Names(feed, max_records=1)
    for key, reads_made in (("oak", 1), ("oak", 1), ("ash", 2), ("ash", 3), ("elm", 4), ("oak", 5)):
        assert await names.get(key) == names.stored.get(key)
        assert names.reads == reads_made


async def test_scopes_share_no_records(feed: ChangesInMemory) -> None:
    names = Names(feed)
    assert await names.get("elm") == "Elm"
    assert await names.get("elm", OAK) is None
    assert await names.get("oak", OAK) == "Oak"
    assert names.reads == 3


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


async def test_a_cache_that_is_bypassed_counts_what_it_would_have_had(
    feed: ChangesInMemory,
) -> None:
    names = Names(feed)
    await names.get("oak")
    names.records = bypassed = BypassedRecordCache(names.records)
    for key in ("oak", "elm", "elm"):
        await names.get(key)
    assert (bypassed.hits, bypassed.misses, names.reads) == (1, 2, 4)


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


FIND = api_keys.find_api_key


async def create(database: Any, **given: Any) -> tuple[str, str]:
    wanted = {"name": "n", "permissions": [], "asset_ids": None, "expires_at": None, **given}
    record, key = await api_keys.create_api_key(database, **wanted)
    return record.id, key


class Reads:
    """The number of times a key was read from the database."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.number = 0

        async def find(database: Any, digest: bytes) -> Any:
            self.number += 1
            return await FIND(database, digest)

        monkeypatch.setattr(api_keys, "find_api_key", find)

    async def count(self, work: Callable[[], Awaitable[Any]]) -> int:
        """Return how many reads some work makes."""
        before = self.number
        await work()
        return self.number - before


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    return Reads(monkeypatch)


@pytest.fixture
def cache(database: Any, feed: ChangesInMemory) -> ApiKeyCache:
    return ApiKeyCache(database, feed)


async def test_a_key_is_read_once_whether_it_exists_or_not(
    database: Any, cache: ApiKeyCache, reads: Reads
) -> None:
    _, key = await create(database)
    for each, is_valid in ((key, True), (api_keys.generate_key(), False)):
        assert cache.get_cached_key(api_keys.hash_key(each)) is None
        first = reads.number + 1
        for _ in range(3):
            assert (await cache.get_valid_key(each) is not None) is is_valid
            assert (cache.get_cached_key(api_keys.hash_key(each)) is not None) is is_valid
        assert reads.number == first


async def test_every_key_is_known_from_the_beginning(database: Any, cache: ApiKeyCache) -> None:
    _, key = await create(database)
    assert not cache.is_known(api_keys.hash_key(key))
    async with cache.run():
        assert cache.is_known(api_keys.hash_key(key))
        assert not cache.is_known(api_keys.hash_key("x" * len(key)))
        assert not cache.is_known(api_keys.hash_key(key[:-1]))


async def test_a_malformed_key_costs_no_read(cache: ApiKeyCache, reads: Reads) -> None:
    assert await cache.get_valid_key("fgk_x") is None
    assert await cache.get_valid_key(api_keys.generate_key()[:-1] + "!") is None
    assert not await cache.is_stored("fgk_x")
    assert reads.number == 0


async def test_a_cache_that_does_not_follow_changes_reads_every_time(
    database: Any, cache: ApiKeyCache, feed: ChangesInMemory, reads: Reads
) -> None:
    _, key = await create(database)
    feed.lose()
    for number in range(1, 4):
        assert await cache.get_valid_key(key)
        assert reads.number == number


async def test_a_revoked_key_is_rejected_once_the_change_is_reported(
    database: Any, cache: ApiKeyCache, feed: ChangesInMemory
) -> None:
    key_id, key = await create(database)
    assert await cache.get_valid_key(key)
    await api_keys.revoke_api_key(database, key_id)
    assert await cache.get_valid_key(key)
    feed.report(KEYS_COLLECTION)
    assert await cache.get_valid_key(key) is None


async def test_a_key_read_while_it_was_revoked_is_not_cached(
    database: Any, cache: ApiKeyCache, feed: ChangesInMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, key = await create(database)

    async def find_slowly(database: Any, digest: bytes) -> Any:
        record = await FIND(database, digest)
        feed.count_write()  # a change is known before the answer is
        return record

    monkeypatch.setattr(api_keys, "find_api_key", find_slowly)
    assert await cache.get_valid_key(key)
    assert cache.get_cached_key(api_keys.hash_key(key)) is None


async def test_an_expired_key_is_rejected_from_the_cache(
    database: Any, cache: ApiKeyCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = datetime.now(UTC) + timedelta(hours=1)
    _, key = await create(database, expires_at=ends)

    class Later(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
            return ends

    assert await cache.get_valid_key(key)
    monkeypatch.setattr(api_key_cache, "datetime", Later)
    assert await cache.get_valid_key(key) is None


async def test_the_last_use_is_written_when_the_cache_stops(
    database: Any, cache: ApiKeyCache
) -> None:
    key_id, key = await create(database)
    began = datetime.now(UTC) - timedelta(milliseconds=1)
    async with cache.run():
        assert await cache.get_valid_key(key)
    (listed,) = await api_keys.list_api_keys(database)
    assert listed.id == key_id
    assert listed.last_used_at is not None
    assert listed.last_used_at >= began


async def test_uses_that_could_not_be_written_are_written_next_time(
    database: Any, cache: ApiKeyCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, key = await create(database)
    assert await cache.get_valid_key(key)
    written = api_keys.record_uses

    async def fail(*_: Any) -> None:
        raise UnavailableError("away", UnavailableCause.DATABASE_UNREACHABLE)

    monkeypatch.setattr(api_keys, "record_uses", fail)
    with pytest.raises(UnavailableError):
        await cache._flush_last_uses()
    monkeypatch.setattr(api_keys, "record_uses", written)
    await cache._flush_last_uses()
    (listed,) = await api_keys.list_api_keys(database)
    assert listed.last_used_at is not None


async def test_the_key_cache_is_bounded(
    database: Any, feed: ChangesInMemory, reads: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_key_cache, "MAX_KEYS", 3)
    cache = ApiKeyCache(database, feed)
    minted = [api_keys.generate_key() for _ in range(4)]
    for key in minted:
        await cache.get_valid_key(key)
    for key, count in ((minted[3], 0), (minted[0], 1)):
        assert await reads.count(partial(cache.get_valid_key, key)) == count


def endpoint(name: str) -> SavedEndpoint:
    return SavedEndpoint(name=name, method="GET", path=f"/v1/x/{name}", text=name)


async def save_endpoint(database: driver.Database, feed: ChangesInMemory, name: str) -> None:
    changes = EndpointPlan([endpoint(name)])
    await change_endpoints(database, None, (), lambda _: changes)
    feed.report(ENDPOINTS_COLLECTION)


async def test_saved_endpoints_are_read_again_after_a_change(
    database: driver.Database, feed: ChangesInMemory
) -> None:
    cache = SavedEndpointCache(database, feed)
    assert await cache.load() == ()
    assert await cache.load() is cache.get()
    await save_endpoint(database, feed, "A")
    assert cache.get() is None
    first, second = await asyncio.gather(cache.load(), cache.load())
    assert first is second
    assert [each.name for each in first] == ["A"]


async def test_a_request_joins_no_read_that_began_before_its_change(
    database: driver.Database, feed: ChangesInMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, has_read, may_end = SavedEndpointCache(database, feed), asyncio.Event(), asyncio.Event()

    async def read_slowly(database: driver.Database) -> Any:
        found = await list_endpoints(database)
        has_read.set()
        await may_end.wait()
        return found

    monkeypatch.setattr(record_cache, "list_endpoints", read_slowly)
    early = asyncio.create_task(cache.load())
    await has_read.wait()
    await save_endpoint(database, feed, "A")
    late = asyncio.create_task(cache.load())
    may_end.set()
    assert (await early, [each.name for each in await late]) == ((), ["A"])


async def test_without_the_stream_saved_endpoints_are_read_now_and_then(
    database: driver.Database, feed: ChangesInMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = SavedEndpointCache(database, feed)
    monkeypatch.setattr(record_cache, "UNCONFIRMED_SECONDS", 60.0)
    feed.lose()
    assert await cache.load() == ()
    await save_endpoint(database, feed, "A")
    assert await cache.load() == ()
    monkeypatch.setattr(record_cache, "UNCONFIRMED_SECONDS", 0.0)
    assert [each.name for each in await cache.load()] == ["A"]
