"""Lists for keys with many assets: the same as for few, in commands that do not name the assets."""

import uuid
from collections.abc import AsyncIterator
from typing import Any

import bson
import pytest

from storage import visible_reads
from storage.assets import ASSETS
from storage.floors import FLOORS
from storage.mongo import driver
from storage.mongo.recorded_database import CommandLog, RecordedDatabase
from storage.records import visibility
from storage.records.kinds import Document, RecordType
from storage.records.paging import BY_KEY, Order, PageRequest, Position
from storage.records.visibility import MAX_ASSETS_IN_COMMAND, AssetScope
from storage.store import Store
from storage.units import UNITS

pytestmark = pytest.mark.anyio

TIME = "2026-01-31T12:00:00+00:00"
ASSET_IDS = [f"a{number:04}" for number in range(MAX_ASSETS_IN_COMMAND * 6)]
UNIT_COUNT = 3_000
DENSE = AssetScope(frozenset(ASSET_IDS[: -len(ASSET_IDS) // 10]))
SPARSE = AssetScope(frozenset(ASSET_IDS[::5]))
UNKNOWN = AssetScope(frozenset(f"unknown{number}" for number in range(MAX_ASSETS_IN_COMMAND + 1)))
SCOPES = [DENSE, SPARSE, UNKNOWN]
STRAY_FLOOR = "a0000-f"
"""A floor with units of other assets, which no import would allow."""
LISTS: list[tuple[RecordType[Any], Document, Order]] = [
    (UNITS, {}, BY_KEY),
    (UNITS, {}, Order("name")),
    (UNITS, {}, Order("name", is_descending=True)),
    (UNITS, {"asset_id": ASSET_IDS[0]}, BY_KEY),
    (UNITS, {"asset_id": {"$eq": ASSET_IDS[1]}}, Order("name")),
    (UNITS, {"floor_id": STRAY_FLOOR}, BY_KEY),
    (UNITS, {"floor_id": STRAY_FLOOR}, Order("name")),
    (UNITS, {"_id": {"$in": [f"u{number:05}" for number in range(0, 500, 3)]}}, BY_KEY),
    (UNITS, {"$and": [{"floor_id": STRAY_FLOOR}, {"updated_at": {"$gte": "2026"}}]}, BY_KEY),
    (ASSETS, {}, BY_KEY),
    (ASSETS, {"name_words": {"$all": ["p"]}}, BY_KEY),
]


def _unit(number: int) -> Document:
    asset_id = ASSET_IDS[number * 7919 % len(ASSET_IDS)]
    floor_id = STRAY_FLOOR if number % 10 == 0 else f"{asset_id}-f"
    name, times = f"{number % 40:03}", {"created_at": TIME, "updated_at": TIME}
    ids = {"_id": f"u{number:05}", "asset_id": asset_id, "floor_id": floor_id, "map_ids": None}
    return {**ids, **times, "name": name, "name_words": [name]}


@pytest.fixture(scope="module")
async def filled(mongo_url: str, anyio_backend: str) -> AsyncIterator[Store]:
    """Many assets with a few units each, some of them damaged."""
    client = driver.connect(mongo_url, timeout_seconds=30)
    store = Store(client, uuid.uuid4().hex)
    await store.database[UNITS.name].insert_many([_unit(each) for each in range(UNIT_COUNT)])
    times = {"created_at": TIME, "updated_at": TIME}
    assets = [
        {"_id": id, "name": f"P {id}", "market": "multifamily", "name_words": ["p", id], **times}
        for id in ASSET_IDS
    ]
    await store.database[ASSETS.name].insert_many(assets)
    floors = [
        {"_id": f"{id}-f", "asset_id": id, "name": "1", "label": "1", "short_label": "1", "sort": 1}
        for id in ASSET_IDS
    ]
    await store.database[FLOORS.name].insert_many([each | times for each in floors])
    damaged = [_unit(number) | {"_id": f"u{number:05}x"} for number in range(0, 200, 20)]
    for number, document in enumerate(damaged):
        document["asset_id"] = [7, None, {"a": 1}][number % 3]
    await store.database.command("collMod", UNITS.name, validator={})
    await store.database[UNITS.name].insert_many(damaged)
    yield store
    await client.drop_database(store.database.name)
    await driver.close(client)


def _record(store: Store) -> tuple[Store, CommandLog]:
    """A new store of the same database, and the log of its commands."""
    recorded, log = Store(store.client, store.database.name), CommandLog()
    recorded.database = RecordedDatabase(store.database, log)
    return recorded, log


async def _list_expected(
    store: Store, kind: RecordType[Any], scope: AssetScope, where: Document, order: Order
) -> list[str]:
    """The ids in the whole list, as plain Python finds them."""
    found = await store.database[kind.name].find(where).to_list(None)
    visible = [
        each
        for each in found
        if isinstance(each.get(kind.scope_field), str) and scope.allows(each[kind.scope_field])
    ]
    return [each["_id"] for each in order.sort_documents(visible)]


async def _walk(
    store: Store,
    kind: RecordType[Any],
    scope: AssetScope,
    where: Document,
    order: Order,
    per_page: int,
) -> list[str]:
    """The ids in the list, page after page by position."""
    ids: list[str] = []
    after: Position | None = None
    while True:
        request = PageRequest(1, per_page, after, order)
        page = await store.list_page(kind, scope, where, request)
        ids += [record.id for record in page.data]
        if not page.has_next:
            return ids
        after = page.positions[-1]


@pytest.mark.parametrize("scanned", [30, 1_000_000])
@pytest.mark.parametrize("scope", SCOPES)
async def test_lists_for_many_assets_are_complete_and_in_order(
    filled: Store, scope: AssetScope, scanned: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visible_reads, "MAX_WINDOW_RECORDS", 70)
    monkeypatch.setattr(visible_reads, "MAX_SCANNED_RECORDS", scanned)
    for kind, where, order in LISTS:
        expected = await _list_expected(filled, kind, scope, where, order)
        store, _ = _record(filled)
        assert await _walk(store, kind, scope, where, order, 97) == expected
        for page in (1, 2, 5, 40):
            found = await store.list_page(kind, scope, where, PageRequest(page, 20, order=order))
            start = (page - 1) * 20
            assert [record.id for record in found.data] == expected[start : start + 20]
            assert found.has_next == (len(expected) > start + 20)
        if order == BY_KEY:
            assert await store.list_ids(kind, scope, where, 150) == expected[:150]
        assert await store.count_many(kind, [where], 10_000, scope) == [len(expected)]
        for limit in (5, 60):
            [count] = await store.count_many(kind, [where], limit, scope)
            assert count == min(limit, len(expected))


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize(
    "page_request", [PageRequest(1, 4), PageRequest(1, 1), PageRequest(2, 1), PageRequest(21, 10)]
)
async def test_lists_of_many_owners_are_those_of_each(
    filled: Store, scope: AssetScope, page_request: PageRequest
) -> None:
    floors = [STRAY_FLOOR, *(f"{id}-f" for id in ASSET_IDS[:120])]
    for field, owners in (("floor_id", floors), ("asset_id", ASSET_IDS[:30])):
        wheres = [{field: owner} for owner in owners]
        store, _ = _record(filled)
        pages = await store.load_pages(UNITS, scope, wheres, page_request)
        for where, page in zip(wheres, pages, strict=True):
            assert page == await store.list_page(UNITS, scope, where, page_request)
        counted = [wheres[0], {"name_words": "003"}, *wheres[1:]]
        counts = await store.count_many(UNITS, counted, 1_000, scope)
        for where, count in zip(counted, counts, strict=True):
            assert count == len(await _list_expected(filled, UNITS, scope, where, BY_KEY))


@pytest.mark.parametrize("scope", SCOPES)
async def test_records_by_key_are_the_visible_ones(filled: Store, scope: AssetScope) -> None:
    found = await filled.database[UNITS.name].find().to_list(None)
    visible = set(await _list_expected(filled, UNITS, scope, {}, BY_KEY))
    assert set(await filled.load_records(UNITS, scope, [each["_id"] for each in found])) == visible
    for id in ("u00000", "u00001", "u00007"):
        record = await filled.find_record(UNITS, scope, {"_id": id})
        assert (record is not None) == (id in visible)


def _count_names(command: Document) -> int:
    """How many assets a command names."""
    encoded = bson.encode(command)
    return sum(encoded.count(id.encode() + b"\0") for id in ASSET_IDS)


@pytest.mark.parametrize("scope", [DENSE, SPARSE])
async def test_no_command_for_a_page_names_the_assets_of_a_key(
    filled: Store, scope: AssetScope
) -> None:
    floors = [{"floor_id": f"{id}-f"} for id in ASSET_IDS[:10]]
    ids = [f"u{number:05}" for number in range(50)]
    for kind, where, order in LISTS:
        store, log = _record(filled)
        for page in (1, 2, 3):
            await store.list_page(kind, scope, where, PageRequest(page, 20, order=order))
        await store.load_records(UNITS, scope, ids)
        await store.load_pages(UNITS, scope, floors, PageRequest(1, 1))
        assert log.commands
        for item in log.commands:
            assert _count_names(item.command) <= MAX_ASSETS_IN_COMMAND, item.command


def test_few_assets_are_named() -> None:
    few = AssetScope(frozenset(ASSET_IDS[:MAX_ASSETS_IN_COMMAND]))
    assert not few.needs_scan(UNITS, {})
    assert DENSE.needs_scan(UNITS, {})
    assert not DENSE.needs_scan(UNITS, {"asset_id": "a"})
    assert visibility.ALL_ASSETS.needs_scan(UNITS, {}) is False
