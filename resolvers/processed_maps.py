"""Process a map and reprocess others that its plan has made stale; the mutation for it."""

from typing import Annotated, NamedTuple, TypeAlias

import strawberry
from strawberry.scalars import JSON

from resolvers.administration.catalog import translate_import_errors
from resolvers.processing.build_task import REQUIRED_PERCENTAGE
from resolvers.processing.pipeline import (
    ProcessingOutcome,
    ProcessingRequest,
    process_and_publish,
)
from resolvers.processing.process_pool import ProcessPool
from resolvers.processing.stale_networks import (
    NETWORK_POLICIES,
    REPROCESS,
    NetworkPolicy,
    settle_stale_networks,
)
from resolvers.request.context import Info, without_deadline
from resolvers.request.inputs import ID, POSITIVE, OneOf, argument
from resolvers.request.kinds import describe_enum
from routing.values import ProcessingProgress, ignore_progress
from storage.administration.audit import Origin
from storage.store import Store

describe_enum(
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


class ProcessedMap(NamedTuple):
    """The result of processing a map."""

    map_id: str
    is_routable: Annotated[bool, "Whether there are routes and walking distances on the map now."]
    report: Annotated[
        JSON, "What is reached, and what to put right in the plan: causes, remedies, places."
    ]


async def process_map(
    info: Info,
    id: Annotated[strawberry.ID, argument("Id of the map.", ID)],
    plan: Annotated[
        str | None,
        argument(
            "The text of a floor plan; by default the map's own drawing, else the plan that it was"
            " processed from."
        ),
    ] = None,
    asset: Annotated[strawberry.ID | None, argument("Id of the asset of a new map.", ID)] = None,
    feet_per_unit: Annotated[
        float | None,
        argument("Scale of a unit map in SVG; the map's own by default.", POSITIVE),
    ] = None,
    require: Annotated[
        float,
        argument(
            "Percentage of the locations that must reach each other, in each mode.",
            REQUIRED_PERCENTAGE,
        ),
    ] = 0.0,
    strict: Annotated[
        bool,
        argument("Reject a plan with faulty elements, which are left out and reported otherwise."),
    ] = False,
    networks: NetworkPolicyArgument = REPROCESS,
) -> ProcessedMap:
    """Make a map routable: from what is stored of it, or from the text of a floor plan.

    The plan is a unit map in SVG, or OpenStreetMap indoor data in XML or GeoJSON. Where fewer than
    `require` per cent of the locations reach each other, in either mode, nothing changes; where
    none do, the map is no longer routable. The report says why. A plan that changes floors of the
    asset may make other maps stale: notes of the report say what became of these.
    """
    files = {} if plan is None else {"plan": plan.encode()}
    request = ProcessingRequest(
        id, files, None, asset, feet_per_unit, require=require, strict=strict
    )
    with translate_import_errors(), without_deadline():
        outcome = await process_with_other_maps(
            info.context.bypass_caches(),
            request,
            networks,
            origin=info.context.origin,
            pool=info.context.processing_pool,
            owner=info.context.caller.key_id,
        )
    return ProcessedMap(id, outcome.published, JSON(outcome.report))
