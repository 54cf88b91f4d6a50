"""Reading the catalog in pages by indexes, and assigning attributes all or nothing."""

import asyncio
import re
import uuid
from collections.abc import AsyncIterator
from typing import Any

import bson
import pytest
from pymongo import MongoClient

from storage import store as store_module
from storage.attribute_assignments import (
    AttributeGroupNotFoundError,
    InvalidAssignmentsError,
    assign_attributes,
    unassign_attributes,
)
from storage.catalog import ASSETS, FLOORS, UNITS, Asset, Assignment, Floor, Unit
from storage.mongo import driver
from storage.records import visibility
from storage.records.kinds import Document, RecordType
from storage.records.paging import BY_KEY, Order, PageRequest, Position
from storage.records.visibility import ALL_ASSETS, MAX_ASSETS_IN_COMMAND, AssetScope
from storage.store import MAX_UNION_BRANCHES, Store, build_page
from tests.recorded_commands import CommandLog, with_log

NOW = "2026-01-31T12:00:00+00:00"
ONLY_A = AssetScope(frozenset({"a"}))
NOTHING = AssetScope(frozenset())
ODD_IDS = ["$gt", '{"$ne": null}', "a.b", "$where", "é/%2F", "\N{GRINNING FACE}", "x" * 255]


def asset(id: str) -> Asset:
    return Asset(id=id, name="Alder", created_at=NOW, updated_at=NOW)


def floor(id: str, asset_id: str) -> Floor:
    return Floor(id=id, asset_id=asset_id, name="First", created_at=NOW, updated_at=NOW)


def unit(id: str, asset_id: str, floor_id: str) -> Unit:
    return Unit(
        id=id, asset_id=asset_id, floor_id=floor_id, name="101", created_at=NOW, updated_at=NOW
    )


@pytest.fixture
async def store(client: Any, database_name: str) -> Store:
    store = Store(client, database_name)
    return store


async def fill(store: Store, kind: RecordType[Any], records: list[Any], **copied: Any) -> None:
    await store.database[kind.name].insert_many(
        [kind.to_document(record) | copied for record in records]
    )


async def profile(store: Store, work: Any) -> list[dict[str, Any]]:
    """What MongoDB noted of the commands that the work makes."""
    await store.database.command("profile", 2)
    await work
    await store.database.command("profile", 0)
    notes = store.database["system.profile"].find({"ns": {"$regex": r"\.(?!system\.)"}})
    return [note for note in await notes.to_list(None) if note["op"] in ("query", "command")]


@pytest.mark.parametrize("scope", [ALL_ASSETS, ONLY_A, NOTHING])
async def test_a_record_and_a_page_of_its_list_are_read_with_one_command(
    store: Store, scope: AssetScope
) -> None:
    await fill(store, ASSETS, [asset("a"), asset("b")])
    await fill(store, FLOORS, [floor(f"{id}{n}", id) for id in "ab?" for n in range(4)])
    unset = {"$unset": {"name": 1}}
    for kind, damaged in ((ASSETS, "b"), (FLOORS, "a0")):
        collection = store.database[kind.name]
        await collection.update_one({"_id": damaged}, unset, bypass_document_validation=True)
    orders = BY_KEY, Order("sort", True)
    for request in [PageRequest(1, size, None, order) for size in (2, 100) for order in orders]:
        for key in ("a", "b", "?", "none"):
            where = {"asset_id": key}
            log = CommandLog()
            store.database = with_log(store.database, log)
            found, documents = await store.load_with_first_page(
                ASSETS, scope, key, FLOORS, where, request
            )
            assert len(log.commands) == 1
            alone = (await store.load_records(ASSETS, scope, [key])).get(key)
            assert repr(found) == repr(alone)
            if found is None:
                assert documents == []
                continue
            page = await build_page(FLOORS, documents, request)
            expected = await store.list_page(FLOORS, scope, where, request)
            assert repr(page) == repr(expected)


@pytest.mark.parametrize("id", ODD_IDS)
async def test_an_id_that_looks_like_an_operator_is_an_id(store: Store, id: str) -> None:
    await fill(store, FLOORS, [floor(id, "a"), floor("other", "b")])
    assert await store.load_record(FLOORS, ALL_ASSETS, id) == floor(id, "a")
    assert await store.load_records(FLOORS, ALL_ASSETS, [id]) == {id: floor(id, "a")}
    page = await store.list_page(FLOORS, ALL_ASSETS, {"asset_id": "a"}, PageRequest(1, 1))
    assert page.data == [floor(id, "a")]
    assert (
        await store.list_page(FLOORS, ALL_ASSETS, {"asset_id": id}, PageRequest(1, 1))
    ).data == []


