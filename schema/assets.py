"""Assets."""

import strawberry

import resolvers.assets
import resolvers.floors
import resolvers.maps
import resolvers.references
import resolvers.units
from schema.fields import resolved
from schema.lazy import LazyAssetReference, LazyFloor, LazyMap, LazyUnit
from schema.paging import Page
from schema.permissions import READS_ASSET_REFERENCES
from schema.scalars import Timestamp


@strawberry.type(description="A property.")
class Asset:
    id: strawberry.ID
    market: str
    name: str
    created_at: Timestamp
    updated_at: Timestamp
    floors = resolved(resolvers.floors.of_asset, Page[LazyFloor])
    floor = resolved(resolvers.floors.one_of_asset, LazyFloor | None)
    units = resolved(resolvers.units.of_asset, Page[LazyUnit])
    maps = resolved(resolvers.maps.of_asset, Page[LazyMap])
    references = resolved(
        resolvers.references.of_asset, Page[LazyAssetReference], READS_ASSET_REFERENCES
    )


@strawberry.type
class AssetQueries:
    assets = resolved(resolvers.assets.every, Page[Asset])
    asset = resolved(resolvers.assets.by_id, Asset | None)
