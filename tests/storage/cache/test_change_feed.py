"""Changes are counted soon, and there is no snapshot while some might go unnoticed."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from bson.errors import InvalidBSON
from pymongo import MongoClient
from pymongo.errors import AutoReconnect

from storage.cache import change_events, change_feed
from storage.cache.change_feed import ChangeFeed, ChangeSnapshot, is_unchanged_since
from storage.cache.change_table import ChangeTable
from storage.cache.read_set import Read, key_tag, whole
from storage.errors import ChangesExpiredError
from storage.mongo import change_stream, driver
from storage.setup import preparation

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

TIMEOUT_SECONDS = 30


async def wait_for_snapshot(followed: ChangeFeed) -> ChangeSnapshot:
    """Wait for a snapshot."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while (snapshot := followed.take_snapshot()) is None:
            await asyncio.sleep(0.01)
    return snapshot


async def wait_until(followed: ChangeFeed, holds: Callable[[ChangeSnapshot], bool]) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while not holds(await wait_for_snapshot(followed)):
            await asyncio.sleep(0.01)


@pytest.fixture
async def followed(database: Any, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ChangeFeed]:
    """Changes of a database with its collections, confirmed however slow this machine is."""
    monkeypatch.setattr(change_feed, "CONFIRMATION_TTL_SECONDS", 3600.0)
    await preparation.prepare_database(database)
    async with ChangeFeed(database).run() as followed:
        await wait_for_snapshot(followed)
        yield followed


async def test_a_write_changes_the_version_of_its_collection_only(
    database: Any, followed: ChangeFeed
) -> None:
    before = await wait_for_snapshot(followed)
    await database["floors"].delete_one({"_id": "none"})
    await database["assets"].insert_one(
        {"_id": "a", "name": "A", "market": "m", "created_at": "x", "updated_at": "x"}
    )
    await wait_until(followed, lambda now: not is_unchanged_since(before, now, whole("assets")))
    assert is_unchanged_since(
        before, await wait_for_snapshot(followed), whole("floors", "units", "maps")
    )


async def test_renaming_over_a_collection_changes_its_version(
    database: Any, followed: ChangeFeed
) -> None:
    await database["staged"].insert_one({"_id": "none"})
    before = await wait_for_snapshot(followed)
    await database["staged"].rename("floors", dropTarget=True)
    await wait_until(followed, lambda now: not is_unchanged_since(before, now, whole("floors")))


async def test_collections_of_no_kind_are_not_followed(database: Any, followed: ChangeFeed) -> None:
    before = await wait_for_snapshot(followed)
    await database["api_key_uses"].insert_one({"_id": "k"})
    await database["api_keys"].insert_one({"_id": "k", "digest": b""})
    await wait_until(followed, lambda now: not is_unchanged_since(before, now, whole("api_keys")))
    assert is_unchanged_since(before, await wait_for_snapshot(followed), whole("assets", "units"))


async def test_dropping_the_database_changes_all_versions(
    database: Any, followed: ChangeFeed
) -> None:
    before = await wait_for_snapshot(followed)
    await database.client.drop_database(database.name)
    await wait_until(followed, lambda now: not is_unchanged_since(before, now, whole("units")))


async def test_there_is_no_snapshot_before_the_stream_begins(database: Any) -> None:
    assert ChangeFeed(database).take_snapshot() is None


