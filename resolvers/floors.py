"""Floors of an asset, and the floor of a unit."""

from collections.abc import Sequence

import strawberry

from resolvers.arguments import checked_id
from resolvers.batching import batched
from resolvers.context import Info, Relation
from resolvers.listing import listing
from storage.assets import Asset
from storage.floors import FLOORS, Floor
from storage.units import Unit

OF_ASSET = Relation(FLOORS, lambda asset_id: {"asset_id": asset_id})


of_asset = listing(OF_ASSET, "The floors of an asset.")


@batched
async def one_of_asset(
    parents: Sequence[Asset], info: Info, id: strawberry.ID
) -> list[Floor | None]:
    """One floor of an asset."""
    floor = await info.context.one(FLOORS, checked_id("id", id))
    return [floor if floor and floor.asset_id == parent.id else None for parent in parents]


@batched
async def of_unit(parents: Sequence[Unit], info: Info) -> list[Floor | None]:
    """The floor that a unit is on."""
    return await info.context.each(FLOORS, [parent.floor_id for parent in parents])
