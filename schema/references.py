"""References: ids in third-party systems."""

import strawberry

import resolvers.assets
import resolvers.references
import resolvers.units
from schema.fields import resolver_field
from schema.lazy import LazyAsset, LazyUnit
from schema.paging import Page
from schema.permissions import CAN_READ_ASSET_REFERENCES, CAN_READ_UNIT_REFERENCES
from schema.scalars import Timestamp


@strawberry.type(description="An asset's id in a third-party system.")
class AssetReference:
    id: strawberry.ID
    asset_id: strawberry.ID
    key: str = strawberry.field(description="Names the third-party system.")
    value: str = strawberry.field(description="The asset's id in that system.")
    created_at: Timestamp
    updated_at: Timestamp
    asset = resolver_field(resolvers.assets.asset_of, LazyAsset | None)


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
    asset = resolver_field(resolvers.assets.asset_of, LazyAsset | None)
    unit = resolver_field(resolvers.units.unit_of, LazyUnit | None)


@strawberry.type
class ReferenceQueries:
    asset_references = resolver_field(
        resolvers.references.list_asset_references, Page[AssetReference], CAN_READ_ASSET_REFERENCES
    )
    unit_references = resolver_field(
        resolvers.references.list_unit_references, Page[UnitReference], CAN_READ_UNIT_REFERENCES
    )