async def test_what_a_caller_cannot_see_is_not_there(store: Store) -> None:
    await fill(store, ASSETS, [asset("a"), asset("b")])
    await fill(store, FLOORS, [floor("a1", "a"), floor("b1", "b")])
    assert await store.load_record(FLOORS, ONLY_A, "b1") is None
    assert list(await store.load_records(FLOORS, ONLY_A, ["a1", "b1"])) == ["a1"]
    assert (await store.list_page(FLOORS, ONLY_A, {"asset_id": "b"}, PageRequest(1, 10))).data == []
    assert (await store.list_page(ASSETS, ONLY_A, {}, PageRequest(1, 10))).data == [asset("a")]
    assert (await store.list_page(ASSETS, NOTHING, {}, PageRequest(1, 10))).data == []
    both = await store.load_pages(
        FLOORS, ONLY_A, [{"asset_id": "a"}, {"asset_id": "b"}], PageRequest(1, 10)
    )
    assert [page.data for page in both] == [[floor("a1", "a")], []]


async def test_many_records_are_read_in_one_command(store: Store) -> None:
    await fill(store, ASSETS, [asset(f"a{number:03}") for number in range(300)])
    wanted = [f"a{number:03}" for number in range(250)]
    (note,) = await profile(
        store, store.load_records(ASSETS, ALL_ASSETS, [*wanted, *wanted, "none"])
    )
    assert note["nreturned"] == 250
    assert await store.load_records(ASSETS, ALL_ASSETS, []) == {}


@pytest.mark.parametrize("by_cursor", [True, False])
@pytest.mark.parametrize("per_page", [1, 3, 10, 11])
async def test_walking_the_pages_meets_every_record_once_in_the_order_of_keys(
    store: Store, per_page: int, by_cursor: bool
) -> None:
    ids = ["a", "B", "é", "\uffee", "\N{GRINNING FACE}", "$", "a/b", "0", "10", "9"]
    await fill(store, ASSETS, [asset(id) for id in ids])
    found: list[str] = []
    number, after = 1, None
    while True:
        page = await store.list_page(
            ASSETS, ALL_ASSETS, {}, PageRequest.from_arguments(number, per_page, after)
        )
        assert (page.paging.current_page, page.paging.per_page) == (number, per_page)
        found += [record.id for record in page.data]
        if not page.paging.has_next:
            break
        number, after = number + 1, page.paging.next if by_cursor else None
    assert found == sorted(ids)


async def test_a_cursor_goes_on_behind_a_record_that_has_gone(store: Store) -> None:
    await fill(store, ASSETS, [asset(id) for id in "abcd"])
    first = await store.list_page(ASSETS, ALL_ASSETS, {}, PageRequest(1, 2))
    await store.database["assets"].delete_one({"_id": "b"})
    second = await store.list_page(
        ASSETS, ALL_ASSETS, {}, PageRequest.from_arguments(2, 2, first.paging.next)
    )
    assert [record.id for record in second.data] == ["c", "d"]


WHERES: list[tuple[RecordType[Any], dict[str, Any]]] = [
    (UNITS, {}),
    (UNITS, {"asset_id": "a"}),
    (UNITS, {"floor_id": "a1"}),
    (UNITS, {"asset_id": "a", "map_ids": {"$in": [None, "m"]}}),
    (FLOORS, {"asset_id": "a"}),
]


async def fill_in_bulk(store: Store) -> None:
    """More of two assets, evenly mixed, than any page holds."""
    units = [
        unit(f"u{number:04}", "ab"[number % 2], "a1" if number % 2 == 0 else "b1")
        for number in range(1000)
    ]
    await fill(store, UNITS, units)
    await fill(store, FLOORS, [floor(f"f{number:04}", "ab"[number % 2]) for number in range(1000)])


async def test_a_page_reads_no_more_than_it_holds(store: Store) -> None:
    await fill_in_bulk(store)
    for kind, where in WHERES:
        await store.database["system.profile"].drop()
        (note,) = await profile(store, store.list_page(kind, ALL_ASSETS, where, PageRequest(1, 10)))
        assert not re.search("COLLSCAN", note["planSummary"]), (kind.name, where)
        assert not note.get("hasSortStage"), (kind.name, where)
        assert note["docsExamined"] <= 12, (kind.name, where, note["planSummary"])


async def test_a_deep_page_by_cursor_costs_what_the_first_does(store: Store) -> None:
    await fill_in_bulk(store)
    slice = PageRequest(40, 10, after=("u0790",))
    for where in ({}, {"asset_id": "a"}, {"floor_id": "a1"}):
        await store.database["system.profile"].drop()
        (note,) = await profile(store, store.list_page(UNITS, ALL_ASSETS, where, slice))
        assert note["keysExamined"] <= 12
        assert note["docsExamined"] <= 12


