"""What happens to maps whose networks an import or the plan of another map has made stale.

Imports the packages for routing only if a map is processed: they take most of a second.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final

from resolvers.processes.process_pool import ProcessPool
from resolvers.request.errors import RequestError
from storage.administration.audit import Origin
from storage.bundles.reading.violations import quote_json
from storage.errors import StorageError
from storage.routing_inputs import StaleNetwork
from storage.store import Store


class NetworkPolicy(StrEnum):
    """What happens to maps whose networks are stale."""

    REPROCESS = "reprocess"
    WITHDRAW = "withdraw"


REPROCESS: Final = NetworkPolicy.REPROCESS
NETWORK_POLICIES = tuple(policy.value for policy in NetworkPolicy)


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
