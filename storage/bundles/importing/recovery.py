"""Holding the import lease, and finishing imports that were killed."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import get_args

from storage.administration.import_lease import ImportLease, ImportState
from storage.bundles.importing.import_run import (
    ImportProgress,
    ImportProgressCallback,
    ImportRun,
    ignore_progress,
)
from storage.bundles.importing.switching import switch_collections
from storage.errors import ImportRunningError
from storage.mongo import driver

DEFAULT_WAIT_SECONDS = 600.0

_logger = logging.getLogger("floorgate.imports")


@asynccontextmanager
async def hold_import_lease(
    database: driver.Database,
    wait_seconds: float = DEFAULT_WAIT_SECONDS,
    progress: ImportProgressCallback = ignore_progress,
) -> AsyncIterator[ImportLease]:
    """Hold the exclusive right to write the catalog; first finish an interrupted import.

    Raises ImportRunningError after `wait_seconds`.
    """
    lease = ImportLease(database)
    waiting = ImportProgress("waiting", 0, None)
    if not await lease.acquire(wait_seconds, lambda: progress(waiting)):
        raise ImportRunningError(
            f"another import is running and did not end within {wait_seconds:.0f} seconds"
        )
    async with lease.keep_alive():
        await _finish_previous_import(database, lease, progress)
        yield lease


async def finish_interrupted_import(database: driver.Database) -> bool:
    """Finish an interrupted import, or discard it if it was not yet applying.

    Returns False while another process holds the lease: it imports, or died so recently that its
    lease has not expired; retry later. Without an import, this is one small read.
    Raises UnavailableError.
    """
    with driver.translate_errors():
        lease = ImportLease(database)
        if await lease.is_idle():
            return True
        if not await lease.try_acquire():
            return False
        async with lease.keep_alive():
            await _finish_previous_import(database, lease, ignore_progress)
        return True


async def _finish_previous_import(
    database: driver.Database, lease: ImportLease, progress: ImportProgressCallback
) -> None:
    if lease.state == "idle":
        return
    if lease.state not in get_args(ImportState):
        raise ImportRunningError(
            f"a newer release was interrupted while {lease.state}: let one of its gateways finish"
        )
    _logger.warning("finishing an import that was interrupted: it was %s", lease.state)
    run = ImportRun(database, lease, progress)
    if lease.state in ("applying", "merging", "removing"):
        await run.apply(None)
    elif lease.state == "restoring":
        await switch_collections(database, lease, progress)
    await run.clean_up()
