"""Jumps to far pages return what skipping would, and skip little while nothing changes."""

import asyncio
from typing import Any

import pytest

from storage import store as store_module
from storage.cache.bookmarks import MAX_LISTS, ListKey, PageBookmarks, PageStart, Stride
from storage.cache.read_set import whole
from storage.catalog import UNITS, Unit
from storage.records import visibility
from storage.records.kinds import Document
from storage.records.paging import PageRequest
from storage.records.visibility import ALL_ASSETS, AssetScope
from storage.store import Store
from tests.recorded_commands import CommandLog, with_log
from tests.storage.cache.conftest import ChangesInMemory
from tests.waiting import TIMEOUT_SECONDS

STRIDE = 10
SCOPES = (ALL_ASSETS, AssetScope(frozenset({"a"})), AssetScope(frozenset()))
WHERES: tuple[Document, ...] = ({}, {"asset_id": "a"}, {"asset_id": "b"})


UNITS_READ = whole("units")


def unit(number: int) -> Document:
    owner = "ab"[number % 2]
    return UNITS.to_document(
        Unit(id=f"u{number:04}", asset_id=owner, floor_id=f"{owner}1", name=str(number))
    )


@pytest.fixture
async def filled(database: Any) -> Any:
    """A database of 300 units, of which two thirds are of the asset `a`."""
    await database["units"].insert_many([unit(number) for number in range(0, 400, 2)])
    await database["units"].insert_many([unit(number) for number in range(1, 200, 2)])
    return database


@pytest.fixture
def store(filled: Any, feed: ChangesInMemory) -> Store:
    """A store with bookmarks."""
    return Store(filled.client, filled.name, PageBookmarks(feed, STRIDE))


@pytest.fixture
def plain(filled: Any) -> Store:
    """A store that skips every record before a page."""
    return Store(filled.client, filled.name)


async def examined_keys(
    store: Store, number: int, scope: AssetScope = ALL_ASSETS, per_page: int = 3
) -> list[int]:
    """The keys examined by each read for a page."""
    await store.database["system.profile"].drop()
    await store.database.command("profile", 2)
    await store.list_page(UNITS, scope, {}, PageRequest(number, per_page))
    await store.database.command("profile", 0)
    reads = {"ns": {"$regex": r"\.units$"}, "keysExamined": {"$exists": True}}
    notes = store.database["system.profile"].find(reads)
    return [note["keysExamined"] for note in await notes.sort("ts", 1).to_list(None)]


async def test_a_jump_skips_at_most_a_stride_once_there_are_bookmarks(
    store: Store,
) -> None:
    assert len(await examined_keys(store, 90)) == 267 // STRIDE + 1
    for number in (90, 50, 7):
        [keys] = await examined_keys(store, number)
        assert keys <= STRIDE + 4


