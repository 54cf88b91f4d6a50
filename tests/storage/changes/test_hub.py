"""Followers get every change after their cursor, from memory or from the stream."""

import asyncio
import gc
import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest

from storage.changes import hub as hub_module
from storage.changes import hub as reading
from storage.changes.events import (
    CURSOR_CHARACTERS,
    CURSOR_PATTERN,
    ChangeCursor,
    ChangeEvent,
    ChangePosition,
    Stretch,
)
from storage.changes.hub import ChangeHub
from storage.errors import ChangesExpiredError, UnavailableError
from storage.mongo import driver
from storage.setup import preparation
from tests.waiting import TIMEOUT_SECONDS

STAMPS = {"created_at": "2026-01-01T00:00:00+00:00", "updated_at": "2026-01-01T00:00:00+00:00"}


@pytest.fixture
async def hub(database: Any) -> AsyncIterator[ChangeHub]:
    async with ChangeHub(database).run() as hub:
        yield hub


async def insert_unit(database: Any, number: int) -> None:
    unit = {"_id": f"u{number}", "asset_id": "a", "floor_id": "f", "name": "U", "map_ids": None}
    await database["units"].insert_one({**unit, **STAMPS})


async def read_all(hub: ChangeHub, cursor: ChangeCursor) -> tuple[list[ChangeEvent], ChangeCursor]:
    events = []
    while True:
        stretch, cursor = await hub.read(cursor, 100, bool)
        events += stretch.events
        if not stretch.has_more:
            return events, cursor


async def take(hub: ChangeHub, cursor: ChangeCursor | None, count: int) -> list[ChangeEvent]:
    events: list[ChangeEvent] = []
    async with asyncio.timeout(TIMEOUT_SECONDS), aclosing(hub.follow(cursor)) as parts:
        async for part in parts:
            events += part.events
            if len(events) >= count:
                return events
    raise AssertionError("the changes ended")


async def test_a_read_has_what_was_written_before_it(database: Any, hub: ChangeHub) -> None:
    cursor = await hub.get_cursor()
    await insert_unit(database, 1)
    await database["units"].update_one({"_id": "u1"}, {"$set": {"name": "V"}})
    events, cursor = await read_all(hub, cursor)
    assert [(each.operation, each.kind, each.record_id, each.asset_id) for each in events] == [
        ("created", "units", "u1", "a"),
        ("updated", "units", "u1", "a"),
    ]
    assert (await read_all(hub, cursor))[0] == []


async def test_a_follower_is_told_of_new_changes(database: Any, hub: ChangeHub) -> None:
    following = asyncio.create_task(take(hub, await hub.get_cursor(), 20))
    for number in range(20):
        await insert_unit(database, number)
    assert [each.record_id for each in await following] == [f"u{n}" for n in range(20)]


