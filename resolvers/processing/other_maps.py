"""Process a map, and reprocess other maps whose networks its plan has made stale."""

from typing import Annotated, TypeAlias

from resolvers.processes.process_pool import ProcessPool
from resolvers.processing.pipeline import (
    ProcessingOutcome,
    ProcessingRequest,
    process_and_publish,
)
from resolvers.processing.stale_networks import (
    NETWORK_POLICIES,
    REPROCESS,
    NetworkPolicy,
    settle_stale_networks,
)
from resolvers.request.inputs import OneOf, argument
from resolvers.request.kinds import graphql_enum
from routing.progress import ProcessingProgress, ignore_progress
from storage.administration.audit import Origin
from storage.store import Store

graphql_enum(
    NetworkPolicy,
    "What happens to routable maps whose drawing, scale, floors or locations change.",
    reprocess="They are processed again, if their plan is stored; otherwise as `withdraw`.",
    withdraw="They are not routable until they are processed.",
)
NetworkPolicyArgument: TypeAlias = Annotated[
    NetworkPolicy,
    argument(
        "What happens to routable maps whose drawing, scale, floors or locations change:"
        " `reprocess` processes them again, if their plan is stored; otherwise, and with"
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
    outcome = await process_and_publish(store, request, progress, origin, pool, owner)
    settled = await settle_stale_networks(
        store, outcome.stale_networks, networks, origin, pool, owner
    )
    outcome.report["notes"] += map(str, settled)
    return outcome