async def test_a_jump_for_a_key_with_many_assets_reads_as_little(
    database: Any, feed: ChangesInMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visibility, "MAX_ASSETS_IN_COMMAND", 0)
    sparse = [unit(2 * number) for number in range(900)]
    visible = [
        {**each, "asset_id": "c"} if not number % 10 else each for number, each in enumerate(sparse)
    ]
    await database["units"].insert_many(visible)
    store = Store(database.client, database.name, PageBookmarks(feed, STRIDE))
    scope = AssetScope(frozenset({"c"}))
    strides = (await examined_keys(store, 90, scope, 1))[: 800 // STRIDE]
    assert {*strides} == {STRIDE}
    for number in (90, 91, 500, 47, 2):
        assert sum(await examined_keys(store, number, scope, 1)) < 8 * STRIDE


async def test_a_jump_of_a_key_that_sees_nothing_of_a_list_reads_little_and_goes_on_the_next_time(
    store: Store, plain: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visibility, "MAX_ASSETS_IN_COMMAND", 0)
    monkeypatch.setattr("storage.store.MAX_SCANNED_RECORDS", 2 * STRIDE)
    monkeypatch.setattr(store_module, "MAX_SCANNED_RECORDS", 2 * STRIDE)
    monkeypatch.setattr(store_module, "MAX_WINDOW_RECORDS", STRIDE)
    scope = AssetScope(frozenset({"c"}))
    for starts in (["", "u0009"], ["u0019", "u0029"], ["u0039", "u0049"]):
        store.database = with_log(plain.database, log := CommandLog())
        page = await store.list_page(UNITS, scope, {}, PageRequest(2, 3))
        assert not page.data
        commands = [each.command for each in log.commands]
        strides = [each["pipeline"][0]["$match"] for each in commands if "aggregate" in each]
        assert [each.get("_id", {"$gt": ""})["$gt"] for each in strides] == starts
        assert sum(each.returned or 0 for each in log.commands) <= len(strides) + 3 * STRIDE
        names_assets = ["asset_id" in repr(each.get("filter")) for each in commands]
        assert names_assets == [False] * 5 + [True]


@pytest.mark.parametrize("named", [0, visibility.MAX_ASSETS_IN_COMMAND])
async def test_a_jump_returns_the_page_that_skipping_does(
    store: Store, plain: Store, named: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visibility, "MAX_ASSETS_IN_COMMAND", named)
    for scope in SCOPES:
        for where in WHERES:
            for number in (40, 2, 5, 61, 10_000, 1):
                slice = PageRequest(number, 5)
                expected = await plain.list_page(UNITS, scope, where, slice)
                assert await store.list_page(UNITS, scope, where, slice) == expected


@pytest.mark.parametrize("change", ["report", "count_write"])
async def test_a_change_invalidates_the_bookmarks(
    store: Store, plain: Store, feed: ChangesInMemory, change: str
) -> None:
    """Of another client when it is reported, of this gateway at once."""
    slice = PageRequest(40, 5)
    await store.list_page(UNITS, ALL_ASSETS, {}, slice)
    await store.database["units"].delete_one({"_id": "u0000"})
    feed.report("units") if change == "report" else feed.count_write()
    expected = await plain.list_page(UNITS, ALL_ASSETS, {}, slice)
    assert await store.list_page(UNITS, ALL_ASSETS, {}, slice) == expected


async def test_there_are_none_while_changes_might_go_unnoticed(
    store: Store, feed: ChangesInMemory
) -> None:
    feed.lose()
    assert len(await examined_keys(store, 30)) == 1


async def test_concurrent_jumps_share_the_reads_for_bookmarks(
    feed: ChangesInMemory,
) -> None:
    bookmarks, calls = PageBookmarks(feed, STRIDE), list[str | None]()

    async def advance(key: str | None) -> Stride:
        calls.append(key)
        await asyncio.sleep(0)
        return Stride(f"k{len(calls)}", STRIDE)

    name = ListKey("units", ALL_ASSETS, "{}")
    starts = await asyncio.gather(
        *(bookmarks.find_start(name, UNITS_READ, skip, advance) for skip in (25, 31, 9))
    )
    assert starts == [PageStart("k2", 5), PageStart("k3", 1), PageStart(None, 9)]
    assert calls == [None, "k1", "k2"]


async def test_a_call_reads_a_bounded_number_of_records_and_the_next_goes_on(
    feed: ChangesInMemory,
) -> None:
    bookmarks, calls = PageBookmarks(feed, STRIDE), list[str | None]()

    async def advance(key: str | None) -> Stride:
        calls.append(key)
        return Stride(f"k{len(calls)}", visible=1)

    name = ListKey("units", ALL_ASSETS, "{}")
    for start in (PageStart("k3", 2), PageStart("k5", 0)):
        found = await bookmarks.find_start(name, UNITS_READ, 5, advance, max_scanned=3 * STRIDE)
        assert found == start
    assert calls == [None, "k1", "k2", "k3", "k4"]


async def test_a_page_between_bookmarks_does_not_wait_until_further_ones_are_created(
    feed: ChangesInMemory,
) -> None:
    bookmarks, continues = PageBookmarks(feed, STRIDE), asyncio.Event()

    async def advance(key: str | None) -> Stride | None:
        if key == "k":
            await continues.wait()
            return None
        return Stride("k", STRIDE)

    name = ListKey("units", ALL_ASSETS, "{}")
    far = asyncio.create_task(bookmarks.find_start(name, UNITS_READ, 500, advance))
    await asyncio.sleep(0)
    async with asyncio.timeout(TIMEOUT_SECONDS):
        near = await bookmarks.find_start(name, UNITS_READ, STRIDE + 1, advance)
    assert near == PageStart("k", 1)
    continues.set()
    assert await far == PageStart("k", 490)


async def test_bookmarks_are_not_used_if_something_changed_while_they_were_read(
    feed: ChangesInMemory,
) -> None:
    async def advance(key: str | None) -> Stride:
        feed.count_write()
        return Stride("k", STRIDE)

    name = ListKey("units", ALL_ASSETS, "{}")
    assert await PageBookmarks(feed, STRIDE).find_start(name, UNITS_READ, 25, advance) == PageStart(
        None, 25
    )


async def test_the_number_of_lists_with_bookmarks_is_bounded(feed: ChangesInMemory) -> None:
    bookmarks, calls = PageBookmarks(feed, STRIDE), list[str]()

    async def jump(where: str) -> None:
        async def advance(key: str | None) -> Stride:
            calls.append(where)
            return Stride("k", STRIDE)

        await bookmarks.find_start(ListKey("units", ALL_ASSETS, where), UNITS_READ, STRIDE, advance)

    for number in (*range(MAX_LISTS + 1), MAX_LISTS, 0):
        await jump(str(number))
    assert calls == [str(number) for number in (*range(MAX_LISTS + 1), 0)]
