"""Floors of an asset."""

import strawberry

import resolvers.assets
import resolvers.units
from schema.fields import resolver_field
from schema.lazy import LazyAsset, LazyUnit
from schema.paging import Page
from schema.scalars import Timestamp


@strawberry.type(description="A storey of an asset.")
class Floor:
    id: strawberry.ID
    asset_id: strawberry.ID
    name: str
    label: str
    short_label: str
    sort: int
    created_at: Timestamp
    updated_at: Timestamp
    asset = resolver_field(resolvers.assets.asset_of, LazyAsset | None)
    units = resolver_field(resolvers.units.list_units_of_floor, Page[LazyUnit])
