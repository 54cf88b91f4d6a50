"""Opening the database: the embedded MongoDB or another, prepared for this release."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from itertools import count

from storage.embedded import embedded_mongo, mongod_supervisor
from storage.errors import (
    EmbeddedServerError,
    MongoUnusableError,
    UnavailableCause,
    UnavailableError,
)
from storage.mongo import driver
from storage.mongo.connection import ConnectionSettings
from storage.mongo.tasks import run_in_background
from storage.mongo.topology import end_abandoned_transactions
from storage.mongo.unavailable import check_requirements, explain_refusals
from storage.setup import preparation

PING_TIMEOUT_SECONDS = 3.0
"""Limit for the first reply; `timeout_seconds` then applies to each operation."""


@asynccontextmanager
async def open_database(
    settings: ConnectionSettings,
    timeout_seconds: float = 3.0,
    clock: driver.ClusterClock | None = None,
    *,
    changes_nothing: bool = False,
    on_server_failure: Callable[[EmbeddedServerError], None] = embedded_mongo.log_failure,
    observe: driver.Observe = lambda _: None,
) -> AsyncIterator[driver.Client]:
    """Connect to MongoDB, starting the embedded one if need be.

    Unless it `changes_nothing`, the database is prepared and, while it is open, transactions that
    other processes have left open are ended. An embedded MongoDB that dies is restarted. Each time
    that this fails, as on a full disk, `on_server_failure` is called in another thread.

    Reads follow `clock`, if other processes share it; `observe` is told of each command. Raises
    EmbeddedServerError, MongoUnusableError and MigrationRunningError.
    """
    server = (
        nullcontext(settings.mongo_url)
        if settings.mongo_url
        else embedded_mongo.run_embedded_mongo(settings.data_dir, on_server_failure)
    )
    with server as url:
        with explain_refusals():
            client = driver.connect(url, settings.driver, timeout_seconds, clock, observe)
        try:
            await _insist(settings, partial(check_requirements, client, PING_TIMEOUT_SECONDS))
            if changes_nothing:
                yield client
                return
            async with run_in_background(end_abandoned_transactions(client)):
                await _insist(settings, partial(_prepare, client[settings.database]))
                yield client
        finally:
            await driver.close(client)


async def _insist(settings: ConnectionSettings, work: Callable[[], Awaitable[object]]) -> None:
    """Do the first work on a MongoDB; again if it is the embedded one, which a machine under load
    may leave no time to answer. It runs: else it would be started again, or that would fail.
    """
    home = settings.data_dir.resolve() / "mongod"
    deadline = time.monotonic() + embedded_mongo.PATIENCE_SECONDS
    for attempt in count():
        try:
            await work()
            return
        except MongoUnusableError as error:
            if settings.mongo_url:
                raise
            if time.monotonic() > deadline:
                raise MongoUnusableError(
                    f"The embedded MongoDB in {home} runs, and did not answer for"
                    f" {embedded_mongo.PATIENCE_SECONDS} seconds; its log is"
                    f" {home / mongod_supervisor.LOG_NAME}"
                ) from error
            if not attempt:
                embedded_mongo.log_slowness(home, "answer")


async def _prepare(database: driver.Database) -> None:
    with explain_refusals(database.name):
        try:
            await preparation.prepare_database(database)
        except UnavailableError as error:
            if error.cause in (UnavailableCause.DISK_FULL, UnavailableCause.DATABASE_REFUSED):
                raise
            raise MongoUnusableError(
                "MongoDB has a primary, but does not complete writes: a majority of its members"
                " must run and have room on their disks"
            ) from error