async def test_a_lost_stream_changes_all_versions(
    database: Any, followed: ChangeFeed, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await wait_for_snapshot(followed)
    monkeypatch.setattr(change_feed, "RETRY_SECONDS", 0.01)
    admin = database.client.admin
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while is_unchanged_since(before, await wait_for_snapshot(followed), whole("units")):
            await kill_streams(admin, database.name)
            await asyncio.sleep(0.05)


async def kill_streams(admin: Any, database: str) -> None:
    for each in (await admin.command({"currentOp": 1, "$all": True}))["inprog"]:
        space, _, collection = each.get("ns", "").partition(".")
        if space == database and "cursor" in each:
            await admin.client[database].command(
                "killCursors", collection, cursors=[each["cursor"]["cursorId"]]
            )


async def test_there_is_no_snapshot_without_a_recent_confirmation(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ChangeFeed(database).run() as followed:
        await wait_for_snapshot(followed)
        monkeypatch.setattr(change_feed, "CONFIRMATION_TTL_SECONDS", 0.0)
        assert followed.take_snapshot() is None


async def test_a_busy_event_loop_does_not_make_the_stream_look_silent(
    followed: ChangeFeed,
) -> None:
    before = followed._confirmed_at
    block_loop_until(lambda: followed._confirmed_at > before)


async def test_a_change_counts_while_the_event_loop_is_busy(
    mongo_url: str, database: Any, followed: ChangeFeed
) -> None:
    before = await wait_for_snapshot(followed)
    with MongoClient[dict[str, Any]](mongo_url) as other:
        other[database.name]["floors"].insert_one({"_id": "f", "asset_id": "a", "name": "F"})
        block_loop_until(
            lambda: (
                (now := followed.take_snapshot()) is not None
                and not is_unchanged_since(before, now, whole("floors"))
            )
        )


def block_loop_until(holds: Callable[[], bool]) -> None:
    """Wait without letting any task run."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


async def test_a_feed_that_has_stopped_gives_no_snapshot(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_feed, "CONFIRMATION_TTL_SECONDS", 3600.0)
    before = {*threading.enumerate()}  # other tests have a gateway, which follows too
    async with ChangeFeed(database).run() as followed:
        await wait_for_snapshot(followed)
    assert followed.take_snapshot() is None
    started = {*threading.enumerate()} - before
    assert "change-feed" not in {thread.name for thread in started}


async def test_there_is_no_snapshot_if_the_stream_cannot_be_opened(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise AutoReconnect("away")

    monkeypatch.setattr(change_stream, "tail_changes", fail)
    async with ChangeFeed(database).run() as followed:
        await asyncio.sleep(0.05)
        assert followed.take_snapshot() is None


async def test_the_feed_tries_again_if_it_cannot_connect(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_feed, "CONFIRMATION_TTL_SECONDS", 3600.0)
    errors, open_client = [AutoReconnect("away")], change_stream.open_client

    def fail_once(*given: Any) -> Any:
        if errors:
            raise errors.pop()
        return open_client(*given)

    monkeypatch.setattr(change_stream, "open_client", fail_once)
    async with ChangeFeed(database).run() as followed:
        await wait_for_snapshot(followed)
    assert not errors


async def test_a_write_by_this_gateway_counts_at_once(followed: ChangeFeed) -> None:
    before = await wait_for_snapshot(followed)
    followed.count_write()
    assert not is_unchanged_since(before, await wait_for_snapshot(followed), whole("units"))
    assert not is_unchanged_since(before, await wait_for_snapshot(followed), whole())


async def test_a_snapshot_is_the_same_object_until_something_changes(followed: ChangeFeed) -> None:
    before = await wait_for_snapshot(followed)
    assert followed.take_snapshot() is before
    followed.count_write()
    assert followed.take_snapshot() is not before


async def test_a_batch_that_may_not_be_the_last_confirms_nothing(
    database: Any, followed: ChangeFeed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a change behind many others would go unnoticed for as long as they are read."""
    monkeypatch.setattr(change_stream, "MAX_BATCH_EVENTS", 5)
    before = await wait_for_snapshot(followed)
    floors = [{"_id": f"f{number}", "asset_id": "a", "name": "F"} for number in range(23)]
    record, confirmed = ChangeTable.record, set[float]()

    def record_and_look(table: ChangeTable, changes: Any) -> None:
        confirmed.add(followed._confirmed_at)
        record(table, changes)

    monkeypatch.setattr(ChangeTable, "record", record_and_look)
    await database["floors"].insert_many(floors)
    last = {"floors": Read((key_tag("f22"),))}
    await wait_until(followed, lambda now: not is_unchanged_since(before, now, last))
    assert len(confirmed) == 1  # for all five batches, that of before


async def test_a_full_stream_is_left_for_a_new_one(
    database: Any, followed: ChangeFeed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_stream, "MAX_BATCH_EVENTS", 0)  # every batch is full
    monkeypatch.setattr(change_feed, "CONFIRMATION_TTL_SECONDS", 0.0)
    before = followed._table.number
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while followed._table.number < before + 2:  # everything, at each start
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("error", [ChangesExpiredError("gone"), InvalidBSON("not UTF-8")])
async def test_the_feed_goes_on_after_any_error(
    database: Any, followed: ChangeFeed, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    errors, read_changes = [error], change_events.read_changes

    def fail_once(event: Any) -> Any:
        if errors:
            raise errors.pop()
        return read_changes(event)

    monkeypatch.setattr(change_feed, "read_changes", fail_once)
    before = await wait_for_snapshot(followed)
    await database["floors"].insert_one({"_id": "f", "asset_id": "a", "name": "F"})
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while errors:
            await asyncio.sleep(0.01)
    await wait_until(followed, lambda now: not is_unchanged_since(before, now, whole("units")))


async def test_a_write_with_an_unknown_outcome_counts_as_a_change_of_everything(
    database: Any, followed: ChangeFeed
) -> None:
    before = await wait_for_snapshot(followed)
    with pytest.raises(AutoReconnect):
        async with driver.open_causal_session(database.client):
            raise AutoReconnect("during the commit")
    await followed.count_own_writes()
    assert not is_unchanged_since(before, await wait_for_snapshot(followed), whole())
    after = await wait_for_snapshot(followed)
    await followed.count_own_writes()
    assert is_unchanged_since(after, await wait_for_snapshot(followed), whole())
