"""Import of bundles as operators ask for it: what becomes of networks that no longer match.

Imports the packages for routing only if a map is processed: they take most of a second.
"""

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias, get_args

from resolvers.administration.catalog import import_catalog
from resolvers.processes.process_pool import ProcessPool
from resolvers.request.errors import RequestError
from storage.administration.audit import Origin
from storage.bundles.importing.import_bundles import (
    ImportProgress,
    ImportProgressCallback,
    ImportSummary,
    ignore_progress,
)
from storage.bundles.reading.batches import BundleSource
from storage.bundles.reading.violations import quote_json
from storage.errors import StorageError
from storage.routing_inputs import StaleNetwork
from storage.store import Store

NetworkPolicy: TypeAlias = Literal["reprocess", "withdraw"]
NETWORK_POLICIES: tuple[str, ...] = get_args(NetworkPolicy)
REPROCESS: Final = "reprocess"


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
) -> ImportSummary:
    """Import bundles: all of them, or nothing. Then process maps again whose networks no longer
    match, if `networks` is `reprocess` and their plan is stored; the notes say what became of each.

    They are processed in the pool on behalf of the owner, as by `process_and_publish`.

    Raises BundleError, ImportRunningError, ServiceBusyError and UnavailableError.
    """
    summary = await import_catalog(
        store.database, bundles, dry_run=dry_run, progress=progress, origin=origin
    )
    for done, stale in enumerate(summary.stale_networks):
        is_processed = networks == REPROCESS and stale.is_from_drawing
        if dry_run:
            result = f"will be {'processed again' if is_processed else 'no longer routable'}"
        elif is_processed:
            progress(ImportProgress("processing", done, len(summary.stale_networks)))
            result = await _process_again(store, stale, origin, pool, owner)
        else:
            result = f"is no longer routable until `{stale.command}`"
        summary.notes.append(f"map {quote_json(stale.map_id)}: {stale.reason}, so it {result}")
    return summary


async def _process_again(
    store: Store, stale: StaleNetwork, origin: Origin | None, pool: ProcessPool | None, owner: str
) -> str:
    """Process a map and return what came of it. The import is committed: nothing raises."""
    from resolvers.processing.pipeline import ProcessingRequest, process_and_publish

    request = ProcessingRequest(stale.map_id, {})
    try:
        outcome = await process_and_publish(store, request, origin=origin, pool=pool, owner=owner)
    except (RequestError, StorageError) as error:
        failure: str | None = str(error)
    else:
        failure = outcome.report["refusal"]
        if failure is None:
            return f"was processed again: routable by {' and '.join(outcome.report['modes'])}"
    return f"is no longer routable until `{stale.command}`, which failed: {failure}"
