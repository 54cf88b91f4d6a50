"""The LRU cache: bounded, and exact where it follows changes."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from storage.cache import change_feed
from storage.cache.cache import MISSING, Cache
from storage.cache.change_feed import ChangeFeed, is_unchanged_since
from storage.cache.read_set import whole
from storage.setup import preparation
from tests.storage.cache.test_change_feed import wait_for_snapshot, wait_until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ASSET = {"name": "A", "market": "m", "created_at": "x", "updated_at": "x"}


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


@pytest.fixture
async def feed(database: Any, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ChangeFeed]:
    """Changes of a database with its collections, trusted however slow this machine is."""
    monkeypatch.setattr(change_feed, "CONFIRMATION_TTL_SECONDS", 3600.0)
    await preparation.prepare_database(database)
    async with ChangeFeed(database).run() as feed:
        await wait_for_snapshot(feed)
        yield feed


async def test_a_change_invalidates_what_was_read_from_its_collection(
    database: Any, feed: ChangeFeed
) -> None:
    cache = Cache[str, int](feed=feed)
    before = await wait_for_snapshot(feed)
    cache.put("asset", 1, before, whole("assets"))
    cache.put("unit", 2, before, whole("units", "floors"))
    await database["assets"].insert_one({"_id": "a", **ASSET})
    await wait_until(feed, lambda now: not is_unchanged_since(before, now, whole("assets")))
    assert (cache.get("asset"), cache.get("unit")) == (None, 2)
    assert cache.counters[:4] == (1, 1, 1, 0)
    assert len(cache) == 1


async def test_a_change_during_the_read_invalidates_it(feed: ChangeFeed) -> None:
    cache = Cache[str, int](feed=feed)
    snapshot = await wait_for_snapshot(feed)
    feed.count_write()
    cache.put("a", 1, snapshot, whole("assets"))
    assert cache.get("a") is None


async def test_nothing_is_cached_or_used_while_changes_might_go_unnoticed(
    feed: ChangeFeed, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = Cache[str, int](feed=feed)
    cache.put("a", 1, await wait_for_snapshot(feed), whole("assets"))
    monkeypatch.setattr(change_feed, "CONFIRMATION_TTL_SECONDS", 0.0)
    assert not cache.put("b", 2, feed.take_snapshot(), whole("assets"))
    assert cache.get("a") is None
    monkeypatch.setattr(change_feed, "CONFIRMATION_TTL_SECONDS", 3600.0)
    assert (cache.get("a"), cache.get("b")) == (1, None)
