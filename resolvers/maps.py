"""Unit maps: all of them, those of an asset, those that a unit is on."""

from collections.abc import Sequence

import strawberry

from resolvers.request.arguments import validate_id
from resolvers.request.batching import batch_resolver
from resolvers.request.context import Info, Relation
from resolvers.request.errors import InvalidInputError
from resolvers.request.listing import list_resolver
from storage.backgrounds import Background
from storage.maps import MAPS, Map
from storage.records.kinds import Document
from storage.records.paging import Page
from storage.units import Unit

MAX_TAGS_CHARACTERS = 255

MAPS_OF_ASSET = Relation(MAPS, lambda asset_id: {"asset_id": asset_id})


def _of_unit_condition(asset_id: str, map_ids: tuple[str, ...] | None) -> Document:
    # A unit that names no maps is on every map of its asset.
    return {"asset_id": asset_id} | ({} if map_ids is None else {"_id": {"$in": [*map_ids]}})


MAPS_OF_UNIT = Relation(MAPS, _of_unit_condition)


async def list_maps(
    info: Info,
    page: int | None = 1,
    per_page: int | None = 100,
    after: str | None = None,
    asset: strawberry.ID | None = None,
    tags: str | None = None,
) -> Page[Map]:
    """The maps that the key sees: of one asset, or that carry every one of the tags."""
    where: Document = {}
    if asset is not None:
        where["asset_id"] = validate_id("asset", asset)
    if tags is not None:
        where["tags"] = {"$all": _parse_tags(tags)}
    return await info.context.list_page(MAPS, where, page, per_page, after)


async def get_map(info: Info, id: strawberry.ID) -> Map | None:
    """One map."""
    return await info.context.get_record(MAPS, validate_id("id", id))


list_maps_of_asset = list_resolver(MAPS_OF_ASSET, "The maps of an asset.")


@batch_resolver
async def list_maps_of_unit(
    parents: Sequence[Unit],
    info: Info,
    page: int | None = 1,
    per_page: int | None = 100,
    after: str | None = None,
) -> list[Page[Map]]:
    """The maps that a unit is on: those it names, else every map of its asset."""
    keys = [
        (parent.asset_id, None if parent.map_ids is None else tuple(parent.map_ids))
        for parent in parents
    ]
    return await info.context.load_pages(MAPS_OF_UNIT, keys, page, per_page, after)


@batch_resolver
async def map_of_background(parents: Sequence[Background], info: Info) -> list[Map | None]:
    """The map that a background is for."""
    return await info.context.load_aligned(MAPS, [parent.unit_map_id for parent in parents])


def _parse_tags(text: str) -> list[str]:
    if len(text) > MAX_TAGS_CHARACTERS:
        raise InvalidInputError(
            tags=f"must have at most {MAX_TAGS_CHARACTERS} characters, not {len(text)}"
        )
    tags = [tag.strip() for tag in text.split(",")]
    if not all(tags):
        raise InvalidInputError(
            tags=f"must be tags separated by commas, such as ils,mls, not {text!r}"
        )
    return [validate_id("tags", tag) for tag in tags]
