"""The mutation that makes a map routable, for operators."""

from typing import Annotated, NamedTuple

import strawberry
from strawberry.scalars import JSON

from resolvers.processing.pipeline import ProcessingRequest, process_and_publish
from resolvers.request.arguments import validate_id
from resolvers.request.context import Info


class ProcessedMap(NamedTuple):
    """The result of processing a map."""

    is_routable: bool
    report: Annotated[JSON, "Counts, self-checks and what was found wrong with the plan."]


async def process_map(
    info: Info,
    id: strawberry.ID,
    plan: str | None = None,
    asset: strawberry.ID | None = None,
    feet_per_unit: float | None = None,
    require: float = 0.0,
) -> ProcessedMap:
    """Make a map routable: from its own drawing, or from the text of a floor plan.

    The plan is a unit map in SVG, or OpenStreetMap indoor data in XML or GeoJSON. Where fewer than
    `require` per cent of the locations reach each other, in either mode, nothing changes; where
    none do, the map is no longer routable. The report says why.
    """
    files = {} if plan is None else {"plan": plan.encode()}
    asset_id = None if asset is None else validate_id("asset", asset)
    map_id = validate_id("id", id)
    request = ProcessingRequest(map_id, files, None, asset_id, feet_per_unit, require=require)
    outcome = await process_and_publish(info.context.bypass_read_log(), request)
    return ProcessedMap(outcome.published, JSON(outcome.report))
