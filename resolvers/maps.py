"""Resolvers of unit maps: of their drawings, level tags, backgrounds, and state of routing."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Annotated, NamedTuple, NewType, TypeAlias, TypeVar
from urllib.parse import quote

import orjson
import strawberry
from strawberry.scalars import JSON

from parsing.svg.outcome import MAX_LISTED_PLACES, MAX_PLACES, MapSummary, ParseWarning
from resolvers.processing.process_pool import ProcessPool, max_seconds, run_on_drawing
from resolvers.processing.task_process import MAX_PARSE_CPU_SECONDS
from resolvers.request import listing
from resolvers.request.context import (
    Context,
    Info,
    Relation,
    align,
    extend_read,
    record_getter,
    record_loader,
)
from resolvers.request.errors import LimitExceededError, NotFoundError
from resolvers.request.inputs import (
    ID,
    AssetFilter,
    Length,
    PageArguments,
    Range,
    Syntax,
    argument,
    batch_resolver,
)
from resolvers.request.threads import DRAWINGS
from storage import closures, networks
from storage.catalog import BACKGROUNDS, LEVEL_TAGS, MAPS, Background, Map, Unit
from storage.closures import Closures
from storage.networks import RoutingState as RoutingState
from storage.records.kinds import Document
from storage.records.paging import Page
from storage.store import StoredDrawing

MAX_REPORTS_PER_COMMAND = 20
"""Reports on floor plans in one command: a report may have a megabyte."""
MAX_NETWORKS_LOADED = 20
"""Networks of one request that are loaded to say whether they can be: some 20 ms each, once."""


async def load_closures(context: Context, map_ids: Sequence[str]) -> list[Closures]:
    """Return what is closed on each map: nothing on one that is not visible."""

    async def load(map_ids: list[str]) -> Sequence[Closures]:
        store = context.log_keys(MAPS, map_ids)
        found = await closures.load_closures(store, context.caller.scope, map_ids)
        return [found.get(map_id, Closures()) for map_id in map_ids]

    return await context.get_loader("closures", load).load(map_ids)


async def load_stored_drawings(
    context: Context, map_ids: Sequence[str | None]
) -> list[StoredDrawing | None]:
    """Return what is known of each map's parsed drawing; None for None and maps without one."""

    async def load(map_ids: list[str | None]) -> Sequence[StoredDrawing | None]:
        keys = [map_id for map_id in map_ids if map_id is not None]
        store = context.log_keys(MAPS, keys)
        found = await store.load_stored_drawings(context.caller.scope, keys) if keys else {}
        return align(map_ids, found)

    return await context.get_loader("stored drawings", load).load(map_ids)


async def load_drawing_digests(context: Context, map_ids: Sequence[str | None]) -> list[str | None]:
    """Return the digest of each map's parsed drawing; None for None and maps without one."""
    return [found and found.digest for found in await load_stored_drawings(context, map_ids)]


async def load_drawings(context: Context, map_ids: Sequence[str]) -> list[bytes | None]:
    """Return each map's parsed drawing as JSON; None for maps without one."""

    store = context.log_keys(MAPS, map_ids)

    async def load(digests: list[str | None]) -> Sequence[bytes | None]:
        keys = {digest for digest in digests if digest is not None}
        check_size = context.budget.check_least
        found = await store.load_drawings(keys, check_size) if keys else {}
        if len(found) < len(keys):
            context.reads.mark_incomplete()  # as for archives: no event tells of a file
        return align(digests, found)

    digests = await load_drawing_digests(context, map_ids)
    return await context.get_loader("drawings", load).load(digests)


async def load_drawing(context: Context, map_id: str, max_bytes: int, use: str) -> bytes:
    """Return the parsed drawing of a map that has one, if it is not too large for a use of it.

    Raises NotFoundError, LimitExceededError.
    """
    [content] = await load_drawings(context, [map_id])
    if content is None:
        raise NotFoundError
    check_drawing_size(content, max_bytes, use)
    return content


def check_drawing_size(content: bytes, max_bytes: int, use: str) -> None:
    """Raise LimitExceededError if a drawing is too large for a use of it."""
    if len(content) > max_bytes:
        raise LimitExceededError(
            f"The drawing has {len(content)} bytes, over the limit of {max_bytes} for {use}",
            limit="response_bytes",
            maximum=max_bytes,
            requested=len(content),
        )


LEVEL_TAGS_OF_MAP = Relation(LEVEL_TAGS, lambda map_id: {"map_id": map_id}, is_short=True)


list_level_tags_of_map = listing.list_resolver(LEVEL_TAGS_OF_MAP, "List the level tags of a map.")


BackgroundId: TypeAlias = Annotated[
    strawberry.ID, argument("Id of the background.", ID, example="alder-court-daylight")
]

BACKGROUNDS_OF_MAP = Relation(BACKGROUNDS, lambda map_id: {"unit_map_id": map_id})


list_backgrounds_of_map = listing.list_resolver(
    BACKGROUNDS_OF_MAP, "List the backgrounds of a map."
)


get_background = record_getter(BACKGROUNDS, BackgroundId, "Get a background.")
load_chosen_background_of_map = record_loader(
    BACKGROUNDS, "background_id", "Get the background that a map is shown with."
)
load_map_of_background = record_loader(MAPS, "unit_map_id", "Get the map that a background is for.")


