"""Assets."""

import strawberry

import resolvers.assets
import resolvers.floors
import resolvers.maps
import resolvers.references
import resolvers.units
from schema.fields import resolver_field
from schema.lazy import LazyAssetReference, LazyFloor, LazyMap, LazyUnit
from schema.paging import Page
from schema.permissions import CAN_READ_ASSET_REFERENCES
from schema.scalars import Timestamp


@strawberry.type(description="A property.")
class Asset:
    id: strawberry.ID
    market: str
    name: str
    created_at: Timestamp
    updated_at: Timestamp
    floors = resolver_field(resolvers.floors.list_floors_of_asset, Page[LazyFloor])
    floor = resolver_field(resolvers.floors.get_floor_of_asset, LazyFloor | None)
    units = resolver_field(resolvers.units.list_units_of_asset, Page[LazyUnit])
    maps = resolver_field(resolvers.maps.list_maps_of_asset, Page[LazyMap])
    references = resolver_field(
        resolvers.references.list_references_of_asset,
        Page[LazyAssetReference],
        CAN_READ_ASSET_REFERENCES,
    )


@strawberry.type
class AssetQueries:
    assets = resolver_field(resolvers.assets.list_assets, Page[Asset])
    asset = resolver_field(resolvers.assets.get_asset, Asset | None)
