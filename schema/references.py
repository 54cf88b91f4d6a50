"""References: ids in third-party systems."""

import strawberry

import resolvers.assets
import resolvers.references
import resolvers.units
from schema.fields import resolved
from schema.lazy import LazyAsset, LazyUnit
from schema.paging import Page
from schema.permissions import READS_ASSET_REFERENCES, READS_UNIT_REFERENCES
from schema.scalars import Timestamp


@strawberry.type(description="An asset's id in a third-party system.")
class AssetReference:
    id: strawberry.ID
    asset_id: strawberry.ID
    key: str = strawberry.field(description="Names the third-party system.")
    value: str = strawberry.field(description="The asset's id in that system.")
    created_at: Timestamp
    updated_at: Timestamp
    asset = resolved(resolvers.assets.of, LazyAsset | None)


@strawberry.type(description="A unit's id in a third-party system.")
class UnitReference:
    group_id: strawberry.ID
    asset_id: strawberry.ID
    unit_id: strawberry.ID
    key: str = strawberry.field(description="Names the third-party system.")
    value: str = strawberry.field(
        description="The unit's id in that system; some systems join two ids by an underscore."
    )
    created_at: Timestamp
    updated_at: Timestamp
    asset = resolved(resolvers.assets.of, LazyAsset | None)
    unit = resolved(resolvers.units.of, LazyUnit | None)


@strawberry.type
class ReferenceQueries:
    asset_references = resolved(
        resolvers.references.every_of_assets, Page[AssetReference], READS_ASSET_REFERENCES
    )
    unit_references = resolved(
        resolvers.references.every_of_units, Page[UnitReference], READS_UNIT_REFERENCES
    )
