"""Reading a catalog of which nothing is half imported."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from storage.administration.import_lease import LEASE_COLLECTION, LEASE_ID
from storage.bundles.importing.import_run import (
    ImportProgress,
    ImportProgressCallback,
    ignore_progress,
)
from storage.bundles.importing.recovery import DEFAULT_WAIT_SECONDS, finish_interrupted_import
from storage.errors import ImportRunningError
from storage.mongo import driver, raw_documents
from storage.setup.preparation import MIGRATIONS_COLLECTION, STATE_ID

POLL_SECONDS = 0.25
CHANGING_STATES = ("applying", "merging", "removing", "restoring")
"""States of the import lease in which the catalog is neither the old nor the new one."""


@asynccontextmanager
async def open_settled_snapshot(
    database: driver.Database,
    wait_seconds: float = DEFAULT_WAIT_SECONDS,
    progress: ImportProgressCallback = ignore_progress,
) -> AsyncIterator[driver.Session]:
    """Open a session that reads a snapshot in which no import is half applied.

    Waits for an import that is being applied, and finishes one that was killed. Raises
    ImportRunningError, UnavailableError.
    """
    waited = 0.0
    while waited <= wait_seconds:
        async with driver.open_snapshot_session(database.client) as session:
            if await _is_settled(database, session):
                yield session
                return
        progress(ImportProgress("waiting", 0, None))
        await finish_interrupted_import(database)
        await asyncio.sleep(POLL_SECONDS)
        waited += POLL_SECONDS
    raise ImportRunningError(
        f"an import is being applied and did not end within {wait_seconds:.0f} s"
    )


async def _is_settled(database: driver.Database, session: driver.Session) -> bool:
    try:
        # The first read sets the moment, if its collection exists.
        await raw_documents.find_in_snapshot(database[MIGRATIONS_COLLECTION], STATE_ID, session)
        lease = await raw_documents.find_in_snapshot(database[LEASE_COLLECTION], LEASE_ID, session)
    except raw_documents.SnapshotLostError:  # the collection is as new as the snapshot
        return False
    return (lease or {}).get("state") not in CHANGING_STATES
