"""Unit maps: all of them, those of an asset, those that a unit is on."""

from collections.abc import Sequence

import strawberry

from resolvers.arguments import checked_id
from resolvers.batching import batched
from resolvers.context import Info, Relation
from resolvers.errors import InvalidInput
from resolvers.listing import listing
from storage.backgrounds import Background
from storage.kinds import Document
from storage.maps import MAPS, Map
from storage.paging import Page
from storage.units import Unit

MOST_FILTER_CHARACTERS = 255

OF_ASSET = Relation(MAPS, lambda asset_id: {"asset_id": asset_id})


def _holding_unit(asset_id: str, map_ids: tuple[str, ...] | None) -> Document:
    # A unit that names no maps is on every map of its asset.
    return {"asset_id": asset_id} | ({} if map_ids is None else {"_id": {"$in": [*map_ids]}})


OF_UNIT = Relation(MAPS, _holding_unit)


async def every(
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
        where["asset_id"] = checked_id("asset", asset)
    if tags is not None:
        where["tags"] = {"$all": _checked_tags(tags)}
    return await info.context.page(MAPS, where, page, per_page, after)


async def by_id(info: Info, id: strawberry.ID) -> Map | None:
    """One map."""
    return await info.context.one(MAPS, checked_id("id", id))


of_asset = listing(OF_ASSET, "The maps of an asset.")


@batched
async def of_unit(
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
    return await info.context.lists(OF_UNIT, keys, page, per_page, after)


@batched
async def of_background(parents: Sequence[Background], info: Info) -> list[Map | None]:
    """The map that a background is for."""
    return await info.context.each(MAPS, [parent.unit_map_id for parent in parents])


def _checked_tags(text: str) -> list[str]:
    if len(text) > MOST_FILTER_CHARACTERS:
        raise InvalidInput(
            tags=f"must have at most {MOST_FILTER_CHARACTERS} characters, not {len(text)}"
        )
    tags = [tag.strip() for tag in text.split(",")]
    if not all(tags):
        raise InvalidInput(tags=f"must be tags separated by commas, such as ils,mls, not {text!r}")
    return [checked_id("tags", tag) for tag in tags]
