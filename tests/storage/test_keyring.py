"""The ring of keys in memory: quick while it is whole, never trusted when it may not be."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from storage import changes, keyring, keys
from storage.changes import Changes
from storage.errors import Unavailable
from storage.keyring import KeyRing

pytestmark = pytest.mark.anyio

PATIENCE_SECONDS = 30
FOREVER_SECONDS = 3600.0


async def create(database: Any, **given: Any) -> tuple[str, str]:
    wanted = {"name": "n", "permissions": [], "asset_ids": None, "expires_at": None, **given}
    record, key = await keys.create(database, **wanted)
    return record.id, key


@asynccontextmanager
async def following(database: Any) -> AsyncIterator[KeyRing]:
    """A ring that knows when keys change."""
    async with Changes(database).running() as known, KeyRing(database, known).running() as ring:
        yield ring


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await holds():
            await asyncio.sleep(0.02)


class Reads:
    """Counts how often a key is read from the database."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.number = 0
        original = keys.find

        async def find(database: Any, digest: bytes) -> Any:
            self.number += 1
            return await original(database, digest)

        monkeypatch.setattr(keys, "find", find)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    return Reads(monkeypatch)


async def test_a_known_key_costs_no_read(
    database: Any, reads: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    # However slow this machine is, the ring stays trusted.
    monkeypatch.setattr(changes, "TRUSTED_SECONDS", FOREVER_SECONDS)
    _, key = await create(database)
    async with following(database) as ring:
        await until(lambda: is_from_memory(ring, key, reads))
        before = reads.number
        for _ in range(100):
            assert await ring.check(key)
        assert reads.number == before


async def is_from_memory(ring: KeyRing, key: str, reads: Reads) -> bool:
    await ring.check(key)
    before = reads.number
    await ring.check(key)
    return reads.number == before


async def test_an_unknown_key_is_remembered_as_unknown(
    database: Any, reads: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "TRUSTED_SECONDS", FOREVER_SECONDS)
    async with following(database) as ring:
        key = keys.mint()
        await until(lambda: is_from_memory(ring, key, reads))
        assert await ring.check(key) is None


async def test_a_malformed_key_costs_no_read(database: Any, reads: Reads) -> None:
    ring = KeyRing(database, Changes(database))
    assert await ring.check("fgk_x") is None
    assert await ring.check(keys.mint()[:-1] + "!") is None
    assert reads.number == 0


async def test_a_ring_that_does_not_follow_the_changes_reads_every_time(
    database: Any, reads: Reads
) -> None:
    _, key = await create(database)
    ring = KeyRing(database, Changes(database))
    for number in range(1, 4):
        assert await ring.check(key)
        assert reads.number == number


async def test_a_revoked_key_is_refused_once_the_change_is_known(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With a ring that trusts itself for ever, only the stream can tell.
    monkeypatch.setattr(changes, "TRUSTED_SECONDS", FOREVER_SECONDS)
    key_id, key = await create(database)
    async with following(database) as ring:
        assert await ring.check(key)
        await keys.revoke(database, key_id)

        async def is_refused() -> bool:
            return await ring.check(key) is None

        await until(is_refused)


async def test_a_key_read_while_it_was_revoked_is_not_remembered(
    database: Any, reads: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "TRUSTED_SECONDS", FOREVER_SECONDS)
    _, key = await create(database)
    async with Changes(database).running() as followed:
        ring = KeyRing(database, followed)
        await until(lambda: is_from_memory(ring, key, reads))
        original = keys.find

        async def find_slowly(database: Any, digest: bytes) -> Any:
            record = await original(database, digest)
            followed.wrote()  # a change is known before the answer is
            return record

        monkeypatch.setattr(keys, "find", find_slowly)
        followed.wrote()
        assert await ring.check(key)
        monkeypatch.setattr(keys, "find", original)
        assert not await is_from_memory_at_once(ring, key, reads)


async def is_from_memory_at_once(ring: KeyRing, key: str, reads: Reads) -> bool:
    before = reads.number
    await ring.check(key)
    return reads.number == before


async def test_an_expired_key_is_refused_from_memory(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "TRUSTED_SECONDS", FOREVER_SECONDS)
    ends = (datetime.now(UTC) + timedelta(seconds=1)).replace(microsecond=0)
    _, key = await create(database, expires_at=ends)
    async with following(database) as ring:

        async def is_refused() -> bool:
            return await ring.check(key) is None

        await until(is_refused)
        assert datetime.now(UTC) >= ends


async def test_the_last_use_is_written_down_when_the_ring_stops(database: Any) -> None:
    key_id, key = await create(database)
    began = datetime.now(UTC) - timedelta(milliseconds=1)
    async with following(database) as ring:
        assert await ring.check(key)
    (listed,) = await keys.every(database)
    assert listed.id == key_id
    assert listed.last_used_at is not None
    assert listed.last_used_at >= began


async def test_uses_that_could_not_be_written_are_kept_for_the_next_time(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, key = await create(database)
    ring = KeyRing(database, Changes(database))
    assert await ring.check(key)
    written = keys.record_uses

    async def fail(*_: Any) -> None:
        raise Unavailable("away")

    monkeypatch.setattr(keys, "record_uses", fail)
    with pytest.raises(Unavailable):
        await ring._flush()
    monkeypatch.setattr(keys, "record_uses", written)
    await ring._flush()
    (listed,) = await keys.every(database)
    assert listed.last_used_at is not None


async def test_the_ring_is_bounded(
    database: Any, reads: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyring, "MOST_KEYS", 3)
    monkeypatch.setattr(changes, "TRUSTED_SECONDS", FOREVER_SECONDS)
    minted = [keys.mint() for _ in range(4)]
    async with following(database) as ring:
        await until(lambda: is_from_memory(ring, minted[0], reads))
        for key in minted:
            await ring.check(key)
            assert len(ring._known) <= 3
        assert await is_from_memory_at_once(ring, minted[3], reads)
        assert not await is_from_memory_at_once(ring, minted[0], reads)
