"""Resolvers of the floors of an asset, and of the floor of a unit."""

from collections.abc import Sequence
from typing import Annotated, TypeAlias

import strawberry

from resolvers.request.context import Context, Info, Relation
from resolvers.request.inputs import ID, MAX_PER_PAGE, PageArguments, argument
from resolvers.request.listing import FLOOR_ORDERS, batch_resolver, list_resolver
from storage.catalog import FLOORS, Asset, Floor, Unit

FloorId: TypeAlias = Annotated[
    strawberry.ID, argument("Id of the floor.", ID, example="alder-court-floor-1")
]

FLOORS_OF_ASSET = Relation(FLOORS, lambda asset_id: {"asset_id": asset_id})


list_floors_of_asset = list_resolver(
    FLOORS_OF_ASSET, "List the floors of an asset, from the lowest up.", orders=FLOOR_ORDERS
)


async def load_floors(context: Context, asset_id: str) -> Sequence[Floor]:
    """Return all floors of an asset."""
    pages = PageArguments(1, MAX_PER_PAGE)
    [page] = await context.load_pages(FLOORS_OF_ASSET, [(asset_id,)], pages)
    return page.data


async def get_floor(info: Info, id: FloorId) -> Floor | None:
    """Get a floor."""
    return await info.context.get_record(FLOORS, id)


@batch_resolver
async def get_floor_of_asset(
    parents: Sequence[Asset], info: Info, id: FloorId
) -> list[Floor | None]:
    """Get a floor of an asset."""
    floor = await info.context.get_record(FLOORS, id)
    return [floor if floor and floor.asset_id == parent.id else None for parent in parents]


@batch_resolver
async def load_floor_of_unit(parents: Sequence[Unit], info: Info) -> list[Floor | None]:
    """Get the floor that a unit is on."""
    return await info.context.load_in_order(FLOORS, [parent.floor_id for parent in parents])
