"""Assets, and the asset that a record belongs to."""

from collections.abc import Sequence
from typing import Protocol

import strawberry

from resolvers.request.arguments import validate_id
from resolvers.request.batching import batch_resolver
from resolvers.request.context import Info
from storage.assets import ASSETS, Asset
from storage.records.paging import Page


class HasAssetId(Protocol):
    """A record that belongs to an asset."""

    @property
    def asset_id(self) -> str: ...


async def list_assets(
    info: Info, page: int | None = 1, per_page: int | None = 100, after: str | None = None
) -> Page[Asset]:
    """The assets that the key sees."""
    return await info.context.list_page(ASSETS, {}, page, per_page, after)


async def get_asset(info: Info, id: strawberry.ID) -> Asset | None:
    """One asset."""
    return await info.context.get_record(ASSETS, validate_id("id", id))


@batch_resolver
async def asset_of(parents: Sequence[HasAssetId], info: Info) -> list[Asset | None]:
    """The asset that a record belongs to."""
    return await info.context.load_aligned(ASSETS, [parent.asset_id for parent in parents])
