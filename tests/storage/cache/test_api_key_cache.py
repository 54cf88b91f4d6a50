"""The key cache saves reads, and never accepts a revoked key that the feed has reported."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from storage.administration import api_keys, key_format
from storage.cache import api_key_cache, change_feed
from storage.cache.api_key_cache import ApiKeyCache
from storage.cache.change_feed import ChangeFeed
from storage.errors import Cause, UnavailableError

pytestmark = pytest.mark.anyio

TIMEOUT_SECONDS = 30
FOREVER_SECONDS = 3600.0


async def create(database: Any, **given: Any) -> tuple[str, str]:
    wanted = {"name": "n", "permissions": [], "asset_ids": None, "expires_at": None, **given}
    record, key = await api_keys.create_api_key(database, **wanted)
    return record.id, key


@asynccontextmanager
async def open_api_key_cache(database: Any) -> AsyncIterator[ApiKeyCache]:
    """A key cache that follows changes."""
    async with ChangeFeed(database).run() as known, ApiKeyCache(database, known).run() as cache:
        yield cache


async def wait_until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while not await holds():
            await asyncio.sleep(0.02)


class Reads:
    """The number of times a key was read from the database."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.number = 0
        original = api_keys.find_api_key

        async def find(database: Any, digest: bytes) -> Any:
            self.number += 1
            return await original(database, digest)

        monkeypatch.setattr(api_keys, "find_api_key", find)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    return Reads(monkeypatch)


async def test_a_cached_key_costs_no_read(
    database: Any, reads: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Cached however slow this machine is.
    monkeypatch.setattr(change_feed, "CONFIRMATION_TTL_SECONDS", FOREVER_SECONDS)
    _, key = await create(database)
    async with open_api_key_cache(database) as cache:
        await wait_until(lambda: is_from_memory(cache, key, reads))
        before = reads.number
        for _ in range(100):
            assert await cache.get_authenticated_key(key)
        assert reads.number == before


async def is_from_memory(cache: ApiKeyCache, key: str, reads: Reads) -> bool:
    await cache.get_authenticated_key(key)
    before = reads.number
    await cache.get_authenticated_key(key)
    return reads.number == before


async def test_every_key_is_known_from_the_beginning(database: Any) -> None:
    _, key = await create(database)
    async with open_api_key_cache(database) as cache:
        assert cache.is_known(key)
        assert not cache.is_known("x" * len(key))


async def test_an_unknown_key_is_cached_as_unknown(
    database: Any, reads: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_feed, "CONFIRMATION_TTL_SECONDS", FOREVER_SECONDS)
    async with open_api_key_cache(database) as cache:
        key = key_format.generate_key()
        await wait_until(lambda: is_from_memory(cache, key, reads))
        assert await cache.get_authenticated_key(key) is None


async def test_a_malformed_key_costs_no_read(database: Any, reads: Reads) -> None:
    cache = ApiKeyCache(database, ChangeFeed(database))
    assert await cache.get_authenticated_key("fgk_x") is None
    assert await cache.get_authenticated_key(key_format.generate_key()[:-1] + "!") is None
    assert reads.number == 0


async def test_a_cache_that_does_not_follow_changes_reads_every_time(
    database: Any, reads: Reads
) -> None:
    _, key = await create(database)
    cache = ApiKeyCache(database, ChangeFeed(database))
    for number in range(1, 4):
        assert await cache.get_authenticated_key(key)
        assert reads.number == number


async def test_a_revoked_key_is_rejected_once_the_change_is_reported(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Entries never time out, so only the change stream can invalidate them.
    monkeypatch.setattr(change_feed, "CONFIRMATION_TTL_SECONDS", FOREVER_SECONDS)
    key_id, key = await create(database)
    async with open_api_key_cache(database) as cache:
        assert await cache.get_authenticated_key(key)
        await api_keys.revoke_api_key(database, key_id)

        async def is_refused() -> bool:
            return await cache.get_authenticated_key(key) is None

        await wait_until(is_refused)


async def test_a_key_read_while_it_was_revoked_is_not_cached(
    database: Any, reads: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_feed, "CONFIRMATION_TTL_SECONDS", FOREVER_SECONDS)
    _, key = await create(database)
    async with ChangeFeed(database).run() as followed:
        cache = ApiKeyCache(database, followed)
        await wait_until(lambda: is_from_memory(cache, key, reads))
        original = api_keys.find_api_key

        async def find_slowly(database: Any, digest: bytes) -> Any:
            record = await original(database, digest)
            followed.count_write()  # a change is known before the answer is
            return record

        monkeypatch.setattr(api_keys, "find_api_key", find_slowly)
        followed.count_write()
        assert await cache.get_authenticated_key(key)
        monkeypatch.setattr(api_keys, "find_api_key", original)
        assert not await is_from_memory_at_once(cache, key, reads)


async def is_from_memory_at_once(cache: ApiKeyCache, key: str, reads: Reads) -> bool:
    before = reads.number
    await cache.get_authenticated_key(key)
    return reads.number == before


async def test_an_expired_key_is_rejected_from_the_cache(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_feed, "CONFIRMATION_TTL_SECONDS", FOREVER_SECONDS)
    ends = (datetime.now(UTC) + timedelta(seconds=1)).replace(microsecond=0)
    _, key = await create(database, expires_at=ends)
    async with open_api_key_cache(database) as cache:

        async def is_refused() -> bool:
            return await cache.get_authenticated_key(key) is None

        await wait_until(is_refused)
        assert datetime.now(UTC) >= ends


async def test_the_last_use_is_written_when_the_cache_stops(database: Any) -> None:
    key_id, key = await create(database)
    began = datetime.now(UTC) - timedelta(milliseconds=1)
    async with open_api_key_cache(database) as cache:
        assert await cache.get_authenticated_key(key)
    (listed,) = await api_keys.list_api_keys(database)
    assert listed.id == key_id
    assert listed.last_used_at is not None
    assert listed.last_used_at >= began


async def test_uses_that_could_not_be_written_are_written_next_time(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, key = await create(database)
    cache = ApiKeyCache(database, ChangeFeed(database))
    assert await cache.get_authenticated_key(key)
    written = api_keys.record_uses

    async def fail(*_: Any) -> None:
        raise UnavailableError("away", Cause.UNREACHABLE)

    monkeypatch.setattr(api_keys, "record_uses", fail)
    with pytest.raises(UnavailableError):
        await cache._flush_last_uses()
    monkeypatch.setattr(api_keys, "record_uses", written)
    await cache._flush_last_uses()
    (listed,) = await api_keys.list_api_keys(database)
    assert listed.last_used_at is not None


async def test_the_key_cache_is_bounded(
    database: Any, reads: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_key_cache, "MAX_KEYS", 3)
    monkeypatch.setattr(change_feed, "CONFIRMATION_TTL_SECONDS", FOREVER_SECONDS)
    minted = [key_format.generate_key() for _ in range(4)]
    async with open_api_key_cache(database) as cache:
        await wait_until(lambda: is_from_memory(cache, minted[0], reads))
        for key in minted:
            await cache.get_authenticated_key(key)
            assert len(cache._records) <= 3
        assert await is_from_memory_at_once(cache, minted[3], reads)
        assert not await is_from_memory_at_once(cache, minted[0], reads)
