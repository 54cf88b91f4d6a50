"""Run GraphQL operations and other work on the database as the operator, with all permissions."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

import click

from gateway.settings import Settings
from resolvers.request.caller import FLAGS, PERMISSIONS, Caller
from resolvers.request.context import Context
from schema.execution import Executor
from schema.root import GRAPHQL_SCHEMA
from storage.errors import EmbeddedServerError
from storage.mongo import driver
from storage.records.visibility import ALL_ASSETS
from storage.setup.database import open_database
from storage.store import Store

T = TypeVar("T")

TIMEOUT_SECONDS = 3.0
"""Of each command to MongoDB, in an operation."""

OPERATOR = Caller("operator", ALL_ASSETS, frozenset(PERMISSIONS), frozenset(FLAGS))


def run_with_database(
    settings: Settings,
    work: Callable[[driver.Database], Awaitable[T]],
    timeout_seconds: float = 30.0,
) -> T:
    """Open the database, run `work` on it, and return its result. Raises StorageError.

    If the embedded MongoDB dies and cannot be restarted, the work is cancelled.
    """

    async def run() -> T:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        failures: list[EmbeddedServerError] = []
        clients: list[driver.Client] = []

        async def end() -> None:
            for client in clients:
                await driver.close(client)  # else what cleans up would wait for MongoDB
            task.cancel()

        def fail(error: EmbeddedServerError) -> None:
            failures.append(error)
            with suppress(RuntimeError):  # the command has ended in this instant
                loop.call_soon_threadsafe(lambda: endings.append(loop.create_task(end())))

        endings: list[asyncio.Task[None]] = []
        try:
            async with open_database(
                settings.connection, timeout_seconds, on_server_failure=fail
            ) as client:
                clients.append(client)
                return await work(client[settings.database])
        except BaseException as error:
            if failures:
                raise failures[0] from error
            raise

    return asyncio.run(run())


def run_document(settings: Settings, document: str, variables: dict[str, Any]) -> dict[str, Any]:
    """Run an operation and return its data. Raises ClickException with its first error."""
    return run_with_database(
        settings, lambda database: execute(database, document, variables), TIMEOUT_SECONDS
    )


async def execute(
    database: driver.Database, document: str, variables: dict[str, Any]
) -> dict[str, Any]:
    """Run an operation and return its data. Raises ClickException with its first error."""
    executor = Executor(GRAPHQL_SCHEMA)
    context = Context(OPERATOR, Store(database.client, database.name))
    result = await executor.run(executor.prepare(document), variables, context)
    if result.errors or result.data is None:
        raise click.ClickException(result.errors[0].message)
    return result.data
