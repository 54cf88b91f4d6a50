"""Resolvers of drawings: parsing the SVG of a unit map, and the parsed drawing of a map."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Annotated, NamedTuple, NewType, TypeVar
from urllib.parse import quote

from parsing.svg.outcome import MAX_LISTED_PLACES, MAX_PLACES, MapSummary, ParseWarning
from resolvers.maps import load_drawing_digests, load_drawings, load_stored_drawings
from resolvers.processing.process_pool import ProcessPool, max_seconds, run_on_drawing
from resolvers.processing.task_process import MAX_PARSE_CPU_SECONDS
from resolvers.request.context import Context, Info, extend_read
from resolvers.request.inputs import Range, argument
from resolvers.request.listing import batch_resolver
from resolvers.request.threads import DRAWINGS
from storage.catalog import Map

T = TypeVar("T")
SvgDocument = NewType("SvgDocument", bytes)

PARSED_PATH = "/v1/maps/{}/parsed"
GEOJSON_PATH = "/v1/maps/{}/geojson"


class UnitMapParse(NamedTuple):
    """A parsed unit map, and what is told about its drawing."""

    map: bytes
    warnings: Annotated[
        list[ParseWarning], "What is left out, what may be a mistake, and how names were read."
    ]
    summary: MapSummary


async def parse_unit_map(
    info: Info,
    svg: Annotated[SvgDocument, argument("The SVG data of a unit map.")],
    force: Annotated[
        bool, argument("Whether to parse a drawing that is mostly an image, and so left out.")
    ] = False,
    places: Annotated[
        int,
        argument("How many places of each cause to list at most.", Range(1, MAX_LISTED_PLACES)),
    ] = MAX_PLACES,
) -> UnitMapParse:
    """Parse the SVG of a unit map to the form that viewers draw from."""
    await DRAWINGS.load()
    from parsing.svg.unit_map import parse_unit_map as parse_svg

    parse = partial(parse_svg, force=force, max_places=places)
    parsed = await process_drawing(info.context, parse, svg)
    return UnitMapParse(parsed.json, [*parsed.warnings], parsed.summary)


async def process_drawing(context: Context, function: Callable[[bytes], T], drawing: bytes) -> T:
    """Return what `function` makes of a drawing in a process, for a request that waits for it.

    Raises what `run_on_drawing` does.
    """
    pool = context.drawing_pool
    with extend_read(max_seconds(MAX_PARSE_CPU_SECONDS)):
        async with nullcontext(pool) if pool else ProcessPool(1) as processes:
            return await run_on_drawing(processes, function, drawing, context.caller.key_id)


@batch_resolver
async def load_parsed_drawing_of_map(parents: Sequence[Map], info: Info) -> list[bytes | None]:
    """Get the parsed drawing of a map, if it has one; the map's `url` points to it."""
    return await load_drawings(info.context, [parent.id for parent in parents])


@batch_resolver
async def load_url_of_map(parents: Sequence[Map], info: Info) -> list[str | None]:
    """Get the URL of the map file: of its parsed drawing, if it has one.

    A map with its own drawing has that. Another one may have that of the plan that it was processed
    from, and if its record names a URL, has that instead.
    """
    to_ask = [None if parent.source or parent.url else parent.id for parent in parents]
    digests = await load_drawing_digests(info.context, to_ask) if any(to_ask) else to_ask
    return [
        info.context.base_url + PARSED_PATH.format(quote(parent.id, safe=""))
        if parent.source or digest
        else parent.url
        for parent, digest in zip(parents, digests, strict=True)
    ]


@batch_resolver
async def load_geojson_url_of_map(parents: Sequence[Map], info: Info) -> list[str | None]:
    """Get the URL of a GeoJSON file for the map: of its drawing, if that has a georeference.

    If the record names a URL, it is that instead.
    """
    to_ask = [None if parent.geojson_url else parent.id for parent in parents]
    drawings = await load_stored_drawings(info.context, to_ask)
    return [
        info.context.base_url + GEOJSON_PATH.format(quote(parent.id, safe=""))
        if drawing and drawing.georeference and drawing.georeference.has_scale(parent.feet_per_unit)
        else parent.geojson_url
        for parent, drawing in zip(parents, drawings, strict=True)
    ]
