"""Opening the database: the embedded MongoDB or another, prepared for this release."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext

from storage.embedded import embedded_mongo
from storage.errors import DiskFullError, EmbeddedServerError, MongoUnusableError, UnavailableError
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
    on_server_failure: Callable[[EmbeddedServerError], None] = embedded_mongo.log_failure,
    observe: driver.Observe | None = None,
) -> AsyncIterator[driver.Client]:
    """Connect to MongoDB, starting the embedded one if need be, and prepare the database.

    While it is open, transactions that other processes have left open are ended. Raises
    EmbeddedServerError, MongoUnusableError and MigrationRunningError.
    """
    async with (
        connect_to_database(settings, timeout_seconds, clock, on_server_failure, observe) as client,
        run_in_background(end_abandoned_transactions(client)),
    ):
        await _prepare(client[settings.database])
        yield client


@asynccontextmanager
async def connect_to_database(
    settings: ConnectionSettings,
    timeout_seconds: float,
    clock: driver.ClusterClock | None = None,
    on_server_failure: Callable[[EmbeddedServerError], None] = embedded_mongo.log_failure,
    observe: driver.Observe | None = None,
) -> AsyncIterator[driver.Client]:
    """Connect to MongoDB, starting the embedded one if need be.

    An embedded MongoDB that dies is restarted. Each time that this fails, as on a full disk,
    `on_server_failure` is called in another thread.

    Reads follow `clock`, if other processes share it; `observe` is told of each command. Raises
    EmbeddedServerError and MongoUnusableError.
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
            await check_requirements(client, PING_TIMEOUT_SECONDS)
            yield client
        finally:
            await driver.close(client)


async def _prepare(database: driver.Database) -> None:
    with explain_refusals(database.name):
        try:
            await preparation.prepare_database(database)
        except DiskFullError:
            raise
        except UnavailableError as error:
            raise MongoUnusableError(
                "MongoDB has a primary, but does not complete writes: a majority of its members"
                " must run and have room on their disks"
            ) from error
