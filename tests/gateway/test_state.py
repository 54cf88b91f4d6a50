"""What an application shares is opened in order, closed with nothing left, or not opened at all."""

import asyncio
import logging
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from gateway import state
from gateway.app import Gateway
from gateway.errors import StartError
from gateway.settings import Settings
from gateway.state import GatewayState, open_state
from storage.administration.import_lease import STAGING_PREFIX, ImportLease
from storage.cache.change_feed import is_unchanged_since
from storage.cache.read_set import whole
from storage.catalog import RECORD_TYPES, UNITS
from storage.mongo.shared_memory import WriteCounter
from storage.records.visibility import ALL_ASSETS
from tests.drivers import EACH_DRIVER
from tests.gateway.log_lines import capture_log_lines
from tests.waiting import TIMEOUT_SECONDS

pytestmark = pytest.mark.anyio


@pytest.fixture(params=EACH_DRIVER)
def settings(mongo_url: str, database_name: str, request: pytest.FixtureRequest) -> Settings:
    return Settings(mongo_url=mongo_url, database=database_name, mongo_driver=request.param)


def open_gateway_state(settings: Settings, counter: WriteCounter | None = None) -> Any:
    """The context in which the state exists."""
    return open_state(
        settings, counter or WriteCounter.for_single_process(), Gateway(settings).rate_limiter
    )


def list_change_feeds() -> set[threading.Thread]:
    """Return the threads that follow a database, also those of other tests' gateways."""
    return {thread for thread in threading.enumerate() if thread.name == "change-feed"}


async def wait_until_ended(others: set[threading.Thread]) -> None:
    """Wait until no thread follows a database but these."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while list_change_feeds() - others:
            await asyncio.sleep(0.01)


async def wait_until_followed(opened: GatewayState) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while opened.change_feed.take_snapshot() is None:
            await asyncio.sleep(0.01)


async def test_the_database_is_prepared_and_followed_while_it_is_open(settings: Settings) -> None:
    async with open_gateway_state(settings) as opened:
        collections = await opened.store.database.list_collection_names()
        assert {kind.name for kind in RECORD_TYPES} <= {*collections}
        assert await opened.store.find_record(UNITS, ALL_ASSETS, {"_id": "none"}) is None
        await wait_until_followed(opened)
    assert opened.change_feed.take_snapshot() is None


@pytest.mark.parametrize("fails", [True, False])
async def test_no_task_is_left_and_no_error_logged_however_it_closes(
    settings: Settings, fails: bool
) -> None:
    """The change stream ends before its connection does, else it would log an error."""
    before, threads = asyncio.all_tasks(), list_change_feeds()
    with capture_log_lines(logging.getLogger("floorgate"), logging.WARNING) as lines:
        try:
            async with open_gateway_state(settings) as opened:
                await wait_until_followed(opened)
                assert len(asyncio.all_tasks() - before) >= 2  # key uses, report
                if fails:
                    raise LookupError
        except LookupError:
            assert fails
    assert not asyncio.all_tasks() - before
    await wait_until_ended(threads)
    assert lines.texts == []


async def test_the_writes_of_other_processes_are_seen_through_the_shared_counter(
    settings: Settings,
) -> None:
    memory = bytearray(64)
    ours, theirs = WriteCounter(memory, 0), WriteCounter(memory, 1)
    async with open_gateway_state(settings, ours) as opened:
        await wait_until_followed(opened)
        before = opened.change_feed.take_snapshot()
        theirs.increment()
        after = opened.change_feed.take_snapshot()
        assert before is not None and after is not None
        assert not is_unchanged_since(before, after, whole("units"))


@pytest.mark.parametrize("cache_mb", [0, 1])
async def test_records_are_cached_unless_caching_is_off(settings: Settings, cache_mb: int) -> None:
    async with open_gateway_state(replace(settings, cache_mb=cache_mb)) as opened:
        assert (opened.record_cache is None) == (cache_mb == 0)


async def test_a_mongodb_that_does_not_answer_is_explained_with_its_setting() -> None:
    before, threads = asyncio.all_tasks(), list_change_feeds()
    settings = Settings(mongo_url="mongodb://127.0.0.1:1/")
    sentence = "^MongoDB cannot be reached: is it running, and is --mongo-url right\\?"
    with pytest.raises(StartError, match=sentence):
        async with open_gateway_state(settings):
            pytest.fail("it does not open")
    assert not asyncio.all_tasks() - before
    await wait_until_ended(threads)


async def test_a_data_directory_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(StartError, match=f"^{file}.*: Not a directory; the data directory must"):
        async with open_gateway_state(Settings(data_dir=file)):
            pytest.fail("it does not open")


async def test_a_running_gateway_cleans_up_after_an_import_once_its_lease_is_free(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While another process holds the lease, the import may just be slow."""
    monkeypatch.setattr(state, "IMPORT_POLL_SECONDS", 0.01)
    async with open_gateway_state(settings) as opened:
        await wait_until_followed(opened)
        database = opened.store.database
        for _ in range(2):  # the gateway goes on watching after the first
            dead = ImportLease(database)
            assert await dead.acquire(TIMEOUT_SECONDS)
            await dead.begin_staging()
            staged = f"{STAGING_PREFIX}{dead.import_id}.units"
            await database[staged].insert_one({"_id": 0})
            await asyncio.sleep(0.1)
            assert staged in await database.list_collection_names()
            await dead.release()
            async with asyncio.timeout(TIMEOUT_SECONDS):
                while staged in await database.list_collection_names():
                    await asyncio.sleep(0.01)


@pytest.mark.parametrize(("days", "kept"), [(2, ["day"]), (0, ["month", "day"])])
async def test_audit_records_are_deleted_after_some_days(
    settings: Settings, days: int, kept: list[str]
) -> None:
    async with open_gateway_state(settings) as opened:
        database = opened.store.database
        for name, age in (("month", 30), ("day", 1)):
            time = datetime.now(UTC) - timedelta(days=age)
            milliseconds = round(time.timestamp() * 1000)
            await database["audit_log"].insert_one(
                {"_id": f"aud_{milliseconds:012x}", "name": name}
            )
    async with open_gateway_state(replace(settings, audit_days=days)) as opened:
        database = opened.store.database
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while await database["audit_log"].count_documents({}) > len(kept):
                await asyncio.sleep(0.01)
        left = await database["audit_log"].find(sort=[("_id", 1)]).to_list(None)
        assert [record["name"] for record in left] == kept
