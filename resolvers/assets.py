"""Resolvers of assets, and of the asset that a record belongs to."""

from collections.abc import Sequence
from typing import Annotated, Protocol, TypeAlias

import strawberry

from resolvers.request import listing
from resolvers.request.context import Info
from resolvers.request.inputs import ID, PageArguments, argument
from storage.catalog import ASSETS, Asset
from storage.records.paging import Page

AssetId: TypeAlias = Annotated[
    strawberry.ID, argument("Id of the asset.", ID, example="alder-court")
]


class HasAssetId(Protocol):
    """A record that belongs to an asset."""

    @property
    def asset_id(self) -> str: ...


@listing.paged
@listing.lists(ASSETS)
async def list_assets(
    info: Info,
    pages: PageArguments,
    ids: listing.IdsFilter = None,
    search: listing.NameSearch = None,
    updated_since: listing.UpdatedSince = None,
) -> Page[Asset]:
    """List the assets that the API key sees, or those of them that meet all filters."""
    filter = await listing.build_filter(info.context, ASSETS, ids, search, updated_since)
    where = listing.combine(filter.build_conditions())
    return await info.context.list_page(ASSETS, where, pages)


async def get_asset(info: Info, id: AssetId) -> Asset | None:
    """Get an asset."""
    return await info.context.get_record(ASSETS, id)


@listing.batch_resolver
async def load_asset(parents: Sequence[HasAssetId], info: Info) -> list[Asset | None]:
    """Get the asset that a record belongs to."""
    return await info.context.load_in_order(ASSETS, [parent.asset_id for parent in parents])
