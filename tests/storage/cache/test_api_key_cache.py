"""The key cache saves reads, and never accepts a revoked key that the feed has reported."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from storage.administration import api_keys
from storage.administration.api_keys import KEYS_COLLECTION
from storage.cache import api_key_cache
from storage.cache.api_key_cache import ApiKeyCache
from storage.errors import UnavailableCause, UnavailableError
from tests.storage.cache.conftest import ChangesInMemory

pytestmark = pytest.mark.anyio

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
        assert cache.find_authenticated_key(api_keys.hash_key(each)) is None
        first = reads.number + 1
        for _ in range(3):
            assert (await cache.get_authenticated_key(each) is not None) is is_valid
            assert (cache.find_authenticated_key(api_keys.hash_key(each)) is not None) is is_valid
        assert reads.number == first


async def test_every_key_is_known_from_the_beginning(database: Any, cache: ApiKeyCache) -> None:
    _, key = await create(database)
    assert not cache.is_known(api_keys.hash_key(key))
    async with cache.run():
        assert cache.is_known(api_keys.hash_key(key))
        assert not cache.is_known(api_keys.hash_key("x" * len(key)))
        assert not cache.is_known(api_keys.hash_key(key[:-1]))


async def test_a_malformed_key_costs_no_read(cache: ApiKeyCache, reads: Reads) -> None:
    assert await cache.get_authenticated_key("fgk_x") is None
    assert await cache.get_authenticated_key(api_keys.generate_key()[:-1] + "!") is None
    assert not await cache.is_stored("fgk_x")
    assert reads.number == 0


async def test_a_cache_that_does_not_follow_changes_reads_every_time(
    database: Any, cache: ApiKeyCache, feed: ChangesInMemory, reads: Reads
) -> None:
    _, key = await create(database)
    feed.lose()
    for number in range(1, 4):
        assert await cache.get_authenticated_key(key)
        assert reads.number == number


async def test_a_revoked_key_is_rejected_once_the_change_is_reported(
    database: Any, cache: ApiKeyCache, feed: ChangesInMemory
) -> None:
    key_id, key = await create(database)
    assert await cache.get_authenticated_key(key)
    await api_keys.revoke_api_key(database, key_id)
    assert await cache.get_authenticated_key(key)
    feed.report(KEYS_COLLECTION)
    assert await cache.get_authenticated_key(key) is None


async def test_a_key_read_while_it_was_revoked_is_not_cached(
    database: Any, cache: ApiKeyCache, feed: ChangesInMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, key = await create(database)

    async def find_slowly(database: Any, digest: bytes) -> Any:
        record = await FIND(database, digest)
        feed.count_write()  # a change is known before the answer is
        return record

    monkeypatch.setattr(api_keys, "find_api_key", find_slowly)
    assert await cache.get_authenticated_key(key)
    assert cache.find_authenticated_key(api_keys.hash_key(key)) is None


async def test_an_expired_key_is_rejected_from_the_cache(
    database: Any, cache: ApiKeyCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = datetime.now(UTC) + timedelta(hours=1)
    _, key = await create(database, expires_at=ends)

    class Later(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
            return ends

    assert await cache.get_authenticated_key(key)
    monkeypatch.setattr(api_key_cache, "datetime", Later)
    assert await cache.get_authenticated_key(key) is None


async def test_the_last_use_is_written_when_the_cache_stops(
    database: Any, cache: ApiKeyCache
) -> None:
    key_id, key = await create(database)
    began = datetime.now(UTC) - timedelta(milliseconds=1)
    async with cache.run():
        assert await cache.get_authenticated_key(key)
    (listed,) = await api_keys.list_api_keys(database)
    assert listed.id == key_id
    assert listed.last_used_at is not None
    assert listed.last_used_at >= began


async def test_uses_that_could_not_be_written_are_written_next_time(
    database: Any, cache: ApiKeyCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, key = await create(database)
    assert await cache.get_authenticated_key(key)
    written = api_keys.record_uses

    async def fail(*_: Any) -> None:
        raise UnavailableError("away", UnavailableCause.UNREACHABLE)

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
        await cache.get_authenticated_key(key)
    for key, count in ((minted[3], 0), (minted[0], 1)):
        assert await reads.count(partial(cache.get_authenticated_key, key)) == count
