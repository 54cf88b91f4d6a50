"""What becomes of maps whose networks an import or the plan of another map has made stale."""

from collections.abc import Callable, Sequence
from typing import Annotated, Final, TypeAlias

from resolvers.processes.process_pool import ProcessPool
from resolvers.processing.pipeline import (
    ProcessingOutcome,
    ProcessingRequest,
    process_and_publish,
)
from resolvers.request.errors import RefusedDocumentError, RequestError
from resolvers.request.input_rules import OneOf, argument
from routing.processing import ProcessingProgress, ignore_progress
from storage.administration.audit import Origin
from storage.bundles.reading.violations import quote_json
from storage.errors import StorageError
from storage.routing_inputs import StaleNetwork
from storage.store import Store

REPROCESS: Final = "reprocess"
NETWORK_POLICIES = (REPROCESS, "withdraw")
NetworkPolicyArgument: TypeAlias = Annotated[
    str,
    argument(
        "What becomes of routable maps whose drawing, scale, floors or locations change:"
        " `reprocess` processes them again, if their drawing is stored; otherwise, and with"
        " `withdraw`, they are not routable until they are processed.",
        OneOf(*NETWORK_POLICIES),
    ),
]


async def process_with_other_maps(
    store: Store,
    request: ProcessingRequest,
    networks: str = REPROCESS,
    progress: ProcessingProgress = ignore_progress,
    origin: Origin | None = None,
    pool: ProcessPool | None = None,
    owner: str = "",
) -> ProcessingOutcome:
    """Make a map routable as `process_and_publish` does, and with `networks` `reprocess` also the
    other maps whose networks the floors of its plan make stale. Notes say what became of these.

    Raises what `process_and_publish` does.
    """
    withdrawn: list[StaleNetwork] = []

    async def settle() -> list[str]:
        return await settle_stale_networks(store, withdrawn, networks, origin, pool, owner)

    try:
        outcome = await process_and_publish(
            store, request, progress, origin, pool, owner, withdrawn
        )
    except RefusedDocumentError as error:
        if notes := await settle():
            raise RefusedDocumentError("; ".join([str(error), *notes])) from error
        raise
    outcome.report["notes"] += await settle()
    return outcome


async def settle_stale_networks(
    store: Store,
    stale_networks: Sequence[StaleNetwork],
    networks: str,
    origin: Origin | None = None,
    pool: ProcessPool | None = None,
    owner: str = "",
    *,
    dry_run: bool = False,
    on_progress: Callable[[int], None] = lambda done: None,
) -> list[str]:
    """Process maps again whose networks were withdrawn, if `networks` is `reprocess` and their plan
    is stored. Return what became of each, or would; what withdrew them is committed: nothing raises
    for a map that cannot be processed.
    """
    notes = []
    for done, stale in enumerate(stale_networks):
        is_processed = networks == REPROCESS and stale.is_from_drawing
        if dry_run:
            result = f"will be {'processed again' if is_processed else 'no longer routable'}"
        elif is_processed:
            on_progress(done)
            result = await _process_again(store, stale, origin, pool, owner)
        else:
            result = f"is no longer routable until `{stale.command}`"
        notes.append(f"map {quote_json(stale.map_id)}: {stale.reason}, so it {result}")
    return notes


async def _process_again(
    store: Store, stale: StaleNetwork, origin: Origin | None, pool: ProcessPool | None, owner: str
) -> str:
    """Process a map and return what came of it."""
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
