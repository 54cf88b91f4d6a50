"""Resolvers of assets, and of the asset that a record belongs to."""

from collections.abc import Sequence
from typing import Annotated, Protocol, TypeAlias

import strawberry

from resolvers.request.arguments import DEFAULT_PER_PAGE, AfterCursor, PageNumber, PageSize
from resolvers.request.batching import batch_resolver
from resolvers.request.context import Info
from resolvers.request.input_rules import ID, argument
from storage.assets import ASSETS, Asset
from storage.records.paging import Page

AssetId: TypeAlias = Annotated[
    strawberry.ID, argument("Id of the asset.", ID, example="alder-court")
]


class HasAssetId(Protocol):
    """A record that belongs to an asset."""

    @property
    def asset_id(self) -> str: ...


async def list_assets(
    info: Info,
    page: PageNumber = 1,
    per_page: PageSize = DEFAULT_PER_PAGE,
    after: AfterCursor = None,
) -> Page[Asset]:
    """List the assets that the API key sees."""
    return await info.context.list_page(ASSETS, {}, page, per_page, after)


async def get_asset(info: Info, id: AssetId) -> Asset | None:
    """Get an asset."""
    return await info.context.get_record(ASSETS, id)


@batch_resolver
async def load_asset(parents: Sequence[HasAssetId], info: Info) -> list[Asset | None]:
    """Get the asset that a record belongs to."""
    return await info.context.load_in_order(ASSETS, [parent.asset_id for parent in parents])