async def test_pages_of_many_owners_come_in_one_command(store: Store) -> None:
    await fill_in_bulk(store)
    wheres = [{"asset_id": id} for id in ("a", "none", "b", "a")]
    pages = await store.load_pages(UNITS, ALL_ASSETS, wheres, PageRequest(2, 5))
    assert pages == [
        await store.list_page(UNITS, ALL_ASSETS, where, PageRequest(2, 5)) for where in wheres
    ]
    notes = await profile(store, store.load_pages(UNITS, ALL_ASSETS, wheres, PageRequest(1, 5)))
    assert sum(note["command"].get("aggregate") == "units" for note in notes) == 1
    assert max(note["docsExamined"] for note in notes) <= 4 * 6


async def test_short_lists_of_many_owners_come_in_one_plain_query(store: Store) -> None:
    await fill(store, FLOORS, [floor(f"{n}{owner}", owner) for owner in "bca" for n in (3, 1, 2)])
    wheres = [{"asset_id": id} for id in ("c", "none", "a", "c")]
    for slice in (PageRequest(1, 3), PageRequest(1, 2), PageRequest(2, 2), PageRequest(1, 1)):
        expected = [await store.list_page(FLOORS, ALL_ASSETS, where, slice) for where in wheres]
        assert await store.load_pages(FLOORS, ALL_ASSETS, wheres, slice) == expected
    [note] = await profile(store, store.load_pages(FLOORS, ALL_ASSETS, wheres, PageRequest(1, 3)))
    assert note["op"] == "query"
    assert note["docsExamined"] == 6


async def test_owners_beyond_one_command_are_answered_too(store: Store) -> None:
    owners = [f"a{number:03}" for number in range(2 * MAX_UNION_BRANCHES + 1)]
    await fill(store, FLOORS, [floor(f"{owner}-1", owner) for owner in owners])
    wheres = [{"asset_id": owner} for owner in owners]
    pages = await store.load_pages(FLOORS, ALL_ASSETS, wheres, PageRequest(1, 2))
    assert [page.data[0].asset_id for page in pages] == owners


def test_a_scope_never_takes_the_place_of_a_condition() -> None:
    assert ONLY_A.restrict(FLOORS, {"floor_id": "f"}) == {
        "$and": [{"floor_id": "f"}, {"asset_id": {"$in": ["a"]}}]
    }
    assert ONLY_A.restrict(ASSETS, {}) == {"_id": {"$in": ["a"]}}
    assert ALL_ASSETS.restrict(FLOORS, {}) == {}


@pytest.mark.parametrize("value", ["a", {"$eq": "a"}])
def test_a_condition_on_one_asset_is_compared_with_the_scope_in_memory(value: Any) -> None:
    for where in ({"asset_id": value}, {"$and": [{"name": "101"}, {"asset_id": value}]}):
        assert ONLY_A.restrict(UNITS, where) == where
        assert AssetScope(frozenset("b")).restrict(UNITS, where) == {"_id": {"$in": []}}
    assert ONLY_A.restrict(ASSETS, {"_id": value}) == {"_id": value}


def test_conditions_that_more_than_one_asset_meets_name_the_assets() -> None:
    for where in ({"asset_id": {"$in": ["a", "b"]}}, {"$or": [{"asset_id": "a"}, {"name": "1"}]}):
        assert ONLY_A.restrict(UNITS, where)["$and"][1] == {"asset_id": {"$in": ["a"]}}


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
    recorded.database = with_log(store.database, log)
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
    monkeypatch.setattr(store_module, "MAX_WINDOW_RECORDS", 70)
    monkeypatch.setattr(store_module, "MAX_SCANNED_RECORDS", scanned)
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
        record = await filled.load_record(UNITS, scope, id)
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


UNIT_IDS = [f"u{number}" for number in range(4)]
ATTRIBUTES = [
    {"attribute_id": name, "attribute_name": name, "attribute_key": name} for name in "abcd"
]


@pytest.fixture
def database(client: Any, mongo_url: str, database_name: str) -> driver.Database:
    write_units_and_groups(mongo_url, database_name)
    database: driver.Database = client[database_name]
    return database


