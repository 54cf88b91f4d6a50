"""Reading the catalog: what is visible, in pages, by indexes."""

import re
from typing import Any

import pytest

from storage.assets import ASSETS, Asset
from storage.floors import FLOORS, Floor
from storage.mongo.recorded_database import CommandLog, RecordedDatabase
from storage.pages import build_page
from storage.records.kinds import RecordType
from storage.records.paging import BY_KEY, Order, PageRequest
from storage.records.visibility import ALL_ASSETS, AssetScope
from storage.store import MAX_UNION_BRANCHES, Store
from storage.units import UNITS, Unit

pytestmark = pytest.mark.anyio

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
            store.database = RecordedDatabase(store.database, log)
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
    assert await store.find_record(FLOORS, ALL_ASSETS, {"_id": id}) == floor(id, "a")
    assert await store.load_records(FLOORS, ALL_ASSETS, [id]) == {id: floor(id, "a")}
    page = await store.list_page(FLOORS, ALL_ASSETS, {"asset_id": "a"}, PageRequest(1, 1))
    assert page.data == [floor(id, "a")]
    assert (
        await store.list_page(FLOORS, ALL_ASSETS, {"asset_id": id}, PageRequest(1, 1))
    ).data == []


async def test_what_a_caller_cannot_see_is_not_there(store: Store) -> None:
    await fill(store, ASSETS, [asset("a"), asset("b")])
    await fill(store, FLOORS, [floor("a1", "a"), floor("b1", "b")])
    assert await store.find_record(FLOORS, ONLY_A, {"_id": "b1"}) is None
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
