"""What lives as long as the application runs: connections, change feed and caches."""

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from gateway.cache.fast_path import FastPath
from gateway.cache.response_cache import ResponseCache
from gateway.errors import StartError
from gateway.middleware.cors import VARY_ORIGIN_LINE
from gateway.rate_limit import RateLimiter
from gateway.settings import BYTES_PER_MB, Settings
from resolvers.networks.routable_map_cache import RoutableMapCache
from storage.bundles.importing.recovery import finish_interrupted_import
from storage.cache.api_key_cache import ApiKeyCache
from storage.cache.bookmarks import PageBookmarks
from storage.cache.change_feed import ChangeFeed
from storage.cache.record_cache import RecordCache
from storage.cache.write_counter import WriteCounter
from storage.errors import StorageError, UnavailableError
from storage.mongo import driver, files
from storage.mongo.connection import ConnectionSettings
from storage.mongo.tasks import run_in_background
from storage.setup.database import open_database
from storage.store import Store

IMPORT_RETRY_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class GatewayState:
    """What the requests of a running application share."""

    store: Store
    key_cache: ApiKeyCache
    routable_map_cache: RoutableMapCache
    change_feed: ChangeFeed
    response_cache: ResponseCache
    fast_path: FastPath
    record_cache: RecordCache | None
    """None if caching is off."""


@asynccontextmanager
async def open_state(
    settings: Settings, write_counter: WriteCounter, rate_limiter: RateLimiter
) -> AsyncIterator[GatewayState]:
    """Connect to MongoDB and follow its changes until the application stops.

    Raises StartError if MongoDB cannot be used.
    """
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(_open_database(settings.connection))
        change_feed = ChangeFeed(client[settings.database], write_counter)
        bookmarks = PageBookmarks(change_feed) if settings.cache_mb else None
        store = Store(client, settings.database, bookmarks)
        await stack.enter_async_context(change_feed.run())
        key_cache = await stack.enter_async_context(ApiKeyCache(store.database, change_feed).run())
        response_cache = ResponseCache(change_feed, settings.cache_mb * BYTES_PER_MB)
        await stack.enter_async_context(response_cache.run_reporting())
        extra_headers = VARY_ORIGIN_LINE if settings.allowed_origins else b""
        await stack.enter_async_context(run_in_background(_finish_interrupted_imports(store)))
        yield GatewayState(
            store,
            key_cache,
            RoutableMapCache(functools.partial(files.read_file, store.database)),
            change_feed,
            response_cache,
            FastPath(response_cache, key_cache, rate_limiter, extra_headers),
            RecordCache(change_feed) if settings.cache_mb else None,
        )


@asynccontextmanager
async def _open_database(connection: ConnectionSettings) -> AsyncIterator[driver.Client]:
    async with AsyncExitStack() as stack:
        try:
            client = await stack.enter_async_context(open_database(connection))
        except UnavailableError as error:
            raise StartError(f"{error}: is it running, and is --mongo-url right?") from error
        except StorageError as error:
            raise StartError(str(error)) from error
        yield client


async def _finish_interrupted_imports(store: Store) -> None:
    # The lease of a killed import expires only after a while: until then it may just be slow.
    finished = False
    while not finished:
        with contextlib.suppress(StorageError):
            finished = await finish_interrupted_import(store.database)
        if not finished:
            await asyncio.sleep(IMPORT_RETRY_SECONDS)
