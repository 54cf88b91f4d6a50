"""Import of bundles as operators ask for it: what becomes of networks that no longer match."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal, NamedTuple, TypeAlias, get_args

from resolvers.administration.catalog import import_catalog
from resolvers.processes.process_pool import ProcessPool
from resolvers.processing.pipeline import ProcessingRequest, process_and_publish
from resolvers.request.context import Info
from resolvers.request.errors import RefusedDocumentError, RequestError
from resolvers.request.input_rules import OneOf, argument
from resolvers.request.limits.deadlines import without_deadline
from storage.administration.audit import Origin
from storage.bundles.importing.import_bundles import (
    ImportProgress,
    ImportProgressCallback,
    ImportSummary,
    ignore_progress,
)
from storage.bundles.reading.batches import BundleSource
from storage.bundles.reading.violations import quote_json
from storage.errors import BundleError, ImportRunningError, StorageError
from storage.routing_inputs import StaleNetwork
from storage.store import Store

NetworkPolicy: TypeAlias = Literal["reprocess", "withdraw"]
NETWORK_POLICIES: tuple[str, ...] = get_args(NetworkPolicy)
REPROCESS: Final = "reprocess"


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


async def import_catalog_text(
    info: Info,
    bundle: Annotated[str, argument("The text of the bundle.")],
    dry_run: Annotated[
        bool, argument("Whether to check the bundle and count the changes without making them.")
    ] = False,
    networks: Annotated[
        str,
        argument(
            "What becomes of routable maps whose drawing, scale, floors or locations change:"
            " `reprocess` processes them again, if their drawing is stored; otherwise, and with"
            " `withdraw`, they are not routable until they are processed.",
            OneOf(*NETWORK_POLICIES),
        ),
    ] = REPROCESS,
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
