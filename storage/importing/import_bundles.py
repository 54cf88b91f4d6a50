"""Importing bundles: all of them or none, even if something fails or the process is killed.

1. Members are read and staged in separate collections (`import_run`, `staging`).
2. What is removed is staged, with all that depends on it (`removals`).
3. They are validated against each other and the catalog (`validation`).
4. Their changes are applied: idempotent, owners first, so that readers always see a consistent
   catalog. Then a network that was built from the same plan is published.

A lease lets one process import at a time and completes what a killed one began to apply.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from io import BytesIO
from typing import get_args

from storage.administration import api_keys, audit, import_lease
from storage.administration.trusted_documents import DOCUMENTS_COLLECTION
from storage.catalog import RECORD_TYPES
from storage.errors import ImportRunningError, PlanChangedError, RemovalRefusedError
from storage.importing.batches import BundleSource, get_bundle_name
from storage.importing.change_plan import NO_REMOVALS, ChangeRequest, UndoBundle, open_undo_file
from storage.importing.import_run import (
    BUNDLES,
    ImportCounts,
    ImportProgress,
    ImportProgressCallback,
    ImportRun,
    ImportSummary,
    ParsedSource,
    SourceParser,
    ignore_progress,
)
from storage.importing.mirroring import find_kind
from storage.mongo import driver, raw_documents
from storage.publication import Publication
from storage.setup.preparation import MIGRATIONS_COLLECTION, STATE_ID, prepare_database
from storage.tombstones import TOMBSTONES

# The collections that a restore has staged are its redo log: what is still staged has yet to be
# switched. So whoever holds the lease next can finish the work of a process that was killed.

SWITCHED_COLLECTIONS = (
    *(kind.name for kind in RECORD_TYPES),
    api_keys.KEYS_COLLECTION,
    api_keys.USES_COLLECTION,
    DOCUMENTS_COLLECTION,
    TOMBSTONES.name,
    MIGRATIONS_COLLECTION,
)
"""They are switched in this order, each in an instant: readers find the old one or the new one."""

BATCH_BYTES = 1 << 20


async def switch_collections(
    database: driver.Database, lease: import_lease.ImportLease, progress: ImportProgressCallback
) -> None:
    """Replace the collections by those that are staged. Repeating it changes nothing more.

    The audit log keeps its records, and gets those that it lacks.
    """
    prefix = import_lease.get_staging_prefix(lease.import_id)
    await _merge_audit_log(database, prefix + audit.AUDIT_COLLECTION, lease)
    staged = set(await database.list_collection_names())
    for number, name in enumerate(SWITCHED_COLLECTIONS):
        progress(ImportProgress("switching", number, len(SWITCHED_COLLECTIONS)))
        if prefix + name in staged:
            lease.check_held()
            await raw_documents.rename_collection(database, prefix + name, name)


async def _merge_audit_log(
    database: driver.Database, staged_name: str, lease: import_lease.ImportLease
) -> None:
    async for batch in raw_documents.iter_raw_batches(database[staged_name], BATCH_BYTES):
        lease.check_held()
        documents = raw_documents.decode_documents(batch.content)
        await driver.insert_absent(database[audit.AUDIT_COLLECTION], documents)


DEFAULT_WAIT_SECONDS = 600.0

_logger = logging.getLogger("floorgate.imports")


@asynccontextmanager
async def hold_import_lease(
    database: driver.Database,
    wait_seconds: float = DEFAULT_WAIT_SECONDS,
    progress: ImportProgressCallback = ignore_progress,
) -> AsyncIterator[import_lease.ImportLease]:
    """Hold the exclusive right to write the catalog; first finish an interrupted import.

    Raises ImportRunningError after `wait_seconds`.
    """
    lease = import_lease.ImportLease(database)
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
        lease = import_lease.ImportLease(database)
        if await lease.is_idle():
            return True
        if not await lease.try_acquire():
            return False
        async with lease.keep_alive():
            await _finish_previous_import(database, lease, ignore_progress)
        return True


async def _finish_previous_import(
    database: driver.Database, lease: import_lease.ImportLease, progress: ImportProgressCallback
) -> None:
    if lease.state == "idle":
        return
    if lease.state not in get_args(import_lease.ImportState):
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
        lease = await raw_documents.find_in_snapshot(
            database[import_lease.LEASE_COLLECTION], import_lease.LEASE_ID, session
        )
    except raw_documents.SnapshotLostError:  # the collection is as new as the snapshot
        return False
    return (lease or {}).get("state") not in CHANGING_STATES


__all__ = [
    "ImportCounts",
    "ImportProgress",
    "ImportProgressCallback",
    "ImportSummary",
    "ParsedSource",
    "SourceParser",
    "ignore_progress",
    "import_bundles",
]


COMMITTED = "the import is committed: a gateway or the next import writes the rest of it"


async def import_bundles(
    database: driver.Database,
    bundles: Sequence[BundleSource],
    *,
    parse_source: SourceParser | None = None,
    dry_run: bool = False,
    wait_seconds: float = DEFAULT_WAIT_SECONDS,
    progress: ImportProgressCallback = ignore_progress,
    origin: audit.Origin | None = None,
    publication: Publication | None = None,
    changes: ChangeRequest = NO_REMOVALS,
    review: Callable[[ImportSummary], None] = lambda summary: None,
) -> ImportSummary:
    """Import the bundles as one and return what changed; a dry run only says what would change.

    A network of one of their maps is published with them. `changes` says what else is
    done, and `review` is called with what will change before any of it does.

    Raises BundleError if anything in them is invalid, NetworkOutdatedError if the network is
    outdated, RemovalRefusedError if too much would be removed, PlanChangedError if the plan is not
    the expected one (nothing has changed then), ImportRunningError if another import does not end
    within `wait_seconds`, UnavailableError.
    """
    undo_path = None if dry_run else changes.undo_path
    max_bytes = changes.max_undo_bytes
    shown = None if max_bytes is None else BytesIO()
    with driver.translate_errors(), open_undo_file(undo_path) as file:
        target = file or shown
        undo = None if target is None else UndoBundle(database, target, max_bytes)
        await prepare_database(database)
        async with hold_import_lease(database, wait_seconds, progress) as lease:
            await lease.begin_staging(is_merge=changes.merges)
            run = ImportRun(database, lease, progress)
            try:
                await run.stage(bundles, parse_source)
                if publication is not None:
                    await run.stage_publication(publication)
                await run.stage_removals(changes)
                summary = await run.validate(changes, undo)
                if shown is not None:
                    summary.undo_bundle = shown.getvalue().decode()
                summary.refusal = await run.find_excess(changes)
                if not dry_run:
                    _check(summary, changes)
                if (summary.total.written or run.changes_networks) and not dry_run:
                    if undo is not None and file is not None:
                        if undo.count:  # else there is nothing to undo
                            file.keep()
                            summary.undo = str(file.path)
                        summary.undo_options = undo.options
                    review(summary)
                    await run.commit(*_name_target(bundles, changes, origin))
                    with _note_committed():
                        await run.apply(summary.total.written)
                        await run.clean_up()
            finally:
                # If applying fails, keep the staged data: the next lease holder finishes it. So
                # too if it is unknown whether the commit succeeded.
                if lease.state == "staging":
                    await run.clean_up()
            return summary


def _check(summary: ImportSummary, changes: ChangeRequest) -> None:
    """Raise RemovalRefusedError or PlanChangedError if the import must not be made."""
    if summary.refusal is not None:
        raise RemovalRefusedError(
            f"nothing was written: {summary.refusal}. If that is meant, allow it with"
            " --max-removals N or N% (in GraphQL: maxRemovals)"
        )
    expected = changes.expected_digest
    if expected is not None and summary.plan is not None and summary.plan.digest != expected:
        raise PlanChangedError(
            "nothing was written: the catalog or the source has changed since the plan was shown;"
            " look at the new plan"
        )


def _name_target(
    bundles: Sequence[BundleSource], changes: ChangeRequest, origin: audit.Origin | None
) -> tuple[audit.AuditTarget, audit.Origin | None, audit.Action]:
    if changes.removed_keys:
        target = audit.AuditTarget(find_kind(changes.removed_kind).name, [*changes.removed_keys])
        return target, origin, "records.removed"
    names = [get_bundle_name(bundle) for bundle in bundles]
    return audit.AuditTarget(BUNDLES, names), origin, "catalog.imported"


@contextmanager
def _note_committed() -> Iterator[None]:
    """Note on an error that what it interrupts goes on."""
    try:
        yield
    except BaseException as error:  # also the cancellation of a command without its MongoDB
        error.add_note(COMMITTED)
        raise
