"""Assets, and the asset that a record belongs to."""

from collections.abc import Sequence
from typing import Protocol

import strawberry

from resolvers.arguments import checked_id
from resolvers.batching import batched
from resolvers.context import Info
from storage.assets import ASSETS, Asset
from storage.paging import Page


class OfAsset(Protocol):
    """A record that belongs to an asset."""

    @property
    def asset_id(self) -> str: ...


async def every(
    info: Info, page: int | None = 1, per_page: int | None = 100, after: str | None = None
) -> Page[Asset]:
    """The assets that the key sees."""
    return await info.context.page(ASSETS, {}, page, per_page, after)


async def by_id(info: Info, id: strawberry.ID) -> Asset | None:
    """One asset."""
    return await info.context.one(ASSETS, checked_id("id", id))


@batched
async def of(parents: Sequence[OfAsset], info: Info) -> list[Asset | None]:
    """The asset that a record belongs to."""
    return await info.context.each(ASSETS, [parent.asset_id for parent in parents])
