"""Run work on the database, for commands that end with it, and find what operators name.

Imports little, and the driver of MongoDB only once a database is opened: a command that shows its
help or refuses its options must not take a second to start.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from typing import TYPE_CHECKING, TypeVar

from gateway.settings import Settings
from storage import errors
from storage.records.visibility import ALL_ASSETS

if TYPE_CHECKING:
    from storage.mongo import driver

T = TypeVar("T")

_REFUSALS = {errors.UnavailableCause.DISK_FULL, errors.UnavailableCause.DATABASE_REFUSED}
PRIMARY_PATIENCE_SECONDS = 30.0
"""An election takes some 12 seconds; the timeout of one operation may be far longer than this."""


def run_with_database(
    settings: Settings,
    work: Callable[[driver.Database], Awaitable[T]],
    timeout_seconds: float = 30.0,
    needs: str | None = None,
    *,
    writes: bool = False,
) -> T:
    """Open the database, run `work` on it, and return its result. Raises StorageError.

    If MongoDB is lost while work that `writes` runs, this is OutcomeUnknownError.

    `needs` names a module that the work imports, and that takes long to import: this is done while
    MongoDB starts. If the embedded MongoDB dies and cannot be restarted, the work is cancelled.
    """
    if needs is not None:
        threading.Thread(target=_import_early, args=(needs,)).start()
    import asyncio

    from storage.mongo import driver
    from storage.mongo.unavailable import explain_loss
    from storage.setup.database import open_database

    async def run() -> T:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        failures: list[errors.StorageError] = []
        clients: list[driver.Client] = []

        async def end() -> None:
            for client in clients:
                await driver.close(client)  # else what cleans up would wait for MongoDB
            task.cancel()

        def fail(error: errors.StorageError) -> None:
            failures.append(error)
            with suppress(RuntimeError):  # the command has ended in this instant
                loop.call_soon_threadsafe(lambda: endings.append(loop.create_task(end())))

        async def watch(client: driver.Client) -> None:
            await driver.wait_for_loss(client, PRIMARY_PATIENCE_SECONDS)
            seconds = round(PRIMARY_PATIENCE_SECONDS)
            message = f"MongoDB has had no primary for {seconds} seconds"
            fail(errors.UnavailableError(message, errors.UnavailableCause.NO_PRIMARY))

        endings: list[asyncio.Task[None]] = []
        try:
            async with open_database(
                settings.command_connection, timeout_seconds, on_server_failure=fail
            ) as client:
                clients.append(client)
                if settings.mongo_url is not None:  # who supervises the embedded one says more
                    endings.append(loop.create_task(watch(client)))
                try:
                    return await work(client[settings.database])
                except errors.UnavailableError as error:
                    if error.cause in _REFUSALS:
                        raise
                    if not writes:
                        if type(error) is errors.UnavailableError:  # others say what to do
                            error.add_note(_suggest(settings))
                        raise
                    raise _unknown_outcome(explain_loss(client, error), error) from error
        except BaseException as error:
            if failures:
                failure = failures[0]
                if writes and clients:
                    failure = _unknown_outcome(failure, error)
                raise failure from error
            raise

    return asyncio.run(run())


def _suggest(settings: Settings) -> str:
    if settings.mongo_url is not None:
        return "is it running, and is --mongo-url right?"
    return f"it is the embedded one, whose log is {settings.data_dir / 'mongod' / 'mongod.log'}"


def _unknown_outcome(reason: object, error: BaseException) -> errors.OutcomeUnknownError:
    sentence = str(reason).rstrip(".")
    if not any(errors.iter_notes(error)):  # such as that an import is committed
        sentence += (
            "; the change may or may not have been made: look with floorgate audit before you"
            " repeat it"
        )
    return errors.OutcomeUnknownError(sentence)


def _import_early(module: str) -> None:
    with suppress(Exception):  # the work imports it again, and raises
        importlib.import_module(module)


MAX_COMPARED_ASSETS = 10_000


async def find_missing_assets(
    database: driver.Database, asset_ids: Sequence[str]
) -> dict[str, str]:
    """Return the assets that do not exist, each with the ids that it may have meant as the end of a
    sentence: empty, or `; did you mean 'larkspur'?`."""
    from storage.catalog import ASSETS
    from storage.store import Store

    store = Store(database.client, database.name)
    where = {"_id": {"$in": [*asset_ids]}}
    known = await store.list_ids(ASSETS, ALL_ASSETS, where, len(asset_ids))
    missing = [asset for asset in asset_ids if asset not in known]
    ids = await store.list_ids(ASSETS, ALL_ASSETS, {}, MAX_COMPARED_ASSETS) if missing else []
    similar = {asset: " or ".join(map(repr, get_close_matches(asset, ids))) for asset in missing}
    return {asset: f"; did you mean {each}?" if each else "" for asset, each in similar.items()}
