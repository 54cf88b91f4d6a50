"""Resolvers of units: all of them, and those of an asset, a floor or a map."""

from collections.abc import Sequence
from typing import Annotated, Protocol, TypeAlias

import strawberry

from resolvers.request.context import Context, Info, Relation
from resolvers.request.inputs import ID, AssetFilter, PageArguments, argument
from resolvers.request.listing import (
    UNIT_ORDERS,
    IdsFilter,
    NameSearch,
    UpdatedSince,
    batch_resolver,
    build_filter,
    combine,
    list_resolver,
    lists,
    ordered,
    paged,
)
from resolvers.unit_filters import (
    FloorFilter,
    MapFilter,
    UnitAttribute,
    UnitPlace,
    UnitReferenceArgument,
    build_unit_conditions,
)
from storage.catalog import UNITS, Map, Unit
from storage.records.kinds import Document
from storage.records.paging import Page

UnitId: TypeAlias = Annotated[strawberry.ID, argument("Id of the unit.", ID, example="ugwo2tfiznm")]


class HasUnitId(Protocol):
    """A record that is about a unit."""

    @property
    def unit_id(self) -> str: ...


UNITS_OF_ASSET = Relation(UNITS, lambda asset_id: {"asset_id": asset_id})
UNITS_OF_FLOOR = Relation(UNITS, lambda floor_id: {"floor_id": floor_id})


def _on_map_condition(map_id: str, asset_id: str) -> Document:
    # A unit that names no maps is on every map of its asset.
    return {"asset_id": asset_id, "map_ids": {"$in": [None, map_id]}}


UNITS_ON_MAP = Relation(UNITS, _on_map_condition)


@paged
@ordered(UNIT_ORDERS)
@lists(UNITS)
async def list_units(
    info: Info,
    pages: PageArguments,
    asset: AssetFilter = None,
    floor: FloorFilter = None,
    map: MapFilter = None,
    attribute: UnitAttribute = None,
    reference: UnitReferenceArgument = None,
    ids: IdsFilter = None,
    search: NameSearch = None,
    updated_since: UpdatedSince = None,
    order_by: str | None = None,
) -> Page[Unit]:
    """List the units that the API key sees, or those of them that meet all filters."""
    pages = pages.sort_by(UNIT_ORDERS.parse(order_by))
    context, place = info.context, UnitPlace(asset, floor, map)
    filter = await build_filter(context, UNITS, ids, search, updated_since)
    conditions = await build_unit_conditions(context, filter, place, attribute, reference)
    return await context.list_page(UNITS, combine(conditions), pages)


async def get_unit(info: Info, id: UnitId) -> Unit | None:
    """Get a unit."""
    return await info.context.get_record(UNITS, id)


@batch_resolver
async def load_unit(parents: Sequence[HasUnitId], info: Info) -> list[Unit | None]:
    """Get the unit that a record is about."""
    return await info.context.load_in_order(UNITS, [parent.unit_id for parent in parents])


list_units_of_asset = list_resolver(
    UNITS_OF_ASSET, "List the units of an asset.", orders=UNIT_ORDERS
)
list_units_of_floor = list_resolver(
    UNITS_OF_FLOOR, "List the units on a floor.", orders=UNIT_ORDERS
)
list_units_on_map = list_resolver(
    UNITS_ON_MAP, "List the units on a map.", "id", "asset_id", orders=UNIT_ORDERS
)


@batch_resolver
async def get_unit_on_map(parents: Sequence[Map], info: Info, id: UnitId) -> list[Unit | None]:
    """Get a unit on a map."""
    unit = await info.context.get_record(UNITS, id)
    return [unit if unit and _is_on_map(parent, unit) else None for parent in parents]


async def load_unit_names(
    context: Context, unit_map: Map, unit_ids: Sequence[str]
) -> dict[str, str]:
    """Return the names of units on a map that the key sees, by id; other ids are left out."""
    units = await context.load_in_order(UNITS, unit_ids)
    # In the place of a damaged record is an exception.
    on_map = [unit for unit in units if isinstance(unit, Unit) and _is_on_map(unit_map, unit)]
    return {unit.id: unit.name for unit in on_map}


def _is_on_map(unit_map: Map, unit: Unit) -> bool:
    if unit.asset_id != unit_map.asset_id:
        return False
    return unit.map_ids is None or unit_map.id in unit.map_ids
