"""Import of bundles, and reprocessing of the maps whose networks no longer match."""

from collections.abc import Callable, Sequence

from resolvers.administration.catalog import import_catalog
from resolvers.processes.process_pool import ProcessPool
from resolvers.processing.stale_networks import REPROCESS, settle_stale_networks
from storage.administration.audit import Origin
from storage.bundles.changes.change_request import NO_REMOVALS, ChangeRequest
from storage.bundles.importing.import_bundles import (
    ImportProgress,
    ImportProgressCallback,
    ImportSummary,
    ignore_progress,
)
from storage.bundles.reading.batches import BundleSource
from storage.store import Store


async def import_and_process(
    store: Store,
    bundles: Sequence[BundleSource],
    networks: str = REPROCESS,
    *,
    dry_run: bool = False,
    progress: ImportProgressCallback = ignore_progress,
    origin: Origin | None = None,
    pool: ProcessPool | None = None,
    owner: str = "",
    changes: ChangeRequest = NO_REMOVALS,
    review: Callable[[ImportSummary], None] = lambda summary: None,
) -> ImportSummary:
    """Import bundles: all of them, or nothing. Then process maps again whose networks no longer
    match, if `networks` is `reprocess` and their plan is stored; the notes say what became of each.

    They are processed in the pool on behalf of the owner, as by `process_and_publish`.

    Raises BundleError, RemovalRefusedError, PlanChangedError, ImportRunningError, LeaseLostError,
    ServiceBusyError and UnavailableError.
    """
    summary = await import_catalog(
        store.database,
        bundles,
        dry_run=dry_run,
        progress=progress,
        origin=origin,
        changes=changes,
        review=review,
    )
    total = len(summary.stale_networks)
    settled = await settle_stale_networks(
        store,
        summary.stale_networks,
        networks,
        origin,
        pool,
        owner,
        dry_run=dry_run,
        on_progress=lambda done: progress(ImportProgress("processing", done, total)),
    )
    summary.notes += map(str, settled)
    return summary
