"""The ring of keys in memory: quick while it is whole, never trusted when it may not be."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from storage import driver, keyring, keys
from storage.errors import Unavailable
from storage.keyring import KeyRing

pytestmark = pytest.mark.anyio

PATIENCE_SECONDS = 30
FOREVER_SECONDS = 3600.0


async def create(database: Any, **given: Any) -> tuple[str, str]:
    wanted = {"name": "n", "permissions": [], "asset_ids": None, "expires_at": None, **given}
    record, key = await keys.create(database, **wanted)
    return record.id, key


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
    monkeypatch.setattr(keyring, "TRUSTED_SECONDS", FOREVER_SECONDS)
    _, key = await create(database)
    async with KeyRing(database).running() as ring:
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
    monkeypatch.setattr(keyring, "TRUSTED_SECONDS", FOREVER_SECONDS)
    async with KeyRing(database).running() as ring:
        key = keys.mint()
        await until(lambda: is_from_memory(ring, key, reads))
        assert await ring.check(key) is None


async def test_a_malformed_key_costs_no_read(database: Any, reads: Reads) -> None:
    ring = KeyRing(database)
    assert await ring.check("fgk_x") is None
    assert await ring.check(keys.mint()[:-1] + "!") is None
    assert reads.number == 0


async def test_a_ring_that_does_not_follow_the_changes_reads_every_time(
    database: Any, reads: Reads
) -> None:
    _, key = await create(database)
    ring = KeyRing(database)
    for number in range(1, 4):
        assert await ring.check(key)
        assert reads.number == number


async def test_a_ring_is_trusted_only_while_its_stream_lives(
    database: Any, reads: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, key = await create(database)
    async with KeyRing(database).running() as ring:
        await until(lambda: is_from_memory(ring, key, reads))

        def fail(*_: Any, **__: Any) -> Any:
            raise driver.UNREACHABLE[0]("no stream any more")

        monkeypatch.setattr(driver, "watching", fail)
        await database.drop_collection(keys.COLLECTION)  # ends the stream

        async def is_read_again() -> bool:
            return not await is_from_memory(ring, key, reads)

        await until(is_read_again)
        assert await ring.check(key) is None


async def test_a_revoked_key_is_refused_once_the_change_is_known(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With a ring that trusts itself for ever, only the stream can tell.
    monkeypatch.setattr(keyring, "TRUSTED_SECONDS", FOREVER_SECONDS)
    key_id, key = await create(database)
    async with KeyRing(database).running() as ring:
        assert await ring.check(key)
        await keys.revoke(database, key_id)

        async def is_refused() -> bool:
            return await ring.check(key) is None

        await until(is_refused)


async def test_a_key_read_while_it_was_revoked_is_not_remembered(
    database: Any, reads: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyring, "TRUSTED_SECONDS", FOREVER_SECONDS)
    _, key = await create(database)
    ring = KeyRing(database)
    ring._confirmed_at = asyncio.get_running_loop().time()
    original = keys.find

    async def find_slowly(database: Any, digest: bytes) -> Any:
        record = await original(database, digest)
        ring._empty()  # a change arrives before the answer does
        return record

    monkeypatch.setattr(keys, "find", find_slowly)
    assert await ring.check(key)
    monkeypatch.setattr(keys, "find", original)
    assert not ring._known


async def test_an_expired_key_is_refused_from_memory(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyring, "TRUSTED_SECONDS", FOREVER_SECONDS)
    ends = datetime.now(UTC) + timedelta(seconds=1)
    _, key = await create(database, expires_at=ends)
    async with KeyRing(database).running() as ring:

        async def is_refused() -> bool:
            return await ring.check(key) is None

        await until(is_refused)
        assert datetime.now(UTC) >= ends


async def test_the_last_use_is_written_down_when_the_ring_stops(database: Any) -> None:
    key_id, key = await create(database)
    began = datetime.now(UTC) - timedelta(milliseconds=1)
    async with KeyRing(database).running() as ring:
        assert await ring.check(key)
    (listed,) = await keys.every(database)
    assert listed.id == key_id
    assert listed.last_used_at is not None
    assert listed.last_used_at >= began


async def test_uses_that_could_not_be_written_are_kept_for_the_next_time(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, key = await create(database)
    ring = KeyRing(database)
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
    ring = KeyRing(database)
    for _ in range(10):
        await ring.check(keys.mint())
        assert len(ring._known) <= 3
    assert reads.number == 10
