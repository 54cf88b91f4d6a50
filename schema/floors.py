"""Floors of an asset."""

import strawberry

import resolvers.assets
import resolvers.units
from schema.fields import resolved
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
    asset = resolved(resolvers.assets.of, LazyAsset | None)
    units = resolved(resolvers.units.of_floor, Page[LazyUnit])
