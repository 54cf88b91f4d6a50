"""What changed in the database is known soon, and never wrongly thought to be known."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from storage.cache import change_feed, write_counter
from storage.cache.change_feed import ChangeFeed, VersionSnapshot, is_unchanged_since
from storage.cache.write_counter import Slot, WriteCounter
from storage.mongo import driver, setup

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

PATIENCE_SECONDS = 30


async def known(followed: ChangeFeed) -> VersionSnapshot:
    """The mark, as soon as there is one."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (mark := followed.take_snapshot()) is None:
            await asyncio.sleep(0.01)
    return mark


async def until(followed: ChangeFeed, holds: Callable[[VersionSnapshot], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not holds(await known(followed)):
            await asyncio.sleep(0.01)


@pytest.fixture
async def followed(database: Any, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ChangeFeed]:
    """Changes of a database with its collections, trusted however slow this machine is."""
    monkeypatch.setattr(change_feed, "CONFIRMATION_TTL_SECONDS", 3600.0)
    await setup.prepare_database(database)
    async with ChangeFeed(database).run() as followed:
        await known(followed)
        yield followed


async def test_a_write_makes_a_new_version_of_its_collection_alone(
    database: Any, followed: ChangeFeed
) -> None:
    before = await known(followed)
    await database["floors"].delete_one({"_id": "none"})
    await database["assets"].insert_one(
        {"_id": "a", "name": "A", "market": "m", "created_at": "x", "updated_at": "x"}
    )
    await until(followed, lambda now: not is_unchanged_since(before, now, ["assets"]))
    assert is_unchanged_since(before, await known(followed), ["floors", "units", "maps"])


async def test_a_collection_that_takes_the_place_of_another_is_a_new_version(
    database: Any, followed: ChangeFeed
) -> None:
    await database["staged"].insert_one({"_id": "none"})
    before = await known(followed)
    await database["staged"].rename("floors", dropTarget=True)
    await until(followed, lambda now: not is_unchanged_since(before, now, ["floors"]))


async def test_what_belongs_to_no_kind_is_not_followed(database: Any, followed: ChangeFeed) -> None:
    before = await known(followed)
    await database["api_key_uses"].insert_one({"_id": "k"})
    await database["api_keys"].insert_one({"_id": "k", "digest": b""})
    await until(followed, lambda now: not is_unchanged_since(before, now, ["api_keys"]))
    assert is_unchanged_since(before, await known(followed), ["assets", "units"])


async def test_a_dropped_database_changes_everything(database: Any, followed: ChangeFeed) -> None:
    before = await known(followed)
    await database.client.drop_database(database.name)
    await until(followed, lambda now: not is_unchanged_since(before, now, ["units"]))


async def test_nothing_is_known_before_the_stream_begins(database: Any) -> None:
    assert ChangeFeed(database).take_snapshot() is None


async def test_a_lost_stream_makes_new_versions_of_everything(
    database: Any, followed: ChangeFeed, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await known(followed)
    monkeypatch.setattr(change_feed, "RETRY_SECONDS", 0.01)
    admin = database.client.admin
    async with asyncio.timeout(PATIENCE_SECONDS):
        while is_unchanged_since(before, await known(followed), ["units"]):
            await kill_streams(admin, database.name)
            await asyncio.sleep(0.05)


async def kill_streams(admin: Any, database: str) -> None:
    for each in (await admin.command({"currentOp": 1, "$all": True}))["inprog"]:
        space, _, collection = each.get("ns", "").partition(".")
        if space == database and "cursor" in each:
            await admin.client[database].command(
                "killCursors", collection, cursors=[each["cursor"]["cursorId"]]
            )


async def test_silence_is_not_trusted(database: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async with ChangeFeed(database).run() as followed:
        await known(followed)
        monkeypatch.setattr(change_feed, "CONFIRMATION_TTL_SECONDS", 0.0)
        assert followed.take_snapshot() is None


async def test_a_stream_that_cannot_be_opened_leaves_nothing_known(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise driver.UNREACHABLE_ERRORS[0]("away")

    monkeypatch.setattr(driver, "tail_changes", fail)
    async with ChangeFeed(database).run() as followed:
        await asyncio.sleep(0.05)
        assert followed.take_snapshot() is None


async def test_a_write_of_our_own_counts_at_once(followed: ChangeFeed) -> None:
    before = await known(followed)
    followed.count_write()
    assert not is_unchanged_since(before, await known(followed), ["units"])
    assert not is_unchanged_since(before, await known(followed), [])


def test_workers_of_one_gateway_see_each_others_writes() -> None:
    descriptor = write_counter.create_shared_memory(2)
    first, second = (WriteCounter.attach(Slot(descriptor, number)) for number in (0, 1))
    os.close(descriptor)
    before = first.read()
    assert second.read() == before
    second.increment()
    assert first.read() == second.read() != before
    first.increment()
    assert second.read() not in (before, b"")