@batch_resolver
async def get_background_of_map(
    parents: Sequence[Map], info: Info, id: BackgroundId
) -> list[Background | None]:
    """Get a background of a map."""
    background = await info.context.get_record(BACKGROUNDS, id)
    return [
        background if background and background.unit_map_id == parent.id else None
        for parent in parents
    ]


MAX_TAGS_CHARACTERS = 255
# `str.strip` also removes \x1c to \x1f and \x85, which `\s` does not match in the regular
# expressions of JSON Schema (ECMA-262, CharacterClassEscape).
_TAG_PATTERN = r"[^,\x00]*[^,\s\x1c-\x1f\x85\x00][^,\x00]*"


def _parse_tags(text: str) -> list[str]:
    tags = [tag.strip() for tag in text.split(",")]
    if not all(tags):
        raise ValueError(f"must be tags separated by commas, such as ils,mls, not {text!r}")
    if error := next(filter(None, map(ID.check, tags)), None):
        raise ValueError(error)
    return tags


MapId: TypeAlias = Annotated[
    strawberry.ID, argument("Id of the unit map.", ID, example="alder-court-floor-plates")
]
MapTags: TypeAlias = Annotated[
    str | None,
    argument(
        "Tags separated by commas; a map is listed when it carries every one.",
        Length(0, MAX_TAGS_CHARACTERS),
        Syntax(_parse_tags, f"^{_TAG_PATTERN}(,{_TAG_PATTERN})*$"),
        example="ils,mls",
    ),
]

MAPS_OF_ASSET = Relation(MAPS, lambda asset_id: {"asset_id": asset_id})


def _of_unit_condition(asset_id: str, map_ids: tuple[str, ...] | None) -> Document:
    # A unit that names no maps is on every map of its asset.
    return {"asset_id": asset_id} | ({} if map_ids is None else {"_id": {"$in": [*map_ids]}})


MAPS_OF_UNIT = Relation(MAPS, _of_unit_condition, identity_length=2)


@listing.paged
@listing.lists(MAPS)
async def list_maps(
    info: Info,
    pages: PageArguments,
    asset: AssetFilter = None,
    tags: MapTags = None,
    ids: listing.IdsFilter = None,
    search: listing.NameSearch = None,
    updated_since: listing.UpdatedSince = None,
) -> Page[Map]:
    """List the maps that the API key sees, or those of them that meet all filters."""
    filter = await listing.build_filter(info.context, MAPS, ids, search, updated_since)
    conditions = filter.build_conditions()
    if asset is not None:
        conditions.append({"asset_id": asset})
    if tags is not None:
        conditions.append({"tags": {"$all": _parse_tags(tags)}})
    where = listing.combine(conditions)
    return await info.context.list_page(MAPS, where, pages)


get_map = record_getter(MAPS, MapId, "Get a map.")
load_changed_map = record_loader(MAPS, "map_id", "Get the map as it is now.")


list_maps_of_asset = listing.list_resolver(MAPS_OF_ASSET, "List the maps of an asset.")


@batch_resolver
@listing.paged
async def list_maps_of_unit(
    parents: Sequence[Unit],
    info: Info,
    pages: PageArguments,
) -> list[Page[Map]]:
    """List the maps that a unit is on: those it names, else every map of its asset."""
    keys = [
        (parent.asset_id, None if parent.map_ids is None else tuple(parent.map_ids))
        for parent in parents
    ]
    return await info.context.load_pages(MAPS_OF_UNIT, keys, pages)


@batch_resolver
async def load_routing_of_map(parents: Sequence[Map], info: Info) -> list[RoutingState]:
    """Get whether a map is routable, and if it no longer is, why."""
    context = info.context

    async def load(map_ids: list[str]) -> Sequence[RoutingState]:
        database = context.log_keys(MAPS, map_ids).database
        states = await networks.load_routing_states(database, context.caller.scope, map_ids)
        # Of a few maps, the networks are loaded to know; of more, what is recorded has to do.
        if len(states) <= MAX_NETWORKS_LOADED and context.routable_map_cache is not None:
            for map_id, state in states.items():
                if state.is_routable and await context.load_whole_map(map_id) is None:
                    states[map_id] = networks.UNLOADABLE
        return [states.get(map_id, RoutingState()) for map_id in map_ids]

    return await context.get_loader("routing", load).load([parent.id for parent in parents])


@batch_resolver
async def load_routing_report_of_map(parents: Sequence[Map], info: Info) -> list[JSON | None]:
    """Get the report of the processing that made a map routable, or last failed to.

    It says what is wrong with the map's floor plan, where, and what to do. Null for a map that has
    not been processed.
    """
    context, sizes = info.context, list[int]()

    async def load(map_ids: list[str]) -> Sequence[JSON | None]:
        database = context.log_keys(MAPS, map_ids).database
        reports = await networks.load_routing_reports(database, context.caller.scope, map_ids)
        sizes.append(len(orjson.dumps(reports)))
        context.budget.check_least(sum(sizes))
        return [JSON(reports[map_id]) if map_id in reports else None for map_id in map_ids]

    loader = context.get_loader("routing reports", load, MAX_REPORTS_PER_COMMAND)
    return await loader.load([parent.id for parent in parents])


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