async def test_a_cursor_continues_within_a_transaction(
    database: Any, hub: ChangeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    cursor = await hub.get_cursor()

    async def work(session: Any) -> None:
        for number in range(6):
            unit = {"_id": f"u{number}", "asset_id": "a", "floor_id": "f", "name": "U"}
            await database["units"].insert_one({**unit, **STAMPS}, session=session)

    await driver.run_in_transaction(database.client, work)
    events, _ = await read_all(hub, cursor)
    assert len({each.position[:2] for each in events}) == 1
    for count, event in enumerate(events, start=1):
        rest, _ = await read_all(hub, ChangeCursor(cursor.epoch, event.position))
        assert rest == events[count:]


@pytest.mark.parametrize("in_transaction", [False, True])
async def test_a_follower_comes_past_any_number_of_writes_that_are_no_changes(
    database: Any, hub: ChangeHub, monkeypatch: pytest.MonkeyPatch, in_transaction: bool
) -> None:
    monkeypatch.setattr(reading, "MAX_EVENTS_PER_READ", 10)
    monkeypatch.setattr(hub_module, "POLL_SECONDS", 0)
    start = await hub.get_cursor()
    await insert_unit(database, 1)
    staged: list[dict[str, Any]] = [{"_id": number} for number in range(2_000)]

    async def stage(session: Any = None) -> None:
        await database["staging.x.units"].insert_many(staged, session=session)

    await (driver.run_in_transaction(database.client, stage) if in_transaction else stage())
    await insert_unit(database, 2)
    cursors, has_more, events = [start], True, list[ChangeEvent]()
    while has_more:
        stretch, cursor = await hub.read(cursors[-1], 100, bool)
        assert cursor.position >= cursors[-1].position
        cursors.append(cursor)
        events += stretch.events
        has_more = stretch.has_more
    assert len(set(cursors)) > (2 if in_transaction else 6)
    assert [each.record_id for each in events] == ["u1", "u2"]
    assert await take(hub, start, 2) == events


async def test_a_slow_follower_holds_no_changes_and_misses_none(
    database: Any, hub: ChangeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_module, "MAX_KEPT_EVENTS", 3)
    async with (
        asyncio.timeout(TIMEOUT_SECONDS),
        aclosing(hub.follow(await hub.get_cursor())) as parts,
    ):
        await insert_unit(database, 0)
        events = (await anext(parts)).events
        for number in range(1, 30):
            await insert_unit(database, number)
        last = await hub.get_cursor()
        while hub._kept.last < last.position:
            await asyncio.sleep(0.01)
        assert len(hub._kept._events) <= 6
        while len(events) < 30:
            events += (await anext(parts)).events
    assert [each.record_id for each in events] == [f"u{number}" for number in range(30)]


async def test_a_read_that_fails_as_its_follower_leaves_is_not_reported(
    hub: ChangeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    followers = list[asyncio.Task[Stretch]]()

    async def fail(hub: ChangeHub, position: ChangePosition) -> Stretch:
        current = asyncio.current_task()
        assert current is not None
        current.add_done_callback(lambda _: followers[0].cancel())
        raise UnavailableError("MongoDB cannot be reached")

    monkeypatch.setattr(ChangeHub, "_read_in_turn", fail)
    reported = list[dict[str, Any]]()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    followers.append(asyncio.create_task(hub._read_on(ChangePosition(1, 0), TIMEOUT_SECONDS)))
    await asyncio.wait(followers)
    assert followers.pop().cancelled()
    gc.collect()
    assert reported == []


async def test_a_dropped_database_is_a_reset_and_followed_on(
    database: Any, hub: ChangeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    to_epoch = hub_module.to_epoch

    def find_when_there(listed: Any) -> bytes:
        if not listed["cursor"]["firstBatch"]:
            raise driver.PyMongoError("the thread tries again")
        return to_epoch(listed)

    monkeypatch.setattr(hub_module, "to_epoch", find_when_there)
    start = await hub.get_cursor()
    await insert_unit(database, 1)
    async with asyncio.timeout(TIMEOUT_SECONDS), aclosing(hub.follow(start)) as parts:
        events = (await anext(parts)).events
        await database.client.drop_database(database.name)
        await preparation.prepare_database(database)
        await insert_unit(database, 2)
        while events[-1].record_id != "u2":
            part = await anext(parts)
            events += part.events
    told = [(each.operation, each.kind) for each in events]
    assert told[0] == told[-1] == ("created", "units")
    assert ("reset", None) in told
    assert (await read_all(hub, part.cursor))[0] == []
    with pytest.raises(ChangesExpiredError):
        await hub.read(start, 100, bool)


@pytest.mark.parametrize("byte", range(256))
def test_the_pattern_of_the_descriptions_admits_the_cursors_of_every_database(byte: int) -> None:
    text = str(ChangeCursor(bytes([byte]) * 4, ChangePosition(byte << 24, byte, byte)))
    assert re.fullmatch(CURSOR_PATTERN, text)
    assert len(text) == CURSOR_CHARACTERS


@pytest.mark.parametrize("text", ["AgECAwRqsTuAAAAAAwAAAAE", "AQECAwRqsTuAAAAA"])
def test_the_pattern_refuses_what_is_refused(text: str) -> None:
    assert not re.fullmatch(CURSOR_PATTERN, text)
    with pytest.raises(ValueError, match="not the cursor of a change"):
        ChangeCursor.parse(text)
