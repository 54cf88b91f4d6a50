"""Changes are counted soon, and there is no snapshot while some might go unnoticed."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest
from bson.errors import InvalidBSON
from pymongo import MongoClient, WriteConcern
from pymongo.errors import AutoReconnect, OperationFailure

from storage.cache import change_feed
from storage.cache.change_feed import (
    ChangeFeed,
    ChangeSnapshot,
    ChangeTable,
    RecordChange,
    is_unchanged_since,
)
from storage.cache.read_set import Read, key_tag, whole
from storage.errors import ChangesExpiredError
from storage.mongo import change_stream, driver, topology
from storage.records.paging import KeyRange
from tests.storage.cache.conftest import ChangesInMemory
from tests.storage.mongo.replica_set_of_three import ReplicaSet
from tests.waiting import TIMEOUT_SECONDS


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


@asynccontextmanager
async def follow_changes(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[ChangeFeed]:
    """Follow the changes of a database, confirmed however slow this machine is."""
    monkeypatch.setattr(change_feed, "CONFIRMATION_TTL_SECONDS", 3600.0)
    async with ChangeFeed(database).run() as followed:
        await wait_for_snapshot(followed)
        yield followed


@pytest.fixture
async def followed(database: Any, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ChangeFeed]:
    async with follow_changes(database, monkeypatch) as followed:
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


async def test_dropping_the_database_changes_all_versions(
    database: Any, followed: ChangeFeed
) -> None:
    before = await wait_for_snapshot(followed)
    await database.client.drop_database(database.name)
    await wait_until(followed, lambda now: not is_unchanged_since(before, now, whole("units")))


async def test_a_lost_stream_changes_all_versions(
    database: Any, followed: ChangeFeed, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await wait_for_snapshot(followed)
    monkeypatch.setattr(change_stream, "MAX_RETRY_SECONDS", 0.01)
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


def test_there_is_a_snapshot_for_less_than_its_time_after_a_confirmation(
    feed: ChangesInMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ChangeFeed(cast(Any, None)).take_snapshot() is None  # before the stream begins
    feed._confirmed_at = 0.0
    for now, is_recent in ((0.5, True), (0.6, False)):
        monkeypatch.setattr(change_feed, "read_clock", lambda now=now: now)
        assert (feed.take_snapshot() is not None) is is_recent


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


async def test_a_feed_that_has_stopped_gives_no_snapshot_and_leaves_no_cursor(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_feed, "CONFIRMATION_TTL_SECONDS", 3600.0)
    before = {*threading.enumerate()}  # other tests have a gateway, which follows too
    async with ChangeFeed(database).run() as followed:
        await wait_for_snapshot(followed)
    assert followed.take_snapshot() is None
    started = {*threading.enumerate()} - before
    assert "change-feed" not in {thread.name for thread in started}
    assert await list_idle_cursors(database) == []


async def list_idle_cursors(database: Any) -> list[Any]:
    idle = [{"$currentOp": {"idleCursors": True}}, {"$match": {"type": "idleCursor"}}]
    listing = {"aggregate": 1, "pipeline": idle, "cursor": {}}
    found = (await database.client.admin.command(listing))["cursor"]["firstBatch"]
    return [each for each in found if each["ns"].startswith(f"{database.name}.")]


async def test_a_stream_that_mongodb_refuses_to_go_on_with_leaves_no_cursor(database: Any) -> None:
    clock = driver.get_clock(database.client)
    refusal = OperationFailure("not authorized", 13)
    with change_stream.open_client(database.client, change_feed.POLL_MS) as client:

        def follow() -> None:
            with change_stream.tail_changes(client, clock, database.name, [], 1) as batches:
                next(batches)
                raise refusal

        with pytest.raises(OperationFailure, match="not authorized"):
            await asyncio.to_thread(follow)
        assert await list_idle_cursors(database) == []


async def test_the_feed_tries_again_if_it_cannot_connect(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile there is no snapshot."""
    open_client, errors, may_connect = change_stream.open_client, [], threading.Event()

    def fail_at_first(*given: Any) -> Any:
        if not may_connect.is_set():
            errors.append(AutoReconnect("away"))
            raise errors[-1]
        return open_client(*given)

    monkeypatch.setattr(change_stream, "open_client", fail_at_first)
    monkeypatch.setattr(change_stream, "MAX_RETRY_SECONDS", 0.01)
    monkeypatch.setattr(change_feed, "CONFIRMATION_TTL_SECONDS", 3600.0)
    async with ChangeFeed(database).run() as followed:
        await asyncio.to_thread(block_loop_until, lambda: len(errors) > 1)
        assert followed.take_snapshot() is None
        may_connect.set()
        await wait_for_snapshot(followed)


