"""Import of bundles as operators ask for it: what becomes of networks that no longer match."""

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from resolvers.administration.catalog import import_catalog
from resolvers.processes.process_pool import ProcessPool
from resolvers.processing.stale_networks import (
    REPROCESS,
    NetworkPolicyArgument,
    settle_stale_networks,
)
from resolvers.request.context import Info
from resolvers.request.errors import RefusedDocumentError
from resolvers.request.input_rules import argument
from resolvers.request.limits.deadlines import without_deadline
from storage.administration.audit import Origin
from storage.bundles.importing.import_bundles import (
    ImportProgress,
    ImportProgressCallback,
    ImportSummary,
    ignore_progress,
)
from storage.bundles.reading.batches import BundleSource
from storage.errors import BundleError, ImportRunningError
from storage.store import Store


class ImportedKind(NamedTuple):
    """How many members of one kind were inserted, updated or unchanged."""

    kind: Annotated[str, "The array of the bundle, such as `units`."]
    inserted: int
    updated: int
    unchanged: int


class ImportResult(NamedTuple):
    """Result of an import or of a dry run."""

    kinds: list[ImportedKind]
    notes: Annotated[
        list[str],
        "Warnings: valid data that is probably a mistake, and maps that were routable and that the"
        " import changes.",
    ]


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
    total = len(summary.stale_networks)
    summary.notes += await settle_stale_networks(
        store,
        summary.stale_networks,
        networks,
        origin,
        pool,
        owner,
        dry_run=dry_run,
        on_progress=lambda done: progress(ImportProgress("processing", done, total)),
    )
    return summary


async def import_catalog_text(
    info: Info,
    bundle: Annotated[str, argument("The text of the bundle.")],
    dry_run: Annotated[
        bool, argument("Whether to check the bundle and count the changes without making them.")
    ] = False,
    networks: NetworkPolicyArgument = REPROCESS,
) -> ImportResult:
    """Import a bundle from its text, JSON or newline-delimited: all of it, or nothing.

    Drawings of maps are in the bundle, as data URLs.
    """
    context = info.context
    try:
        with without_deadline():
            summary = await import_and_process(
                context.bypass_caches(),
                [bundle.encode()],
                networks,
                dry_run=dry_run,
                origin=context.origin,
                pool=context.processing_pool,
                owner=context.caller.key_id,
            )
    except (BundleError, ImportRunningError) as error:
        raise RefusedDocumentError(str(error)) from error
    kinds = [
        ImportedKind(kind, counts.inserted, counts.updated, counts.unchanged)
        for kind, counts in summary.kinds.items()
    ]
    return ImportResult(kinds, summary.notes)
