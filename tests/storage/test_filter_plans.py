"""Lists among 100,000 units: what MongoDB reads for a page with each filter, or a count."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import product
from typing import Any

import pytest

from storage.catalog import ASSIGNMENTS, UNIT_REFERENCES, UNITS
from storage.records.filters import build_name_condition, index_name
from storage.records.kinds import Document, RecordType
from storage.records.paging import Order, PageRequest
from storage.records.visibility import ALL_ASSETS, AssetScope
from storage.store import Store

pytestmark = pytest.mark.slow

COUNT, PER_ASSET, PER_PAGE, MAX_COUNT = 100_000, 1_000, 20, 500
TIME, CHANGED_AT = "2026-01-31T12:00:00+00:00", "2026-02-28T12:00:00+00:00"
CHANGED: Document = {"updated_at": {"$gte": "2026-02"}}
FEW_CHANGED = 10
ONLY = AssetScope(frozenset({"a00001"}))


def _unit(number: int) -> Document:
    name = f"Suite {number:05} {'North' if number % 2 else 'South'} {number % 7}"
    is_changed = number < FEW_CHANGED
    times = {"created_at": TIME, "updated_at": CHANGED_AT if is_changed else TIME}
    asset = f"a{number // PER_ASSET:05}"
    ids = {"_id": f"u{number:06}", "asset_id": asset, "floor_id": f"{asset}-f", "map_ids": None}
    return {**ids, "name": name, **times, **index_name({"name": name})}


async def _fill(store: Store) -> None:
    for start in range(0, COUNT, 10_000):
        units = [_unit(number) for number in range(start, start + 10_000)]
        await store.database[UNITS.name].insert_many(units, ordered=False)
        parts = [
            {"unit_id": unit["_id"], "asset_id": unit["asset_id"], "group_id": "g"}
            for unit in units
        ]
        references = [
            {"_id": f"{part['unit_id']}\0crm", **part, "key": "crm", "value": part["unit_id"]}
            for part in parts
        ]
        await store.database[UNIT_REFERENCES.name].insert_many(references, ordered=False)
        assigned = [
            {"_id": f"g\0{part['unit_id']}\0x", **part, "attribute_id": f"x{index % 50}"}
            for index, part in enumerate(parts)
        ]
        await store.database[ASSIGNMENTS.name].insert_many(assigned, ordered=False)


@asynccontextmanager
async def _at_most(
    store: Store, kind: RecordType[Any], keys: int, *shown: Any, may_sort: bool = False
) -> AsyncIterator[None]:
    """Check that what is read in the block scans and sorts nothing, and reads few keys."""
    await store.database.command("profile", 2)
    yield
    await store.database.command("profile", 0)
    reads = {"ns": {"$regex": rf"\.{kind.name}$"}, "planSummary": {"$exists": True}}
    notes = await store.database["system.profile"].find(reads).to_list(None)
    await store.database.drop_collection("system.profile")
    assert notes
    for note in notes:
        told = (kind.name, *shown, note["planSummary"], note["keysExamined"])
        assert "COLLSCAN" not in note["planSummary"], told
        assert may_sort or not note.get("hasSortStage"), told
        assert note["keysExamined"] <= keys, told


async def test_no_filter_order_or_count_scans_or_sorts(client: Any, database_name: str) -> None:
    store = Store(client, database_name)
    for kind in (UNIT_REFERENCES, ASSIGNMENTS):
        await store.database.command("collMod", kind.name, validator={})
    await _fill(store)
    await _check_filters(store)
    await _check_orders(store)
    await _check_orders_of_few(store)
    await _check_counts(store)


async def _check_filters(store: Store) -> None:
    attribute = {"group_id": "g", "attribute_id": "x1"}
    lists: list[tuple[RecordType[Any], AssetScope, Document, int]] = [
        (UNITS, ALL_ASSETS, build_name_condition(("suite",)), 1),
        (UNITS, ALL_ASSETS, build_name_condition(("00077",)), 1),
        (UNITS, ALL_ASSETS, build_name_condition(("sui", "north", "3")), 15),
        (UNITS, ONLY, build_name_condition(("suite",)), 1),
        (UNITS, ONLY, build_name_condition(("00077",)), 1),
        (UNITS, ONLY, {"updated_at": {"$gte": "2026"}}, 1),
        (UNITS, ALL_ASSETS, {"updated_at": {"$gte": "2026"}}, 1),
        (UNITS, ALL_ASSETS, CHANGED, 1),
        (UNITS, ALL_ASSETS, {"asset_id": "a00001", "map_ids": {"$in": [None, "m"]}}, 2),
        (UNIT_REFERENCES, ALL_ASSETS, {"value": "u000077", "key": "crm"}, 1),
        (UNIT_REFERENCES, ONLY, {"value": "u000077", "key": "crm"}, 1),
        (ASSIGNMENTS, ALL_ASSETS, attribute, 1),
        (ASSIGNMENTS, ONLY, attribute, 1),
        (ASSIGNMENTS, ALL_ASSETS, attribute | {"asset_id": "a00001"}, 1),
    ]
    for kind, scope, where, factor in lists:
        most = factor * (PER_PAGE + 5)
        # Of a list by id, the few that have changed are sorted; many are met on the way.
        async with _at_most(store, kind, most, scope, where, may_sort=where == CHANGED):
            await store.list_ids(kind, scope, where, PER_PAGE)
            await store.list_page(kind, scope, where, PageRequest(1, PER_PAGE))


async def _check_orders(store: Store) -> None:
    floor: Document = {"asset_id": "a00001", "floor_id": "a00001-f"}
    on_map: Document = {"asset_id": "a00001", "map_ids": {"$in": [None, "m"]}}
    lists: list[tuple[AssetScope, Document]] = [
        (ALL_ASSETS, {}),
        (ALL_ASSETS, {"asset_id": "a00001"}),
        (ALL_ASSETS, {"$and": [floor, {"updated_at": {"$gte": "2026"}}]}),
        (ALL_ASSETS, floor),
        (ALL_ASSETS, on_map),
        (ONLY, {}),
        (ONLY, {"asset_id": "a00001"}),
        (ONLY, floor),
        (ONLY, on_map),
    ]
    for scope, where in lists:
        for field, is_descending in product((None, "name", "updated_at"), (False, True)):
            order = Order(field, is_descending)
            async with _at_most(store, UNITS, 2 * (PER_PAGE + 5), scope, where, order):
                request = PageRequest(1, PER_PAGE, order=order)
                page = await store.list_page(UNITS, scope, where, request)
                request = request._replace(after=page.positions[-1])
                following = await store.list_page(UNITS, scope, where, request)
            assert len(page.data) == len(following.data) == PER_PAGE


async def _check_orders_of_few(store: Store) -> None:
    """Filters without an index of the order: MongoDB sorts few matches, or meets many early."""
    lists: list[tuple[Document, int]] = [
        (build_name_condition(("suite",)), PER_PAGE + 5),
        (build_name_condition(("00077",)), PER_PAGE + 5),
        (build_name_condition(("north", "3")), 20 * PER_PAGE),
        (build_name_condition(("09",)), 1_100),
        (_ids_of(1_000), 3_000),
        (_ids_of(10_000), 21_000),
    ]
    for where, most in lists:
        for field in ("name", "updated_at"):
            order = Order(field, is_descending=True)
            request = PageRequest(1, PER_PAGE, order=order)
            async with _at_most(store, UNITS, most, order, str(where)[:80], may_sort=True):
                assert (await store.list_page(UNITS, ALL_ASSETS, where, request)).data


def _ids_of(count: int) -> Document:
    return {"_id": {"$in": [f"u{number:06}" for number in range(0, COUNT, COUNT // count)]}}


async def _check_counts(store: Store) -> None:
    lists: list[Document] = [
        {},
        {"asset_id": "a00001"},
        {"asset_id": "a00001", "floor_id": "a00001-f"},
        {"asset_id": {"$in": ["a00001", "a00002"]}},
        {"updated_at": {"$gte": "2026"}},
        build_name_condition(("suite",)),
    ]
    for where in lists:
        async with _at_most(store, UNITS, MAX_COUNT + 1, where):
            assert await store.count_many(UNITS, [where], MAX_COUNT) == [MAX_COUNT], where
