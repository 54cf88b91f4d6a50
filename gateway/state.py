"""What lives as long as the application runs: connections, change feed and caches."""

import asyncio
import contextlib
import functools
import logging
import os
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from gateway import metrics
from gateway.cors import CorsPolicy
from gateway.errors import StartError
from gateway.metrics import Snapshot
from gateway.rate_limits import RateLimiter
from gateway.response_cache import FastPath, ResponseCache
from gateway.settings import BYTES_PER_MB, Settings
from resolvers.processing.process_pool import ProcessPool
from resolvers.routable_maps import RoutableMapCache
from storage.administration.audit import delete_audit_records
from storage.administration.import_lease import check_writable
from storage.cache.api_key_cache import ApiKeyCache
from storage.cache.bookmarks import PageBookmarks
from storage.cache.cache import NAMED
from storage.cache.change_feed import ChangeFeed
from storage.cache.record_cache import RecordCache, SavedEndpointCache, TrustedDocumentCache
from storage.changes.hub import ChangeHub
from storage.errors import StorageError, UnavailableCause, UnavailableError
from storage.importing.import_bundles import finish_interrupted_import
from storage.mongo import driver, files, topology
from storage.mongo.driver import PyMongoError
from storage.mongo.shared_memory import WriteCounter
from storage.mongo.tasks import run_in_background
from storage.setup.database import open_database
from storage.setup.preparation import prepare_database
from storage.store import Store

PREPARATION_SECONDS = 60.0
IMPORT_POLL_SECONDS = 1.0
MAX_IMPORT_PAUSE_SECONDS = 60.0
AUDIT_DELETION_SECONDS = 86_400.0

_imports_logger = logging.getLogger("floorgate.imports")
_preparation_logger = logging.getLogger("floorgate.preparation")
_logger = logging.getLogger("floorgate.audit")


@dataclass(frozen=True, slots=True)
class GatewayState:
    """What the requests of a running application share."""

    store: Store
    key_cache: ApiKeyCache
    routable_map_cache: RoutableMapCache
    change_feed: ChangeFeed
    change_hub: ChangeHub
    response_cache: ResponseCache
    fast_path: FastPath
    drawing_pool: ProcessPool
    processing_pool: ProcessPool
    trusted_documents: TrustedDocumentCache
    saved_endpoints: SavedEndpointCache
    record_cache: RecordCache | None
    """None if caching is off."""
    repairs: Mapping[str, int]
    """The number of repairs of the database by their outcome, `created` or `failed`."""

    def read_metrics(self) -> Snapshot:
        """Return what is known of caches, MongoDB and processes, from any thread."""
        client, stream = self.store.database.client, self.change_feed.thread
        in_use, idle = driver.count_connections(client)
        pools = {"drawings": self.drawing_pool.state, "maps": self.processing_pool.state}
        snapshot: Snapshot = {
            "mongodb_connections": {("in_use",): in_use, ("idle",): idle},
            "mongodb_retries_total": by_label(topology.of(client).retries),
            "change_stream_interruptions_total": by_label(stream.interruptions if stream else {}),
            "database_repairs_total": by_label(self.repairs),
            "processes": {
                (name, state): count
                for name, pool in pools.items()
                for state, count in (("busy", pool.busy), ("idle", pool.idle))
            },
            "drawings_waiting": {(name,): pool.waiting for name, pool in pools.items()},
        }
        if (lag_seconds := self.change_feed.get_lag_seconds()) is not None:
            snapshot["change_stream_lag_seconds"] = {(): lag_seconds}
        for name, cache in {**NAMED}.items():
            *counts, entries, size_bytes = cache.counters
            for kind, n in zip(
                ("hits", "misses", "invalidations", "evictions"), counts, strict=True
            ):
                snapshot.setdefault(f"cache_{kind}_total", {})[name,] = n
            snapshot.setdefault("cache_entries", {})[name,] = entries
            if cache.is_weighed:
                snapshot.setdefault("cache_bytes", {})[name,] = size_bytes
        children = [pid for pool in pools.values() for pid in pool.pids]
        return snapshot | metrics.counters.measure_processes(children)


