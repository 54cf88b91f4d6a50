"""Units: all of them, and those of an asset, a floor or a map."""

from collections.abc import Sequence
from typing import Protocol

import strawberry

from resolvers.arguments import checked_id
from resolvers.batching import batched
from resolvers.context import Info, Relation
from resolvers.listing import listing
from storage.kinds import Document
from storage.maps import Map
from storage.paging import Page
from storage.units import UNITS, Unit


class OfUnit(Protocol):
    """A record that is about a unit."""

    @property
    def unit_id(self) -> str: ...


OF_ASSET = Relation(UNITS, lambda asset_id: {"asset_id": asset_id})
OF_FLOOR = Relation(UNITS, lambda floor_id: {"floor_id": floor_id})


def _on_map(map_id: str, asset_id: str) -> Document:
    # A unit that names no maps is on every map of its asset.
    return {"asset_id": asset_id, "map_ids": {"$in": [None, map_id]}}


OF_MAP = Relation(UNITS, _on_map)


async def every(
    info: Info, page: int | None = 1, per_page: int | None = 100, after: str | None = None
) -> Page[Unit]:
    """The units that the key sees."""
    return await info.context.page(UNITS, {}, page, per_page, after)


async def by_id(info: Info, id: strawberry.ID) -> Unit | None:
    """One unit."""
    return await info.context.one(UNITS, checked_id("id", id))


@batched
async def of(parents: Sequence[OfUnit], info: Info) -> list[Unit | None]:
    """The unit that a record is about."""
    return await info.context.each(UNITS, [parent.unit_id for parent in parents])


of_asset = listing(OF_ASSET, "The units of an asset.")
of_floor = listing(OF_FLOOR, "The units on a floor.")
of_map = listing(OF_MAP, "The units on a map.", "id", "asset_id")


@batched
async def one_of_map(parents: Sequence[Map], info: Info, id: strawberry.ID) -> list[Unit | None]:
    """One unit on a map."""
    unit = await info.context.one(UNITS, checked_id("id", id))
    return [unit if unit and _is_on(parent, unit) else None for parent in parents]


def _is_on(map: Map, unit: Unit) -> bool:
    if unit.asset_id != map.asset_id:
        return False
    return unit.map_ids is None or map.id in unit.map_ids