def write_units_and_groups(mongo_url: str, database_name: str) -> None:
    stamps = {"created_at": "", "updated_at": ""}
    with MongoClient[dict[str, Any]](mongo_url) as client:
        database = client[database_name]
        database.units.insert_many(
            {"_id": unit, "asset_id": asset, "floor_id": "f", "name": "", "map_ids": None} | stamps
            for unit, asset in [
                *((unit, "a") for unit in UNIT_IDS),
                ("elsewhere", "b"),
            ]
        )
        database.attribute_groups.insert_many(
            {
                "_id": name,
                "group_id": name,
                "group_name": name,
                "one_attribute_per_unit": is_exclusive,
                "attributes": ATTRIBUTES,
            }
            for name, is_exclusive in (("one", True), ("many", False))
        )


def build_assignment(
    attribute: str, unit: str = "u0", group: str = "one", asset: str = "a"
) -> Assignment:
    return Assignment(group_id=group, attribute_id=attribute, asset_id=asset, unit_id=unit)


async def list_assignments(database: driver.Database, group: str) -> set[tuple[str, str]]:
    found = await database["attribute_assignments"].find({"group_id": group}).to_list(None)
    return {(document["unit_id"], document["attribute_id"]) for document in found}


async def test_a_group_of_one_per_unit_replaces(database: driver.Database) -> None:
    await assign_attributes(
        database, ALL_ASSETS, "one", [build_assignment("a"), build_assignment("b", "u1")]
    )
    await assign_attributes(database, ALL_ASSETS, "one", [build_assignment("c")])
    assert await list_assignments(database, "one") == {("u0", "c"), ("u1", "b")}


async def test_other_groups_add_and_assigning_twice_changes_nothing(
    database: driver.Database,
) -> None:
    for attribute in "aab":
        await assign_attributes(
            database, ALL_ASSETS, "many", [build_assignment(attribute, group="many")]
        )
    assert await list_assignments(database, "many") == {("u0", "a"), ("u0", "b")}


async def test_unassigning_takes_only_what_is_named(database: driver.Database) -> None:
    await assign_attributes(database, ALL_ASSETS, "one", [build_assignment("a")])
    await unassign_attributes(
        database, ALL_ASSETS, "one", [build_assignment("b"), build_assignment("a", "u1")]
    )
    assert await list_assignments(database, "one") == {("u0", "a")}
    await unassign_attributes(database, ALL_ASSETS, "one", [build_assignment("a")])
    assert await list_assignments(database, "one") == set()


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        (build_assignment("nope", "u2"), "attribute_id"),
        (build_assignment("a", "nope"), "unit_id"),
        (build_assignment("a", "elsewhere", asset="b"), "unit_id"),  # there, but not for this key
        (build_assignment("a", asset="b"), "asset_id"),
        (build_assignment("a", group="many"), "group_id"),
        (build_assignment("b"), "attribute_id"),  # the second of one unit in one request
    ],
)
async def test_one_wrong_assignment_stops_them_all(
    database: driver.Database, wrong: Assignment, field: str
) -> None:
    scope = AssetScope(frozenset({"a"}))
    with pytest.raises(InvalidAssignmentsError) as caught:
        await assign_attributes(
            database, scope, "one", [build_assignment("a"), build_assignment("a", "u1"), wrong]
        )
    assert [(fault.position, fault.field) for fault in caught.value.violations] == [(2, field)]
    assert await list_assignments(database, "one") == set()


async def test_the_first_hundred_errors_are_reported(database: driver.Database) -> None:
    wrong = [build_assignment("nope")] * 101
    with pytest.raises(InvalidAssignmentsError) as caught:
        await assign_attributes(database, AssetScope(frozenset({"a"})), "one", wrong)
    assert [fault.position for fault in caught.value.violations] == [*range(100)]


async def test_an_unknown_group_is_an_error_of_its_own(database: driver.Database) -> None:
    with pytest.raises(AttributeGroupNotFoundError):
        await assign_attributes(database, ALL_ASSETS, "nope", [build_assignment("a", group="nope")])


async def test_racing_writers_never_give_a_unit_two_attributes(
    client: Any, database: driver.Database
) -> None:
    """Every state between their writes is that of one complete request."""

    async def write_often(first: int) -> None:
        for number in range(first, first + 4):
            batch = [build_assignment("abcd"[number % 4], unit) for unit in UNIT_IDS]
            await assign_attributes(database, ALL_ASSETS, "one", batch)

    await write_often(0)
    writing = asyncio.gather(*(write_often(first) for first in range(4)))
    while not writing.done():
        async with driver.open_snapshot_session(client) as session:
            cursor = database["attribute_assignments"].find({"group_id": "one"}, session=session)
            found = [(each["unit_id"], each["attribute_id"]) for each in await cursor.to_list(None)]
        assert sorted(unit for unit, _ in found) == UNIT_IDS
        assert len({attribute for _, attribute in found}) == 1
    await writing
