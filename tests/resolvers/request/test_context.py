"""The context reads what the caller may see, counts it, and tells callers apart by rights."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import uvloop
from graphql import GraphQLObjectType

from resolvers.maps import load_drawings
from resolvers.request import caller
from resolvers.request.caller import EXPLAIN_PERMISSION, FLAGS, PERMISSIONS, Caller
from resolvers.request.context import (
    MAX_RECORDS_PER_REQUEST,
    Budget,
    Context,
    DataLoader,
    FirstPage,
    ReadLog,
    Relation,
    limit_read,
)
from resolvers.request.errors import DeadlineExceededError, LimitExceededError
from resolvers.request.inputs import PageArguments
from resolvers.routable_maps import RoutableMapCache
from schema.definitions import Requirement, requirement_of
from schema.root import GRAPHQL_SCHEMA
from storage.cache.change_feed import ChangeFeed
from storage.cache.read_set import whole
from storage.cache.record_cache import RecordCache
from storage.catalog import ASSETS, FLOORS, MAPS, PARSED_FIELD, UNITS
from storage.mongo import driver, files
from storage.records.paging import BY_KEY, KeyRange, Order
from storage.records.visibility import ALL_ASSETS, MAX_ASSETS_IN_COMMAND, AssetScope
from storage.routing_inputs import NETWORK_FORMAT
from storage.setup import preparation
from storage.store import Store
from tests.recorded_commands import CommandLog, record

STAMPS = {"created_at": "2026-01-01T00:00:00+00:00", "updated_at": "2026-01-01T00:00:00+00:00"}


@pytest.fixture
async def database(mongo_url: str, database_name: str) -> AsyncIterator[Any]:
    client = driver.connect(mongo_url, timeout_seconds=30)
    yield client[database_name]
    await driver.close(client)


@pytest.fixture
async def context(database: Any) -> Context:
    """The context of a caller who may see the assets oak and elm, but not ash."""
    await preparation.prepare_database(database)
    await database[ASSETS.name].insert_many(
        [{"_id": key, "name": key, "market": "m", **STAMPS} for key in ("ash", "elm", "oak")]
    )
    caller = Caller("key", AssetScope(frozenset({"oak", "elm"})))
    return Context(caller, Store(database.client, database.name))


async def test_a_record_is_read_by_its_key_if_it_is_visible(context: Context) -> None:
    oak = await context.get_record(ASSETS, "oak")
    assert oak is not None
    assert oak.name == "oak"
    assert await context.get_record(ASSETS, "ash") is None
    assert await context.get_record(ASSETS, "none") is None


@pytest.mark.parametrize("expected", [True, False])
async def test_siblings_share_a_command_if_there_are_any(context: Context, expected: bool) -> None:
    log = CommandLog()
    context = record(context, log)
    context.expect_siblings(expected=expected)
    oak, elm, ash = await asyncio.gather(
        *(context.get_record(ASSETS, key) for key in ("oak", "elm", "ash"))
    )
    assert (oak and oak.name, elm and elm.name, ash) == ("oak", "elm", None)
    assert len(log.commands) == (1 if expected else 3)
    assert await context.get_record(ASSETS, "oak") is oak
    assert len(log.commands) == (1 if expected else 3)


async def test_records_are_aligned_with_their_keys(context: Context) -> None:
    records = await context.load_in_order(ASSETS, ["elm", None, "ash", "oak", "elm"])
    assert [record and record.name for record in records] == ["elm", None, None, "oak", "elm"]
    assert await context.load_in_order(ASSETS, [None]) == [None]


async def test_reads_are_logged(context: Context) -> None:
    assert not context.reads.collections
    await context.get_record(ASSETS, "oak")
    await context.list_page(FLOORS, {}, PageArguments(1, 10))
    assert context.reads.collections == {"assets", "floors"}
    assert context.reads.is_complete


async def test_a_page_and_then_a_list_depend_on_the_whole_list() -> None:
    reads = ReadLog()
    reads.add("units", keys=KeyRange(None, "b"))
    reads.add_lists(UNITS, None, [{}])
    assert reads.build_read_set() == whole("units")


async def test_the_log_is_incomplete_where_an_archive_is_missing(
    context: Context, database: Any
) -> None:
    async def read_nothing(_: str) -> None:
        return None

    routing = {"network": "0" * 64, "network_state": {"network_format": NETWORK_FORMAT}}
    await database["maps"].insert_one(
        {"_id": "m", "asset_id": "oak", "name": "M", **routing, **STAMPS},
        bypass_document_validation=True,
    )
    routers = RoutableMapCache(read_nothing)
    context = Context(context.caller, context._store, routable_map_cache=routers)
    assert await context.load_routable_map("none") is None
    assert context.reads.is_complete
    assert await context.load_routable_map("m") is None
    assert not context.reads.is_complete


@pytest.mark.parametrize("is_there", [True, False])
async def test_the_log_is_incomplete_where_a_drawing_is_missing(
    context: Context, database: Any, is_there: bool
) -> None:
    digest = await files.write_file(database, b"{}") if is_there else "0" * 64
    await database["maps"].insert_one(
        {"_id": "m", "asset_id": "oak", "name": "M", PARSED_FIELD: digest, **STAMPS},
        bypass_document_validation=True,
    )
    assert await load_drawings(context, ["m"]) == [b"{}" if is_there else None]
    assert context.reads.is_complete == is_there


@pytest.mark.parametrize("reads_networks", [False, True])
async def test_a_query_that_routes_reads_a_map_and_its_network_with_one_command(
    context: Context, database: Any, reads_networks: bool
) -> None:
    digests = []

    async def read_nothing(digest: str) -> None:
        digests.append(digest)

    routable = {"network": "0" * 64, "network_state": {"network_format": NETWORK_FORMAT}}
    stale = {"network": "1" * 64, "network_state": {"source": "other", "feet_per_unit": None}}
    await database["maps"].insert_many(
        [
            {"_id": "m", "asset_id": "oak", "name": "M", **routable, **STAMPS},
            {"_id": "stale", "asset_id": "oak", "name": "S", **stale, **STAMPS},
            {"_id": "hidden", "asset_id": "ash", "name": "H", **routable, **STAMPS},
        ],
        bypass_document_validation=True,
    )
    routers, log = RoutableMapCache(read_nothing), CommandLog()
    context = Context(
        context.caller, context._store, routable_map_cache=routers, reads_networks=reads_networks
    )
    context = record(context, log)
    for map_id, name in {"m": "M", "stale": "S", "hidden": None}.items():
        found = await context.get_record(MAPS, map_id)
        assert (found and found.name) == name
        assert await context.load_routable_map(map_id) is None
    assert digests == ["0" * 64]
    assert len(log.commands) == (4 if reads_networks else 6)


FLOORS_OF_ASSET = Relation(FLOORS, lambda asset_id: {"asset_id": asset_id})


@pytest.fixture
async def floors(context: Context, database: Any) -> Context:
    """The context, with two floors of each asset."""
    floors = [
        {"_id": f"{asset}-{n}", "asset_id": asset, "name": "F", "label": "F", "sort": n, **STAMPS}
        for asset in ("oak", "elm", "ash")
        for n in (2, 1)
    ]
    await database[FLOORS.name].insert_many(floors)
    return context


@pytest.mark.parametrize("order", [BY_KEY, Order("sort", True)])
async def test_a_record_is_read_with_the_first_page_of_its_list(
    floors: Context, order: Order
) -> None:
    pages = PageArguments(1, 1, order=order)
    read = []
    for asset_id in ("oak", "ash", "none"):
        for joined in (False, True):
            log = CommandLog()
            caller, store = floors.caller, floors._store
            context = record(Context(caller, store), log)
            getting = context
            if joined:
                getting = context.with_first_page(FirstPage(FLOORS_OF_ASSET, pages.parse()))
            asset = await getting.get_record(ASSETS, asset_id)
            assert asset == await context.get_record(ASSETS, asset_id)
            found: Any = None
            if asset is not None:
                [found] = await context.load_pages(FLOORS_OF_ASSET, [(asset_id,)], pages)
            assert len(log.commands) == (1 if joined or asset is None else 2)
            reads = context.reads.build_read_set(), context.reads.is_complete
            read.append((asset, found, reads, context.budget.records_read))
    assert read[0] == read[1]
    assert read[0][1].data[0].id == ("oak-1" if order == BY_KEY else "oak-2")
    assert read[2] == read[3]
    assert read[4] == read[5]
    assert read[2][0] is None
    assert "floors" not in read[3][2][0]


async def test_another_page_than_that_read_with_the_record_is_read_for_itself(
    floors: Context,
) -> None:
    log = CommandLog()
    context = record(floors, log)
    first = FirstPage(FLOORS_OF_ASSET, PageArguments(1, 1).parse())
    await context.with_first_page(first).get_record(ASSETS, "oak")
    for pages, ids in (
        (PageArguments(2, 1), ["oak-2"]),
        (PageArguments(1, 2), ["oak-1", "oak-2"]),
        (PageArguments(1, 1), ["oak-1"]),
    ):
        [page] = await context.load_pages(FLOORS_OF_ASSET, [("oak",)], pages)
        assert [each.id for each in page.data] == ids
    assert len(log.commands) == 3
    both = await context.load_pages(FLOORS_OF_ASSET, [("oak",), ("elm",)], PageArguments(1, 1))
    assert [page.data[0].id for page in both] == ["oak-1", "elm-1"]


async def test_the_list_of_a_key_with_many_assets_is_read_after_the_record(
    floors: Context,
) -> None:
    log = CommandLog()
    scope = AssetScope(frozenset({"oak", *map(str, range(MAX_ASSETS_IN_COMMAND))}))
    context = record(Context(Caller("key", scope), floors._store), log)
    named = Relation(FLOORS, lambda asset_id: {"name": "F"})
    page = FirstPage(named, PageArguments(1, 1).parse())
    assert await context.with_first_page(page).get_record(ASSETS, "oak")
    assert [next(iter(command.command)) for command in log.commands] == ["find"]


async def test_a_cached_record_is_not_read_with_its_list(floors: Context, database: Any) -> None:
    log = CommandLog()
    context = record(floors, log, RecordCache(ChangeFeed(database)))
    page = FirstPage(FLOORS_OF_ASSET, PageArguments(1, 1).parse())
    assert await context.with_first_page(page).get_record(ASSETS, "oak")
    assert [next(iter(command.command)) for command in log.commands] == ["find"]


async def test_a_mutation_reads_past_the_record_cache_and_shares_the_log(database: Any) -> None:
    caller, store = Caller("key", ALL_ASSETS), Store(database.client, database.name)
    cached = Context(caller, store, record_cache=RecordCache(ChangeFeed(database)))
    mutation = cached.with_record_cache(None)
    assert mutation.record_cache is None
    assert cached.record_cache is not None
    mutation.bypass_caches()
    assert not cached.reads.is_complete


class RecordingLoader:
    """Double numbers, record the calls, and fail at negative ones."""

    def __init__(self, max_keys: int = 100) -> None:
        self.calls: list[list[int]] = []
        self.loader = DataLoader(self.load, max_keys)

    async def load(self, keys: list[int]) -> Sequence[int]:
        self.calls.append(keys)
        await asyncio.sleep(0)
        if min(keys) < 0:
            raise ValueError("negative")
        return [2 * key for key in keys]


async def test_concurrent_callers_share_one_call() -> None:
    recording = RecordingLoader()
    answers = await asyncio.gather(*(recording.loader.load(keys) for keys in ([3, 1], [1, 1, 2])))
    assert answers == [[6, 2], [2, 2, 4]]
    assert recording.calls == [[3, 1, 2]]


async def test_one_key_is_read_with_those_of_others() -> None:
    recording = RecordingLoader()
    values, value = await asyncio.gather(
        recording.loader.load([1, 2]), recording.loader.load_one(3)
    )
    assert (values, value) == ([2, 4], 6)
    assert await recording.loader.load_one(2) == 4
    assert recording.calls == [[1, 2, 3]]


async def test_nothing_is_read_twice() -> None:
    recording = RecordingLoader()
    await recording.loader.load([1, 2])
    assert await recording.loader.load([2, 3, 1]) == [4, 6, 2]
    assert await recording.loader.load([]) == []
    assert recording.calls == [[1, 2], [3]]


async def test_the_keys_of_a_call_are_bounded() -> None:
    recording = RecordingLoader(max_keys=2)
    assert await recording.loader.load([1, 2, 3]) == [2, 4, 6]
    assert recording.calls == [[1, 2], [3]]


async def test_an_error_is_raised_to_all_callers() -> None:
    recording = RecordingLoader()
    failed = await asyncio.gather(
        recording.loader.load([1]), recording.loader.load([-1]), return_exceptions=True
    )
    assert [str(error) for error in failed] == ["negative", "negative"]


async def test_keys_are_read_again_if_the_caller_who_reads_them_is_cancelled() -> None:
    recording = RecordingLoader()
    cancelled = asyncio.create_task(recording.loader.load([1]))
    other = asyncio.create_task(recording.loader.load([1, 2]))
    while not recording.calls:
        await asyncio.sleep(0)
    cancelled.cancel()
    assert await other == [2, 4]
    assert recording.calls == [[1, 2], [1, 2]]


async def test_an_error_is_raised_again_without_a_call() -> None:
    recording = RecordingLoader()
    for _ in range(2):
        with pytest.raises(ValueError, match="negative"):
            await recording.loader.load([-1])
    assert await recording.loader.load([1]) == [2]
    assert recording.calls == [[-1], [1]]


SOME = AssetScope(frozenset({"elm", "oak"}))


def make(**given: Any) -> Caller:
    return Caller(**{"key_id": "key", "scope": SOME, **given})


@pytest.mark.parametrize(
    "same",
    [
        {"key_id": "another"},
        {"scope": AssetScope(frozenset({"oak", "elm"}))},
        {"permissions": frozenset()},
        {"flags": frozenset()},
    ],
)
def test_callers_with_equal_rights_share_responses(same: dict[str, Any]) -> None:
    assert make(**same).rights == make().rights
    assert hash(make(**same).rights) == hash(make().rights)


@pytest.mark.parametrize(
    "other",
    [
        {"scope": ALL_ASSETS},
        {"scope": AssetScope(frozenset({"oak"}))},
        {"scope": AssetScope(frozenset())},
        {"permissions": frozenset({caller.PARSE_UNIT_MAPS_PERMISSION})},
        {"flags": frozenset({caller.REFERENCES_FLAG})},
    ],
)
def test_callers_with_other_rights_do_not(other: dict[str, Any]) -> None:
    assert make(**other).rights != make().rights


@pytest.mark.parametrize(
    ("scope", "is_admin"),
    [(ALL_ASSETS, True), (SOME, False), (AssetScope(frozenset()), False)],
)
def test_only_who_sees_all_assets_is_an_administrator(scope: AssetScope, is_admin: bool) -> None:
    permissions = make(scope=scope, permissions=frozenset(PERMISSIONS)).permissions
    assert permissions == {*PERMISSIONS} - ({*()} if is_admin else {caller.ADMIN_PERMISSION})


def test_a_flag_is_no_permission_of_the_same_name() -> None:
    names = frozenset({"x"})
    both = make(flags=names, permissions=names)
    rights = {make(flags=names).rights, make(permissions=names).rights, both.rights}
    assert len(rights) == 3


REQUIREMENTS = {
    requirement_of(field)
    for type in GRAPHQL_SCHEMA.type_map.values()
    if isinstance(type, GraphQLObjectType)
    for field in type.fields.values()
} - {Requirement()}


def test_every_flag_and_permission_is_known_and_opens_some_field() -> None:
    flags = {requirement.flag for requirement in REQUIREMENTS}
    permissions = {requirement.permission for requirement in REQUIREMENTS}
    assert flags - {None} == {*FLAGS}
    # Explanations are of requests, not of fields.
    assert permissions - {None} == {*PERMISSIONS} - {EXPLAIN_PERMISSION}


@pytest.mark.parametrize("count", [Budget.count_read, Budget.count_cost])
def test_records_are_counted_up_to_a_limit(monkeypatch: pytest.MonkeyPatch, count: object) -> None:
    monkeypatch.setattr("resolvers.request.context.MAX_RECORDS_PER_REQUEST", 3)
    counts = Budget()
    assert callable(count)
    count(counts, 3)
    for _ in range(2):  # once exceeded, a limit stays exceeded
        with pytest.raises(LimitExceededError, match="more than 3 records") as raised:
            count(counts, 1)
        assert raised.value.extensions == {"code": "LIMIT_EXCEEDED", "limit": "records", "max": 3}


def test_reading_and_returning_are_counted_apart() -> None:
    counts = Budget()
    counts.count_read(MAX_RECORDS_PER_REQUEST)
    counts.count_cost(MAX_RECORDS_PER_REQUEST)


def test_a_drawing_counts_each_time_it_is_written() -> None:
    counts = Budget(max_bytes=100)
    counts.count_bytes(50)
    counts.count_bytes(50)
    counts.check_least(counts.drawing_bytes)
    counts.count_bytes(50)
    with pytest.raises(LimitExceededError, match="at least 150 bytes, over the limit of 100"):
        counts.check_least(counts.drawing_bytes)


def test_drawings_are_checked_before_they_are_read() -> None:
    counts = Budget(max_bytes=100)
    counts.check_least(100)
    assert counts.drawing_bytes == 0
    with pytest.raises(LimitExceededError) as raised:
        counts.check_least(101)
    assert raised.value.extensions == {
        "code": "LIMIT_EXCEEDED",
        "limit": "response_bytes",
        "max": 100,
        "requested": 101,
    }


def test_a_response_may_be_as_large_as_the_limit() -> None:
    counts = Budget(max_bytes=100)
    counts.check_response(100)
    with pytest.raises(LimitExceededError, match="have 101 bytes"):
        counts.check_response(101)


def test_without_a_limit_a_response_may_have_any_size() -> None:
    counts = Budget()
    counts.check_least(10**12)
    counts.check_response(10**12)


def test_a_read_is_late_if_its_time_has_passed_before_it_begins() -> None:
    """uvloop, the event loop of workers, calls a timer of the past at once."""

    async def read() -> None:
        given = {"budget": Budget(), "end_loads": lambda: None}
        waited: Any = SimpleNamespace(waited_seconds=2.0, **given)
        await limit_read(asyncio.sleep(600), waited, 1.0)

    with (
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        pytest.raises(DeadlineExceededError),
    ):
        runner.run(read())