@asynccontextmanager
async def open_state(
    settings: Settings, write_counter: WriteCounter, rate_limiter: RateLimiter, cors: CorsPolicy
) -> AsyncIterator[GatewayState]:
    """Connect to MongoDB and follow its changes until the application stops.

    Raises StartError if MongoDB cannot be used.
    """
    async with AsyncExitStack() as stack:
        try:
            client = await stack.enter_async_context(
                open_database(
                    settings.connection,
                    clock=write_counter.clock,
                    observe=metrics.counters.count_command,
                )
            )
        except StorageError as error:
            raise StartError(str(error)) from error
        await stack.enter_async_context(driver.open_read_connections(client))
        change_feed = ChangeFeed(client[settings.database], write_counter)
        bookmarks = PageBookmarks(change_feed) if settings.cache_mb else None
        store = Store(client, settings.database, bookmarks)
        await stack.enter_async_context(change_feed.run())
        change_hub = await stack.enter_async_context(ChangeHub(store.database).run())
        key_cache = await stack.enter_async_context(ApiKeyCache(store.database, change_feed).run())
        response_cache = ResponseCache(change_feed, settings.cache_mb * BYTES_PER_MB)
        drawing_pool = await stack.enter_async_context(_create_pool(settings.workers))
        processing_pool = await stack.enter_async_context(_create_pool(settings.workers, 1))
        await stack.enter_async_context(run_in_background(_finish_interrupted_imports(store)))
        repairs = {"created": 0, "failed": 0}
        await stack.enter_async_context(
            run_in_background(_repair_each_minute(store.database, repairs))
        )
        if settings.audit_days:
            deletion = _delete_old_audit_records(store, settings.audit_days)
            await stack.enter_async_context(run_in_background(deletion))
        yield GatewayState(
            store,
            key_cache,
            RoutableMapCache(functools.partial(files.read_file, store.database)),
            change_feed,
            change_hub,
            response_cache,
            FastPath(response_cache, key_cache, rate_limiter, cors),
            drawing_pool,
            processing_pool,
            TrustedDocumentCache(store.database, change_feed),
            SavedEndpointCache(store.database, change_feed),
            RecordCache(change_feed) if settings.cache_mb else None,
            repairs,
        )


def by_label(counts: Mapping[str, int]) -> metrics.Values:
    """Return a metric with one label, of counts that other threads may change."""
    return {(label,): count for label, count in {**counts}.items()}


def _create_pool(workers: int, max_of_key: int | None = None) -> ProcessPool:
    """Create a worker's share of one process per core, and one more for a second API key."""
    return ProcessPool(max(1, (os.cpu_count() or 1) // workers) + 1, max_of_key)


async def _finish_interrupted_imports(store: Store) -> None:
    """Watch for imports whose process has died, for as long as the gateway runs."""
    pause = IMPORT_POLL_SECONDS
    while True:
        try:
            await finish_interrupted_import(store.database)
            pause = IMPORT_POLL_SECONDS
        except UnavailableError:
            pass  # requests say so
        except Exception:
            _imports_logger.exception("An interrupted import cannot be finished")
            pause = min(2 * pause, MAX_IMPORT_PAUSE_SECONDS)  # leave the lease to operators
        await asyncio.sleep(pause)


async def _repair_each_minute(database: driver.Database, repairs: dict[str, int]) -> None:
    while True:
        # At random: workers that have started together do not look together.
        await asyncio.sleep(random.uniform(0.5, 1) * PREPARATION_SECONDS)  # noqa: S311
        await repair_database(database, repairs)


async def repair_database(database: driver.Database, repairs: dict[str, int]) -> None:
    """Create what the database lacks, as a start does; log it as an error, and count it."""

    def report(collection: str, lacked: str) -> None:
        repairs["created"] += 1
        fields = {"collection": collection, "lacked": lacked}
        _preparation_logger.error("created what a collection had lost", extra={"fields": fields})

    try:
        with driver.translate_errors():
            await check_writable(database)  # a restore replaces collections
            await prepare_database(database, report)
    except (StorageError, PyMongoError) as error:
        refused = UnavailableCause.DATABASE_REFUSED  # perhaps only of what prepares
        # Of an outage, requests tell.
        if not isinstance(error, UnavailableError) or error.cause is refused:
            repairs["failed"] += 1
            fields = {"reason": str(error)}
            _preparation_logger.error("cannot prepare the database", extra={"fields": fields})


async def _delete_old_audit_records(store: Store, days: int) -> None:
    while True:
        with contextlib.suppress(StorageError, PyMongoError):
            before = datetime.now(UTC) - timedelta(days=days)
            if deleted := await delete_audit_records(store.database, before):
                _logger.info("%d records older than %d days were deleted", deleted, days)
        await asyncio.sleep(AUDIT_DELETION_SECONDS)
