"""The mutation that makes a map routable, for operators."""

from typing import Annotated, NamedTuple

import strawberry
from strawberry.scalars import JSON

from resolvers.administration.catalog import translate_import_errors
from resolvers.processing.build_task import REQUIRED_PERCENTAGE
from resolvers.processing.other_maps import NetworkPolicyArgument, process_with_other_maps
from resolvers.processing.pipeline import ProcessingRequest
from resolvers.processing.stale_networks import REPROCESS
from resolvers.request.context import Info
from resolvers.request.deadlines import without_deadline
from resolvers.request.inputs import ID, POSITIVE, argument


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
