"""Resolvers of unit maps, of their level tags, and of their backgrounds."""

from collections.abc import Sequence
from typing import Annotated, Protocol, TypeAlias

import strawberry
from strawberry.scalars import JSON

from resolvers.request.context import Info, Relation
from resolvers.request.inputs import ID, AssetFilter, Length, PageArguments, Syntax, argument
from resolvers.request.listing import (
    IdsFilter,
    NameSearch,
    UpdatedSince,
    batch_resolver,
    build_filter,
    combine,
    list_resolver,
    lists,
    paged,
)
from resolvers.request.map_loads import load_routing_reports, load_routing_states
from storage.catalog import BACKGROUNDS, LEVEL_TAGS, MAPS, Background, Map, Unit
from storage.networks import RoutingState as RoutingState
from storage.records.kinds import Document
from storage.records.paging import Page

LEVEL_TAGS_OF_MAP = Relation(LEVEL_TAGS, lambda map_id: {"map_id": map_id}, is_short=True)


list_level_tags_of_map = list_resolver(LEVEL_TAGS_OF_MAP, "List the level tags of a map.")


BackgroundId: TypeAlias = Annotated[
    strawberry.ID, argument("Id of the background.", ID, example="alder-court-daylight")
]

BACKGROUNDS_OF_MAP = Relation(BACKGROUNDS, lambda map_id: {"unit_map_id": map_id})


list_backgrounds_of_map = list_resolver(BACKGROUNDS_OF_MAP, "List the backgrounds of a map.")


async def get_background(info: Info, id: BackgroundId) -> Background | None:
    """Get a background."""
    return await info.context.get_record(BACKGROUNDS, id)


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


@batch_resolver
async def load_chosen_background_of_map(
    parents: Sequence[Map], info: Info
) -> list[Background | None]:
    """Get the background that a map is shown with."""
    return await info.context.load_in_order(
        BACKGROUNDS, [parent.background_id for parent in parents]
    )


MAX_TAGS_CHARACTERS = 255
# `str.strip` also removes \x1c to \x1f and \x85, which `\s` does not match in the regular
# expressions of JSON Schema (ECMA-262, CharacterClassEscape).
_TAG_PATTERN = r"[^,\x00]*[^,\s\x1c-\x1f\x85\x00][^,\x00]*"


class ChangedMap(Protocol):
    """The result of a mutation that changed a map."""

    @property
    def map_id(self) -> str:
        """The map's id."""


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


@paged
@lists(MAPS)
async def list_maps(
    info: Info,
    pages: PageArguments,
    asset: AssetFilter = None,
    tags: MapTags = None,
    ids: IdsFilter = None,
    search: NameSearch = None,
    updated_since: UpdatedSince = None,
) -> Page[Map]:
    """List the maps that the API key sees, or those of them that meet all filters."""
    filter = await build_filter(info.context, MAPS, ids, search, updated_since)
    conditions = filter.build_conditions()
    if asset is not None:
        conditions.append({"asset_id": asset})
    if tags is not None:
        conditions.append({"tags": {"$all": _parse_tags(tags)}})
    where = combine(conditions)
    return await info.context.list_page(MAPS, where, pages)


async def get_map(info: Info, id: MapId) -> Map | None:
    """Get a map."""
    return await info.context.get_record(MAPS, id)


list_maps_of_asset = list_resolver(MAPS_OF_ASSET, "List the maps of an asset.")


@batch_resolver
@paged
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
    return await load_routing_states(info.context, [parent.id for parent in parents])


@batch_resolver
async def load_routing_report_of_map(parents: Sequence[Map], info: Info) -> list[JSON | None]:
    """Get the report of the processing that made a map routable, or last failed to.

    It says what is wrong with the map's floor plan, where, and what to do. Null for a map that has
    not been processed.
    """
    reports = await load_routing_reports(info.context, [parent.id for parent in parents])
    return [None if report is None else JSON(report) for report in reports]


@batch_resolver
async def load_changed_map(parents: Sequence[ChangedMap], info: Info) -> list[Map | None]:
    """Get the map as it is now."""
    return await info.context.load_in_order(MAPS, [parent.map_id for parent in parents])


@batch_resolver
async def load_map_of_background(parents: Sequence[Background], info: Info) -> list[Map | None]:
    """Get the map that a background is for."""
    return await info.context.load_in_order(MAPS, [parent.unit_map_id for parent in parents])