def test_each_try_waits_twice_as_long_until_a_stream_has_lasted() -> None:
    client: Any = SimpleNamespace(primary=("a", 1))
    topology.describe(client, topology.Deployment.at("mongodb://a:1"))
    pauses = list[float]()

    def follow() -> None:
        if len(pauses) == 7:
            thread.note_begin(client)
            thread._began_at -= 60
        raise AutoReconnect("away")

    def wait(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 9:
            thread.stopping.set()

    thread = change_stream.StreamThread(client, "test", follow)
    thread._wait = wait  # type: ignore[method-assign]
    thread.start()
    thread.join(TIMEOUT_SECONDS)
    assert pauses == [0.2, 0.4, 0.8, 1.6, 3.2, 3.2, 3.2, 0.2, 0.4]


def test_a_snapshot_is_the_same_object_until_something_changes(feed: ChangesInMemory) -> None:
    before = feed.take()
    assert feed.take() is before
    feed.count_write()  # of this gateway: at once, of everything
    assert feed.take() is not before
    assert not is_unchanged_since(before, feed.take(), whole())


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
    errors, read_changes = [error], change_feed.read_changes

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


@pytest.mark.slow
@pytest.mark.xdist_group("three")
async def test_a_write_without_a_majority_when_the_stream_begins_is_reported_once_it_has_one(
    three: ReplicaSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until then no read sees it: what is read may be cached, and is invalidated afterwards."""
    client = driver.connect(three.url)
    database: Any = client["lagging"]
    assets = database["assets"]
    await assets.insert_one({"_id": "oak", "name": "Oak"})

    async def read_name() -> str:
        name: str = (await assets.find_one({"_id": "oak"}))["name"]
        return name

    async with AsyncExitStack() as stack:
        stack.push_async_callback(driver.close, client)
        with three.without_majority():
            hasty = assets.with_options(write_concern=WriteConcern(w=1))
            await hasty.update_one({"_id": "oak"}, {"$set": {"name": "Holm Oak"}})
            followed = await stack.enter_async_context(follow_changes(database, monkeypatch))
            before = await wait_for_snapshot(followed)
            assert await read_name() == "Oak"
        await database["floors"].insert_one({"_id": "f"})  # reported after all earlier writes
        await wait_until(followed, lambda now: not is_unchanged_since(before, now, whole("floors")))
        assert not is_unchanged_since(before, await wait_for_snapshot(followed), whole("assets"))
        assert await read_name() == "Holm Oak"


ONE, OTHER = {"units": Read((1,))}, {"units": Read((2,))}


@pytest.fixture
def table() -> ChangeTable:
    """A table of two collections."""
    return ChangeTable(["units", "floors"])


def test_a_change_concerns_reads_with_one_of_its_tags_and_of_the_whole(table: ChangeTable) -> None:
    table.record([RecordChange("units", [1, 3])])
    assert table.has_changed(ONE, 0)
    assert table.has_changed(whole("units"), 0)
    assert not table.has_changed(OTHER, 0)
    assert not table.has_changed(whole("floors"), 0)
    assert not table.has_changed(ONE, table.number)


def test_a_change_without_tags_concerns_every_read_of_its_collection(table: ChangeTable) -> None:
    table.record([RecordChange("units")])
    assert table.has_changed(OTHER, 0)
    assert not table.has_changed(whole("floors"), 0)


def test_everything_concerns_every_read(table: ChangeTable) -> None:
    table.record_everything()
    assert table.has_changed(OTHER, 0)
    assert table.has_changed(whole("floors"), 0)


def test_what_is_forgotten_concerns_reads_from_before_it(
    table: ChangeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read that was checked since the older generation began is still told apart."""
    monkeypatch.setattr(change_feed, "MAX_CHANGED_TAGS", 10)
    table.record([RecordChange("units", [100])])
    checked = table.number
    for tag in range(200, 240):
        table.record([RecordChange("units", [tag])])
        if not table.has_changed(OTHER, checked):
            checked = table.number
    assert table.has_changed(OTHER, 0)
    assert not table.has_changed(OTHER, checked)
    assert len(table._collections["units"].newer) <= 11


@pytest.mark.parametrize(
    ("key", "tags", "is_concerned"),
    [
        ("c", [1], True),
        ("e", [1], True),
        ("b", [1], False),
        ("f", [1], False),
        ("c", [2], False),
        ("c", None, True),
        (None, [1], True),
    ],
)
def test_a_page_depends_on_its_keys(
    table: ChangeTable, key: str | None, tags: list[int] | None, is_concerned: bool
) -> None:
    page = {"units": Read((1,), KeyRange("b", "e"))}
    table.record([RecordChange("units", tags, key), RecordChange("units", [1], "z")])
    assert table.has_changed(page, 0) == is_concerned


def test_a_page_that_was_checked_too_long_ago_counts_as_changed(
    table: ChangeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = {"units": Read(None, KeyRange("b", "e"))}
    for _ in range(change_feed.MAX_LATEST_CHANGES - 1):
        table.record([RecordChange("units", [1], "z")])
    assert not table.has_changed(page, 0)
    table.record([RecordChange("units", [1], "z")])
    assert table.has_changed(page, 0)
