"""Settle the maps whose networks an import or the plan of another map has made stale.

This module imports the packages for routing only to process a map: they take most of a second.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from resolvers.administration.catalog import import_catalog
from resolvers.processing.process_pool import ProcessPool
from resolvers.request.errors import RequestError
from routing.values import ProcessingProgress
from routing.values import ignore_progress as ignore_processing
from storage.administration.audit import Origin
from storage.bundles.violations import quote_json
from storage.errors import StorageError
from storage.importing.batches import BundleSource
from storage.importing.change_plan import NO_REMOVALS, ChangeRequest
from storage.importing.import_bundles import (
    ImportProgress,
    ImportProgressCallback,
    ImportSummary,
    ignore_progress,
)
from storage.routing_inputs import StaleNetwork
from storage.store import Store

if TYPE_CHECKING:
    from resolvers.processing.pipeline import ProcessingOutcome, ProcessingRequest


class NetworkPolicy(StrEnum):
    """What happens to maps whose networks are stale."""

    REPROCESS = "reprocess"
    WITHDRAW = "withdraw"


REPROCESS: Final = NetworkPolicy.REPROCESS
NETWORK_POLICIES = tuple(policy.value for policy in NetworkPolicy)


class SettledNetwork(NamedTuple):
    """The outcome for a map with a stale network."""

    map_id: str
    reason: str
    """Why it was stale, as a clause."""
    result: str
    """The outcome, as the end of a sentence that begins with "it"."""
    is_routable: bool = False
    """True if it was processed again, and has routes."""

    def __str__(self) -> str:
        return f"map {quote_json(self.map_id)}: {self.reason}, so it {self.result}"


async def settle_stale_networks(
    store: Store,
    stale_networks: Sequence[StaleNetwork],
    networks: str = REPROCESS,
    origin: Origin | None = None,
    pool: ProcessPool | None = None,
    owner: str = "",
    *,
    dry_run: bool = False,
    on_progress: Callable[[int], None] = lambda done: None,
) -> list[SettledNetwork]:
    """Process maps with stale networks again, if `networks` is `reprocess` and their plan is
    stored. Return what became of each, or would; what made them stale is committed: nothing raises
    for a map that cannot be processed.
    """
    settled = []
    for done, stale in enumerate(stale_networks):
        is_processed, is_routable = networks == REPROCESS and stale.can_be_rebuilt, False
        if dry_run:
            result = f"will be {'processed again' if is_processed else 'no longer routable'}"
        elif is_processed:
            on_progress(done)
            result, is_routable = await _process_again(store, stale, origin, pool, owner)
        else:
            result = f"is no longer routable until `{stale.command}`"
        settled.append(SettledNetwork(stale.map_id, stale.reason, result, is_routable))
    return settled


async def _process_again(
    store: Store, stale: StaleNetwork, origin: Origin | None, pool: ProcessPool | None, owner: str
) -> tuple[str, bool]:
    """Process a map; return what came of it, and whether it is routable."""
    from resolvers.processing.pipeline import ProcessingRequest, process_and_publish

    request = ProcessingRequest(stale.map_id, {}, as_before=True)
    try:
        outcome = await process_and_publish(store, request, origin=origin, pool=pool, owner=owner)
    except (RequestError, StorageError) as error:
        failure: str | None = str(error)
    else:
        failure = outcome.report["refusal"]
        if failure is None:
            modes = " and ".join(outcome.report["modes"])
            return f"was processed again: routable by {modes}", True
    return f"is no longer routable until `{stale.command}`, which failed: {failure}", False


async def process_with_other_maps(
    store: Store,
    request: "ProcessingRequest",
    networks: str = REPROCESS,
    progress: ProcessingProgress = ignore_processing,
    origin: Origin | None = None,
    pool: ProcessPool | None = None,
    owner: str = "",
) -> "ProcessingOutcome":
    """Make a map routable as `process_and_publish` does, and with `networks` `reprocess` also the
    other maps whose networks the floors of its plan make stale. Notes say what became of these.

    Raises what `process_and_publish` does.
    """
    from resolvers.processing.pipeline import process_and_publish

    outcome = await process_and_publish(store, request, progress, origin, pool, owner)
    settled = await settle_stale_networks(
        store, outcome.stale_networks, networks, origin, pool, owner
    )
    outcome.report["notes"] += map(str, settled)
    return outcome


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
