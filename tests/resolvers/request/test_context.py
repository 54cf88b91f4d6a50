"""The context reads what the caller may see, and logs what it reads."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from resolvers.networks.routable_map_cache import RoutableMapCache
from resolvers.request.arguments import PageArguments
from resolvers.request.caller import Caller
from resolvers.request.context import Context
from resolvers.request.map_loads import load_routable_map
from storage.assets import ASSETS
from storage.cache.change_feed import ChangeFeed
from storage.cache.record_cache import RecordCache
from storage.floors import FLOORS
from storage.maps import MAPS
from storage.mongo import driver
from storage.mongo.recorded_database import CommandLog
from storage.records.visibility import ALL_ASSETS, AssetScope
from storage.setup import preparation
from storage.store import Store

pytestmark = pytest.mark.anyio

STAMPS = {"created_at": "2026-01-01T00:00:00+00:00", "updated_at": "2026-01-01T00:00:00+00:00"}


@pytest.fixture
async def database(mongo_url: str, database_name: str) -> AsyncIterator[Any]:
    client = driver.connect(mongo_url)
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


async def test_the_log_is_incomplete_only_after_it_was_bypassed(context: Context) -> None:
    assert context.reads.is_complete
    context.bypass_caches()
    assert not context.reads.is_complete


async def test_the_log_is_incomplete_where_an_archive_is_missing(
    context: Context, database: Any
) -> None:
    async def read_nothing(_: str) -> None:
        return None

    routing = {"network": "0" * 64, "network_state": {"source": None, "feet_per_unit": None}}
    await database["maps"].insert_one(
        {"_id": "m", "asset_id": "oak", "name": "M", **routing, **STAMPS},
        bypass_document_validation=True,
    )
    routers = RoutableMapCache(read_nothing)
    context = Context(context.caller, context._store, routable_map_cache=routers)
    assert await load_routable_map(context, "none") is None
    assert context.reads.is_complete
    assert await load_routable_map(context, "m") is None
    assert not context.reads.is_complete


@pytest.mark.parametrize("reads_networks", [False, True])
async def test_a_query_that_routes_reads_a_map_and_its_network_with_one_command(
    context: Context, database: Any, reads_networks: bool
) -> None:
    digests = []

    async def read_nothing(digest: str) -> None:
        digests.append(digest)

    routable = {"network": "0" * 64, "network_state": {"source": None, "feet_per_unit": None}}
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
    context = Context(context.caller, context._store, routable_map_cache=routers)
    context = context.recording(log, None)
    if reads_networks:
        context = context.with_networks()
    for map_id, name in {"m": "M", "stale": "S", "hidden": None}.items():
        found = await context.get_record(MAPS, map_id)
        assert (found and found.name) == name
        assert await load_routable_map(context, map_id) is None
    assert digests == ["0" * 64]
    assert len(log.commands) == (4 if reads_networks else 6)


async def test_a_context_cannot_be_changed(context: Context) -> None:
    with pytest.raises(AttributeError):
        context.record_cache = None  # type: ignore[misc]


async def test_a_mutation_reads_past_the_record_cache_and_shares_the_log(database: Any) -> None:
    caller, store = Caller("key", ALL_ASSETS), Store(database.client, database.name)
    cached = Context(caller, store, record_cache=RecordCache(ChangeFeed(database)))
    mutation = cached.without_record_cache()
    assert mutation.record_cache is None
    assert cached.record_cache is not None
    mutation.bypass_caches()
    assert not cached.reads.is_complete
